"""The state of a fit: one dict of named modules, optimisers and tensors, checkpointed whole and released in part."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from pickle import UnpicklingError
from typing import IO, TYPE_CHECKING, Any, Literal, Self, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from workbench.datasets.base import DatasetFacts
from workbench.errors import DamagedFileError, WorkbenchError, choose, first_complaint
from workbench.files import written_atomically
from workbench.lazy import torch
from workbench.records import Records
from workbench.training.randomness import Randomness

if TYPE_CHECKING:
    from torch import distributed as dist
    from torch import nn

    from workbench.privacy.accounting.stages import Stage

SEAL = b"\nsha256 "
SEAL_BYTES = len(SEAL) + hashlib.sha256().digest_size


class PerformanceSettings(BaseModel):
    """Settings that change speed and memory and can never change the guarantee."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    device: str = Field(default="auto", description="auto, cpu, cuda or cuda:N; auto takes a GPU where there is one.")
    microbatch_size: int = Field(
        default=0, ge=0, description="Noisy images in one forward pass; 0 finds the largest that fits and is fast."
    )
    memory_limit_mib: int = Field(default=0, ge=0, description="Memory that a microbatch may take; 0 takes half of what is free.")
    precision: Literal["float32", "tf32", "bfloat16"] = Field(
        default="float32",
        description="Of a network's passes. tf32 rounds what a GPU's convolutions multiply to 10 bits; bfloat16 is for GPUs, and CPUs "
        "that have it. Clipping and noise stay float32.",
    )
    channels_last: bool = Field(default=False, description="Keep a network's weights with channels last; often faster on a GPU.")
    compile: bool = Field(
        default=False, description="Compile ordinary passes (public training, sampling): slow to start. Private ones never are."
    )
    num_threads: int = Field(default=0, ge=0, description="CPU threads; 0 leaves torch's default.")

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> Self:
        """Settings by name; an unknown name lists the choices."""
        for name in values:
            choose(name, cls.model_fields, "performance setting")
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise WorkbenchError(first_complaint(error)) from None

    def autocast(self, device: torch.device) -> torch.autocast:
        """The context that a network's forward passes run in, for `precision`."""
        return torch.autocast(device.type, torch.bfloat16, enabled=self.precision == "bfloat16")

    def set_products(self) -> None:
        """Have this process's GPU multiply float32 numbers as they are; convolutions may round them where `precision` is tf32.

        Torch rounds convolutions by default. Matrix products are never rounded: one sums the clipped gradients, and rounding could make
        a record's part longer than the clipping norm. Without rounding, `per_record.rules.multiplies_exactly` allows ghost norms.
        """
        if self.torch_device().type == "cuda":
            torch.backends.cudnn.allow_tf32 = self.precision == "tf32"
            torch.set_float32_matmul_precision("highest")

    @property
    def memory_format(self) -> torch.memory_format:
        """The layout of a network's weights, which the layout of its images follows."""
        return torch.channels_last if self.channels_last else torch.contiguous_format

    def torch_device(self) -> torch.device:
        """The device to use; a device that is not there is an error, never a silent fallback."""
        name = ("cuda" if torch.cuda.is_available() else "cpu") if self.device == "auto" else self.device
        try:
            device = torch.device(name)
        except RuntimeError:
            raise WorkbenchError(f"Unknown device {name!r}. Choose auto, cpu, cuda or cuda:N.") from None
        if device.type not in ("cpu", "cuda"):
            raise WorkbenchError(f"Unsupported device {name!r}. Choose auto, cpu, cuda or cuda:N.")
        if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
            raise WorkbenchError(f"Device {name!r} was asked for, but {torch.cuda.device_count()} GPUs are visible here. Choose cpu.")
        return device


@dataclass(frozen=True)
class Step:
    """What `Method.fit` yields after each step: `values` by name ("loss", "accuracy"), none where there are none.

    Those of a `private` step stay in the room. A step that asks to be `kept` wants its state saved before the next one: a release
    that is dear to repeat, or what the next one is made on. `shown` are a few records of the schema that everything released so far
    gives, worth a picture of their own.
    """

    stage: str
    step: int  # 1 to `steps`, within the stage
    steps: int
    values: Mapping[str, float] = field(default_factory=dict[str, float])
    private: bool = True
    kept: bool = False
    shown: Records | None = None


def count_spending(_stage: str, _step: int) -> None:
    """The default of `State.spend`: whoever calls `fit` without a ledger keeps no account."""


def as_found(_purpose: str, size: int) -> int:
    """The default of `State.keep_size`: whoever calls `fit` without a folder keeps a size as long as the state."""
    return size


