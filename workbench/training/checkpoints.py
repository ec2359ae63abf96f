"""Checkpoints that know where they were made: a resumed run repeats its steps bit for bit, or says that it cannot."""

import errno
import hashlib
import os
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from threadpoolctl import threadpool_info

import workbench
from workbench.errors import DamagedFileError, WorkbenchError
from workbench.training.arithmetic import arithmetic
from workbench.training.checkpoint_files import PREVIOUS, beside, replace_checkpoint, restore_previous
from workbench.training.distributed import rank_and_size
from workbench.training.state import State, load_saved, write_sealed

SHOWING = ("cli", "pages", "server", "ui")  # folders of the package that no step of a run goes through
ARITHMETIC_VARIABLES = (
    "ATEN_CPU_CAPABILITY",
    "DNNL_",
    "MKL_CBWR",
    "MKL_ENABLE_INSTRUCTIONS",
    "NPY_",
    "ONEDNN_",
    "OPENBLAS_",
    "TORCH_ALLOW_TF32",
)
MADE_BY = ("scipy", "scikit-learn", "Pillow", "matplotlib", "opacus")  # public images, labels and features
LIBRARIES = " ".join(f"{name} {version(name)}" for name in MADE_BY)
UNSETTLED_SECONDS = 2.0  # the coarsest time that a file system keeps


def environment(state: State) -> dict[str, str]:
    """What a step's result depends on beside its data, its noise and the state.

    With all of it equal, a replayed step on the CPU repeats itself bit for bit: what is known by name, what is asked of the math
    libraries, and for all that no library reports, the bits of a fixed pass. A microbatch size that was found from free memory
    is part of the state instead, and goes on being used.
    """
    performance = state.performance
    device = performance.torch_device()
    return {
        "workbench": source_digest(),
        "torch": str(torch.__version__),
        "numpy": np.__version__,
        "libraries": LIBRARIES,
        "machine": platform.machine(),
        "processor": processor(),
        "CPU capability": torch.backends.cpu.get_cpu_capability(),
        "threads": str(torch.get_num_threads()),
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        "precision": performance.precision,
        "channels last": str(performance.channels_last),
        "microbatch size": str(performance.microbatch_size),
        "math libraries": " ".join([*asked_of_libraries(), *linear_algebra()]),
        "processes": str(rank_and_size(state.group)[1]),
        "arithmetic": arithmetic(performance, state.facts, state.modules.values()),
    }


def asked_of_libraries() -> list[str]:
    """The environment variables that choose how math libraries compute; a pass of few shapes may not tell all of them."""
    return [f"{name}={value}" for name, value in sorted(os.environ.items()) if name.startswith(ARITHMETIC_VARIABLES)]


def linear_algebra() -> list[str]:
    """What numpy multiplies matrices by: the library, the processor that it takes this one for, and its threads."""
    return [
        f"{library['internal_api']} {library['version']} {library.get('architecture', '')} {library['num_threads']}"
        for library in threadpool_info()
        if library["user_api"] == "blas" and "numpy" in library["filepath"]
    ]


def source_digest() -> str:
    """12 hex digits of the source that a step's result depends on: another version of it may round, split or draw differently.

    Of a source that was changed since this process began, both versions: which of them a step goes by is not known.
    """
    now = digest_of_source()
    return now if now == AT_START else f"{AT_START} changed to {now}"


def digest_of_source() -> str:
    """12 hex digits of the deciding source as it lies on the disk.

    Read again where the system says that a file came, went or was changed, and where one was changed so lately that its next change may
    get the same time.
    """
    package = Path(workbench.__file__).parent
    files = tuple(_as_it_lies(path) for path in deciding_source(package))
    settled = all(changed / 1e9 < time.time() - UNSETTLED_SECONDS for *_, changed in files)
    return (_digest_of if settled else _digest_of.__wrapped__)(package, files)


def _as_it_lies(path: str) -> tuple[str, int, int, int, int]:
    """What the system knows of a file without reading it; the time of its last change, which no writer can choose, comes last."""
    status = os.stat(path)
    return path, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


