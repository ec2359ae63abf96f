"""A run's released weights as safetensors, which hold numbers and nothing that runs."""

import resource
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError

from workbench.errors import WorkbenchError
from workbench.lazy import torch

if TYPE_CHECKING:
    from workbench.plan import Plan

MODULES, TENSORS = "modules", "tensors"
LEAST_MEMORY, COPIES = 2**31, 16  # what a state may take: at least this, and so many times its released weights


def packed_part(part: Mapping[str, Any], about: Mapping[str, str]) -> bytes:
    """A part of a state (`State.part`) under names like `modules/NAME/weight`, with `about` as metadata."""
    from safetensors.torch import save

    tensors = {name: tensor.detach().cpu().clone().contiguous() for name, tensor in _named_tensors(part)}
    return _in_order(save(tensors, metadata=dict(about)))


def unpacked_tensors(content: bytes) -> tuple["dict[str, torch.Tensor]", dict[str, str]]:
    """The tensors by name, and the metadata; refused where it is no such file."""
    import json

    from safetensors.torch import load

    try:
        tensors = load(content)
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        return tensors, header.get("__metadata__", {})
    except (SafetensorError, ValueError, RecursionError, KeyError, AttributeError) as error:
        raise WorkbenchError(f"Expected weights as safetensors, got a damaged file ({error}).") from None


def misfit(tensors: "Mapping[str, torch.Tensor]", plan: "Plan") -> str:
    """What keeps these weights from being those of a run of `plan`, by names, types and shapes; empty if nothing does.

    A plan whose network is far larger than the weights are is refused by the memory that it asks for.
    """
    from workbench import experiment
    from workbench.training.state import PerformanceSettings

    with memory_at_most(LEAST_MEMORY + COPIES * sum(tensor.nbytes for tensor in tensors.values())):
        state = experiment.new_state(plan, PerformanceSettings(device="cpu"))
    released = plan.build().released_parts
    expected = {name: _form(tensor) for name, tensor in _named_tensors({MODULES: state.part(released)[MODULES], TENSORS: {}})}
    forms = {name: _form(tensor) for name, tensor in tensors.items() if name.startswith(f"{MODULES}/")}
    for name in sorted(expected.keys() | forms.keys()):
        if expected.get(name) != forms.get(name):
            return f"{name} is {forms.get(name, 'missing')} and not {expected.get(name, 'there')}"
    others = sorted(tensors.keys() - forms.keys() - {f"{TENSORS}/{name}" for name in released})
    return f"{others[0]} is no part of what {plan.method} releases" if others else ""


def _named_tensors(part: Mapping[str, Any]) -> "Iterator[tuple[str, torch.Tensor]]":
    for module, values in part[MODULES].items():
        yield from ((f"{MODULES}/{module}/{name}", tensor) for name, tensor in values.items())
    yield from ((f"{TENSORS}/{name}", tensor) for name, tensor in part[TENSORS].items())


def _in_order(content: bytes) -> bytes:
    """A safetensors file with its metadata in order, which the library writes in another one each time."""
    import json

    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    header["__metadata__"] = dict(sorted(header.get("__metadata__", {}).items()))
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)  # tensors begin at a multiple of 8
    return len(text).to_bytes(8, "little") + text + content[8 + size :]


def _form(tensor: "torch.Tensor") -> str:
    return f"{tuple(tensor.shape)} of {str(tensor.dtype).removeprefix('torch.')}"


@contextmanager
def memory_at_most(more: int) -> Iterator[None]:
    """Let this process take `more` bytes beyond what it has while the block runs: what asks for more raises MemoryError or RuntimeError.

    Where the system does not tell what the process has, there is no limit.
    """
    status = Path("/proc/self/statm")
    if not status.exists():
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = int(status.read_text().split()[0]) * resource.getpagesize() + more
    ceilings = [known for known in (soft, hard) if known != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min([limit, *ceilings]), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