@dataclass
class State:
    """Everything a fit needs to go on, by name.

    `spend(stage, step)` is called by the method BEFORE step `step` (1-based) of a paid stage touches the data, and returns
    only when the spending is recorded; the caller supplies it (runs write it to the ledger). `keep_size(purpose, size)` is called with
    a microbatch size that was found from free memory BEFORE noise is added to a sum that is split so, and returns the size to use: the
    first that was found, by whatever process of the run.
    """

    facts: DatasetFacts
    randomness: Randomness
    performance: PerformanceSettings = field(default_factory=PerformanceSettings)
    modules: dict[str, nn.Module] = field(default_factory=dict)
    optimizers: dict[str, torch.optim.Optimizer] = field(default_factory=dict)
    tensors: dict[str, torch.Tensor] = field(default_factory=dict)
    steps: dict[str, int] = field(default_factory=dict)  # completed steps by stage
    records_at_once: dict[str, int] = field(default_factory=dict)  # microbatch sizes found from free memory, by purpose
    spend: Callable[[str, int], None] = count_spending
    keep_size: Callable[[str, int], int] = as_found
    planned: Mapping[str, Stage] = field(default_factory=dict)  # what a plan states of each stage, which trainers keep to
    group: dist.ProcessGroup | None = None  # whose ranks share each private batch
    public: str = ""  # digest of the public records that the fit goes by; empty before it has them, and where there are none

    def __post_init__(self) -> None:
        """Set how this process multiplies on a GPU."""
        self.performance.set_products()

    @property
    def device(self) -> torch.device:
        """The device the modules live on."""
        return self.performance.torch_device()

    def checkpoint(self) -> dict[str, Any]:
        """The whole state as plain values and tensors, the noise key included."""
        return {
            "modules": {name: module.state_dict() for name, module in self.modules.items()},
            "optimizers": {name: optimizer.state_dict() for name, optimizer in self.optimizers.items()},
            "tensors": dict(self.tensors),
            "steps": dict(self.steps),
            "records_at_once": dict(self.records_at_once),
            "public": self.public,
            "randomness": self.randomness.to_checkpoint(),
        }

    def restore(self, checkpoint: dict[str, Any]) -> None:
        """Take over a `checkpoint()` made from a state of the same method and configuration."""
        for name, values in checkpoint["modules"].items():
            self.modules[name].load_state_dict(values)
        for name, values in checkpoint["optimizers"].items():
            self.optimizers[name].load_state_dict(values)
        self.tensors = {name: value.to(self.device) for name, value in checkpoint["tensors"].items()}
        self.steps = dict(checkpoint["steps"])
        self.records_at_once = dict(checkpoint.get("records_at_once", {}))
        self.public = checkpoint["public"]
        self.randomness = Randomness.from_checkpoint(checkpoint["randomness"])

    def part(self, names: Iterable[str]) -> dict[str, Any]:
        """The modules and tensors called `names`: weights only, no optimiser, no counter, no key."""
        wanted = set(names)
        return {
            "modules": {name: module.state_dict() for name, module in self.modules.items() if name in wanted},
            "tensors": {name: value for name, value in self.tensors.items() if name in wanted},
        }

    def load_part(self, part: dict[str, Any]) -> None:
        """Take over a `part()`."""
        for name, values in part["modules"].items():
            self.modules[name].load_state_dict(values)
        self.tensors.update({name: value.to(self.device) for name, value in part["tensors"].items()})


class SealedFile:
    """Counts what is written to a file into a checksum."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self.digest = file, hashlib.sha256()

    def write(self, data: bytes) -> int:
        """Write and count `data`."""
        self.digest.update(data)
        return self._file.write(data)

    def flush(self) -> None:
        """Hand what is buffered to the system."""
        self._file.flush()


def save_atomically(value: dict[str, Any], path: Path) -> None:
    """Write tensors and plain values to `path`, sealed and durably; a crash leaves the old file or the new one."""
    with written_atomically(path, "wb", durable=True) as file:
        write_sealed(value, file)


def write_sealed(value: dict[str, Any], file: IO[bytes]) -> None:
    """Write tensors and plain values, and the seal behind them: `SEAL` and the SHA-256 of all before it."""
    sealed = SealedFile(file)
    torch.save(value, cast(IO[bytes], sealed))
    file.write(SEAL + sealed.digest.digest())


def load_saved(path: Path, device: torch.device | str = "cpu", sealed: bool = False) -> dict[str, Any]:
    """Read what `save_atomically` wrote; nothing is ever unpickled but tensors and plain values.

    Raises DamagedFileError where it cannot be read; before a byte is interpreted where the seal does not fit, or with `sealed` is
    not there. WorkbenchError where there is no such file.
    """
    check_seal(path, sealed)
    try:
        return torch.load(path, map_location=device, weights_only=True)
    except (RuntimeError, UnpicklingError, EOFError, ValueError, KeyError) as error:
        raise DamagedFileError(f"Expected tensors and plain values in {path}, got a file that cannot be read: it is damaged.") from error


def check_seal(path: Path, required: bool) -> None:
    """Refuse a file whose bytes are not those that were sealed; one without a seal only if it is `required`."""
    if not path.is_file():
        raise WorkbenchError(f"Expected a file at {path}, got {'a folder' if path.is_dir() else 'none'}.")
    with path.open("rb") as file:
        left = max(0, path.stat().st_size - SEAL_BYTES)
        file.seek(left)
        seal = file.read()
        if not seal.startswith(SEAL) and not required:
            return
        file.seek(0)
        digest = hashlib.sha256()
        while left:
            block = file.read(min(left, 2**20))
            digest.update(block)
            left -= len(block)
    if seal != SEAL + digest.digest():
        raise DamagedFileError(f"Expected {path.name} as it was written, but its checksum does not fit: the file is damaged.")
