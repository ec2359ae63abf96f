"""Memory of a pass, counted tensor by tensor, and from it how many records may run at once."""

import resource
import sys
import weakref
from collections.abc import Callable
from typing import Any

import psutil
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from workbench.errors import WorkbenchError
from workbench.training.state import PerformanceSettings

PREFERRED_ROWS = {"cpu": 128, "cuda": 1024}  # more are no faster there
LIBRARY_SHARE = 0.3  # kernels' own workspace over the tensors', which no count can see
MIB = 2**20


class CountedMemory(TorchDispatchMode):
    """Counts the bytes of all tensors made within; `peak` is the most that were alive at once."""

    def __init__(self) -> None:
        super().__init__()
        self.alive, self.peak = 0, 0
        self._known: set[int] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        output = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(output):
            if isinstance(leaf, Tensor):
                self._take(leaf.untyped_storage())
        return output

    def _take(self, storage: torch.UntypedStorage) -> None:
        if storage._cdata in self._known:  # pyright: ignore[reportPrivateUsage]
            return
        self._known.add(storage._cdata)  # pyright: ignore[reportPrivateUsage]
        self.alive += storage.nbytes()
        self.peak = max(self.peak, self.alive)
        weakref.finalize(storage, self._drop, storage._cdata, storage.nbytes())  # pyright: ignore[reportPrivateUsage]

    def _drop(self, key: int, size: int) -> None:
        self._known.discard(key)
        self.alive -= size


def peak_of(run: Callable[[], object]) -> int:
    """Bytes of all tensors alive at once, at most, while `run()` runs."""
    with CountedMemory() as counted:
        run()
    return counted.peak


def fits(peak: int, performance: PerformanceSettings) -> bool:
    """Whether a pass whose tensors take `peak` bytes keeps the memory limit, with what kernels take beside them."""
    return peak * (1 + LIBRARY_SHARE) <= memory_limit(performance)


def check_fits(one: int, performance: PerformanceSettings, noise_multiplicity: int) -> None:
    """Refuse a record that alone takes more than the memory limit; `one` is the `peak_of` a pass over it."""
    if not fits(one, performance):
        over = one * (1 + LIBRARY_SHARE) - memory_limit(performance)
        raise WorkbenchError(
            f"Expected memory for the {noise_multiplicity} rows of one record, {over / MIB:.0f} MiB more than the limit allows. "
            "Raise memory_limit_mib, or lower noise_multiplicity."
        )


def records_at_once(one: int, two: int, performance: PerformanceSettings, noise_multiplicity: int) -> int:
    """How many records of `noise_multiplicity` rows may run at once; at least 1.

    `one` and `two` are the `peak_of` a pass over one and over two records; memory grows in proportion. The answer is a
    power of two within the memory limit and what is fast on the device. It depends on the memory that is free, so a run
    keeps it in its checkpoint.
    """
    each = max(two - one, 1) * (1 + LIBRARY_SHARE)
    limit = memory_limit(performance) - (one * (1 + LIBRARY_SHARE) - each)
    fitting = min(limit // each, PREFERRED_ROWS[performance.torch_device().type] // noise_multiplicity)
    return 2 ** (max(int(fitting), 1).bit_length() - 1)


def memory_limit(performance: PerformanceSettings) -> float:
    """Bytes that a microbatch may take: the setting, or half of what is free on the device."""
    if performance.memory_limit_mib:
        return performance.memory_limit_mib * MIB
    device = performance.torch_device()
    return (torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else psutil.virtual_memory().available) / 2


def peak_memory(device: torch.device) -> int:
    """Bytes this process has held at most: of the GPU where `device` is one, else resident memory."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