@lru_cache(maxsize=2)
def _digest_of(package: Path, files: Sequence[tuple[str, int, int, int, int]]) -> str:
    digest = hashlib.sha256()
    for path, *_ in files:
        digest.update(Path(path).relative_to(package).as_posix().encode() + Path(path).read_bytes())
    return digest.hexdigest()[:12]


def deciding_source(package: Path) -> list[str]:
    """All modules of the package but those that only show and ask: what is new counts by itself."""
    files_of_source: list[str] = []
    for folder, folders, files in os.walk(package):
        if Path(folder) == package:
            folders[:] = [name for name in folders if name not in SHOWING]
        files_of_source += [os.path.join(folder, name) for name in files if name.endswith(".py")]
    return sorted(files_of_source)


AT_START = digest_of_source()


def processor() -> str:
    """The processor's model, where the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.processor())


def differences(saved: dict[str, str], now: dict[str, str]) -> list[str]:
    """What differs, in words; where anything does, the steps since the checkpoint are drawn anew and counted twice."""
    names = dict.fromkeys([*saved, *now])
    return [f"{name}: {saved.get(name, 'none')} then, {now.get(name, 'none')} now" for name in names if saved.get(name) != now.get(name)]


def save_checkpoint(
    state: State, path: Path, counted_again: Mapping[str, int] | None = None, run: str = "", keep_previous: bool = True, lineage: str = ""
) -> None:
    """Write the whole state of `run`, noise key included, with its environment, in the place of the checkpoint at `path`.

    The state's steps by stage and `counted_again`, the steps by stage that were spent once more, are the event so far. `lineage` names
    the noise key, where journals count what is drawn with it.

    The checkpoint before it stays, for a resume to fall back on should this one be damaged: unless `keep_previous` is False, as it must be
    where this state's noise key or microbatch sizes are not those of before. From the one before, the same noise would then be drawn over
    other sums.
    """
    made = {"environment": environment(state), "counted_again": dict(counted_again or {}), "run": run, "lineage": lineage}
    saved = {"state": state.checkpoint(), **made}
    replace_checkpoint(path, lambda file: write_sealed(saved, file), keep_previous)


@dataclass(frozen=True)
class LoadedCheckpoint:
    """What a checkpoint said beside the state: how its environment differs from this one, and the steps by stage that were counted again.

    `damage` says why the one before it was taken; empty where the newest was whole.
    """

    differences: list[str]
    counted_again: dict[str, int]
    damage: str = ""
    lineage: str = ""


def load_checkpoint(state: State, path: Path, run: str = "") -> LoadedCheckpoint:
    """Restore `state` from what `save_checkpoint` wrote, or from the checkpoint before it where that is damaged or not there.

    Where there are differences, the caller counts the steps charged since the checkpoint a second time and gives the state
    a fresh noise key: the same noise on other gradients would reveal their difference.
    Raises WorkbenchError, and leaves `state` as it is, where neither is what was written, to the bit, and for that of another
    run than `run`: two runs that go on from one checkpoint would draw the same noise over other results.
    """
    previous = beside(path, PREVIOUS)
    try:
        return _restore(state, path, run)
    except DamagedFileError as error:
        if not previous.exists():
            raise
        loaded = replace(_before(state, previous, run, error), damage=str(error))
    restore_previous(path)
    return loaded


def _before(state: State, path: Path, run: str, error: DamagedFileError) -> LoadedCheckpoint:
    """Restore `state` from the checkpoint before the one that `error` tells of; where it is damaged too, both are named."""
    try:
        return _restore(state, path, run)
    except DamagedFileError as second:
        raise DamagedFileError(f"{error} {second}") from second


def _restore(state: State, path: Path, run: str) -> LoadedCheckpoint:
    """Restore `state` from one file."""
    if not path.exists():
        raise DamagedFileError(f"Expected a file at {path}, got none.")
    try:
        saved = load_saved(path, state.device, sealed=True)
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        raise DamagedFileError(f"Expected to read {path.name}, got an error of the disk: {error.strerror}.") from error
    if saved.get("run", "") != run:
        raise WorkbenchError(f"Expected the checkpoint of run {run!r} in {path}, got that of run {saved.get('run', '')!r}.")
    state.restore(saved["state"])
    return LoadedCheckpoint(
        differences(saved["environment"], environment(state)), saved.get("counted_again", {}), lineage=saved.get("lineage", "")
    )
