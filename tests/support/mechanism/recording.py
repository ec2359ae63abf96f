"""What really happens in a fit: every stream of randomness and what was drawn, every batch, every noisy sum that an optimiser took.

The method's own `fit` runs. What goes into it can be changed from outside, to see what depends on what: the records that it is
given, the batch that a step draws, the normals that a stream returns, and what it releases.
"""

import hashlib
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from dp_accounting.dp_event import NoOpDpEvent

from support.homes import here
from support.mechanism.events import (
    At,
    Changes,
    Chosen,
    Drawn,
    Floats,
    Log,
    Opened,
    Read,
    Released,
    Sampled,
    Spent,
    Timed,
    Updated,
    Window,
    Yielded,
)
from workbench.datasets import Dataset
from workbench.methods.base import Method
from workbench.methods.dp_promise import training as dp_promise
from workbench.methods.dp_sad import labelling
from workbench.models.grouping import rows as grouping_rows
from workbench.plan import Plan
from workbench.records import Records
from workbench.training import poisson
from workbench.training.entries import Images
from workbench.training.floored_normals import NOISE_BITS
from workbench.training.grid import Grid
from workbench.training.private_step import PrivateStep
from workbench.training.randomness import Randomness
from workbench.training.state import PerformanceSettings, State, Step
from workbench.training_data import pretraining_records

GROWTH, LEAST_GROWTH = 1e3, 1e2  # times the weights: every gradient is longer than the clipping norm
QUICK = PerformanceSettings(device="cpu", microbatch_size=64)
SAMPLERS: dict[str, Callable[..., np.ndarray]] = {
    "poisson_batch": poisson.poisson_batch,
    "fixed_size_batch": poisson.fixed_size_batch,
}


MAPS: tuple[tuple[Any, str], ...] = (  # what makes of each record another one, by that record and what is released: no look at all of them
    (grouping_rows, "grouped"),
    (labelling, "with_cluster_labels"),
    (dp_promise, "replace"),
)


class RecordedStream:
    """A stream that logs what is drawn from it, normals on a grid in deviations too; they may be shifted."""

    def __init__(self, stream: Any, key: tuple[str, int, int], log: Log) -> None:
        self._stream, self._key, self._log = stream, key, log

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._stream, name)
        if not callable(method):
            return method

        def call(*args: Any, **named: Any) -> Any:
            values = method(*args, **named)
            values = named["out"] if named.get("out") is not None else values
            unit = 2.0 ** (args[1] if len(args) > 1 else NOISE_BITS) if name == "floored_normal" else 1.0
            if "normal" in name and (shift := self._log.changes.shifts.get(self._key)) is not None:
                values += (unit * shift.reshape(values.shape)).astype(values.dtype)
            self._log.add(Drawn(self._key, name, np.array(values) if unit == 1.0 else values / unit))
            return values

        return call


class RecordingRandomness(Randomness):
    """A run's own randomness, with a log."""

    bench: "Bench"

    def stream(self, purpose: str, step: int = 0, index: int = 0) -> Any:
        """The stream, recorded."""
        key = (purpose, step, index)
        self.bench.log.add(Opened(key))
        return RecordedStream(super().stream(purpose, step, index), key, self.bench.log)

    def choose(self, purpose: str, step: int, scores: np.ndarray, rate: float, index: int = 0) -> int:
        """The choice, recorded, or the one asked for in its place."""
        log, place = self.bench.log, super().choose(purpose, step, scores, rate, index)
        place = log.in_place(log.changes.choices, Chosen, place)
        log.add(Chosen((purpose, step, index), rate * np.asarray(scores, dtype=np.float64), place))
        return place

    def release(self, purpose: str, step: int, total: np.ndarray, grid: Grid) -> np.ndarray:
        """The release, recorded, or the one asked for in its place."""
        log, values = self.bench.log, super().release(purpose, step, total, grid)
        values = log.in_place(log.changes.releases, Released, values)
        log.add(Released(values.copy()))
        return values

    def release_counts(self, purpose: str, step: int, counts: np.ndarray, scale: float) -> np.ndarray:
        """The counts with Laplace noise, recorded, or those asked for in their place."""
        log, values = self.bench.log, super().release_counts(purpose, step, counts, scale)
        values = log.in_place(log.changes.releases, Released, values)
        log.add(Released(values.copy()))
        return values


class WatchedRecords(Records):
    """Records that say when they are read, and so do those that are made of them."""

    log: ClassVar[Log]

    def __getattribute__(self, name: str) -> Any:
        if name in ("records", "labels", "attributes", "present") and not (log := type(self).log).quiet:
            log.add(Read())
        return super().__getattribute__(name)

    def take(self, index: np.ndarray | slice) -> Records:
        """Some of them, watched."""
        return watched(super().take(index), type(self).log)


def watched(records: Records, log: Log) -> Records:
    """`records`, watched."""
    kind = type("Watched", (WatchedRecords,), {"log": log})
    return kind(records.records, records.labels, records.attributes, records.present)


def quietly(original: Callable[..., Records], log: Log) -> Callable[..., Records]:
    """A map of private records, each by itself: what it reads is not noted, what is read of its result is."""

    def made(*arguments: Any, **named: Any) -> Records:
        private, log.quiet = any(isinstance(argument, WatchedRecords) for argument in arguments), True
        records = original(*arguments, **named)
        records = watched(records, log) if private else records
        log.quiet = False
        return records

    return made


def told_by(original: Callable[..., Any], log: Log) -> Callable[..., Any]:
    """Images' `__getitem__`, which says so where they are of private records."""

    def made(images: Images, index: torch.Tensor) -> torch.Tensor:
        if images.__dict__.get("private"):
            log.add(Read(made=True))
        return original(images, index)

    return made


def marked(original: Callable[..., None]) -> Callable[..., None]:
    """Images' `__init__`, which keeps whether they are of private records."""

    def made(images: Images, data: Records, device: torch.device) -> None:
        original(images, data, device)
        images.__dict__["private"] = isinstance(data, WatchedRecords)

    return made


@contextmanager
def recorded_records(log: Log) -> Iterator[None]:
    """Within, maps of records by themselves are quiet, and images of private records say when they are made."""
    with pytest.MonkeyPatch.context() as patched:
        for owner, name in MAPS:
            patched.setattr(owner, name, quietly(getattr(owner, name), log))
        patched.setattr(Images, "__getitem__", told_by(Images.__getitem__, log))
        patched.setattr(Images, "__init__", marked(Images.__init__))
        yield


@contextmanager
def recorded(log: Log, state: State, trials: bool = True) -> Iterator[None]:
    """Within, the samplers, the networks and the records tell the log; without `trials` no pass is tried first, an eighth of the time."""
    with recorded_samplers(log), recorded_times(log, state), recorded_records(log), pytest.MonkeyPatch.context() as patched:
        if not trials:
            patched.setattr(PrivateStep, "_try", lambda *_: None)
        yield


@contextmanager
def recorded_samplers(log: Log) -> Iterator[None]:
    """Within, the samplers log what they draw, wherever they were imported to."""
    originals = {name: getattr(poisson, name) for name in SAMPLERS}
    places = [(module, name) for module, name in sampling_modules(len(sys.modules)) if getattr(module, name) is originals[name]]
    for module, name in places:
        setattr(module, name, recorded_sampler(name, originals[name], log))
    try:
        yield
    finally:
        for module, name in places:
            setattr(module, name, originals[name])


@lru_cache(maxsize=1)
def sampling_modules(_imported: int) -> list[tuple[Any, str]]:
    """The modules that have a sampler by its name; looked for again only where more modules have been imported."""
    ours = [module for name, module in list(sys.modules.items()) if name.split(".")[0] in ("workbench", "support")]
    return [(module, name) for module in ours for name in SAMPLERS if name in getattr(module, "__dict__", {})]


@contextmanager
def recorded_times(log: Log, state: State) -> Iterator[None]:
    """Within, the time steps that networks are asked at are kept. Their class is told, not they: with hooks records would go alone."""
    kinds = {type(module) for module in state.modules.values() if "forward" in type(module).__dict__}
    originals = {kind: kind.__dict__["forward"] for kind in kinds}
    for kind, original in originals.items():
        kind.forward = noting_times(original, log)
    try:
        yield
    finally:
        for kind, original in originals.items():
            kind.forward = original


def noting_times(original: Callable[..., Any], log: Log) -> Callable[..., Any]:
    """A network's forward that keeps the time steps it is asked at."""

    def forward(module: torch.nn.Module, *inputs: Any, **named: Any) -> Any:
        note_times(log, inputs)
        return original(module, *inputs, **named)

    return forward


def recorded_sampler(name: str, original: Callable[..., np.ndarray], log: Log) -> Callable[..., np.ndarray]:
    """A sampler that logs its batch, or returns the one asked for in its place."""

    def sample(randomness: Randomness, purpose: str, step: int, num_records: int, rate_or_size: float) -> np.ndarray:
        indices = original(randomness, purpose, step, num_records, rate_or_size)
        if log.now is not None:
            indices = log.changes.batches.get(log.now, indices)
        log.add(Sampled(name, purpose, step, num_records, rate_or_size, indices))
        return indices

    return sample


class Bench:
    """One method at one plan and one dataset, run as often as needed on one state that goes back to where a step began.

    Of the stages `known`, which another bench has looked at in full, the last step alone is looked at, and less often.
    """

    def __init__(self, plan: Plan, dataset: Dataset, known: Container[str] = ()) -> None:
        self.plan, self.data, self.known, self.growth = plan, dataset.train, known, GROWTH
        self.method: Method = plan.build()
        self.public = pretraining_records(plan, here())
        self.checkpoints: dict[At, dict[str, Any]] = {}
        self.log = Log(Changes())
        self.state = self._state()
        self._tensors: dict[str, tuple[torch.nn.Module, list[torch.Tensor]]] = {}
        self.trained = [parameter for parameter in self._parameters() if parameter.requires_grad]
        self.quiet = quiet_stages(self.method, plan)
        self.setup, self.log = self.log.events, Log(Changes())
        self.whole = self._first()

    def window(self, at: At) -> Window:
        """A step of the fit as it is."""
        return next(window for window in self.whole if window.at == at)

    def again(self, at: At, data: Records | None = None, changes: Changes | None = None) -> Window:
        """One step again from where it began, with something changed."""
        self.log = log = Log(changes or Changes(), at)
        self._begin(at)
        if log.changes.scale != 1.0:
            scale_weights(self.state, log.changes.scale)
        if log.changes.alter is not None:
            log.changes.alter(self.state)
        with recorded(log, self.state, trials=False):
            for step in self._fit(self.data if data is None else data):
                if (step.stage, step.step) == at:
                    return next(window for window in log.windows() if window.at == at)
        raise AssertionError(f"fit did not come to {at}")

    def replayed(self, data: Records, kept: Container[str]) -> list[Window]:
        """The whole fit on other records, all releases as they were; after each step of the stages `kept`, all of the state too.

        What quiet stages write is made of the other records.
        """
        self.log = log = Log(releases_of(self.whole, self.quiet))
        after = [*(self.checkpoints[window.at] for window in self.whole[1:]), self.last]
        self._begin(self.whole[0].at)
        with recorded(log, self.state, trials=False):
            for step, checkpoint in zip(self._fit(data), after, strict=True):
                if step.stage in kept:
                    self._restore(checkpoint)
        return log.windows()

    def _first(self) -> list[Window]:
        """The whole fit as it is; keeps a checkpoint from before every step."""
        checkpoint = copied(self.state.checkpoint())
        with recorded(self.log, self.state):
            for step in self._fit(self.data):
                self.checkpoints[step.stage, step.step] = checkpoint
                checkpoint = copied(self.state.checkpoint())
        self.last = checkpoint
        return self.log.windows()

    def _restore(self, checkpoint: dict[str, Any]) -> None:
        """As `State.restore` does; values of modules are copied where they stand, which takes a tenth of `load_state_dict`."""
        with torch.no_grad():
            for name, values in checkpoint["modules"].items():
                for tensor, value in zip(self._places(name), values.values(), strict=True):
                    tensor.copy_(value)
        self.state.restore({name: {} if name == "modules" else copied(part) for name, part in checkpoint.items()})
        self.state.randomness = self._randomness()

    def _places(self, name: str) -> list[torch.Tensor]:
        """The tensors of a module, in the order of its `state_dict`."""
        module = self.state.modules[name]
        if name not in self._tensors or self._tensors[name][0] is not module:
            self._tensors[name] = module, list(module.state_dict(keep_vars=True).values())
        return self._tensors[name][1]

    def _begin(self, at: At) -> None:
        """Back to before a step; later stages may have frozen parameters, which no checkpoint knows."""
        self._restore(self.checkpoints[at])
        for parameter in self.trained:
            parameter.requires_grad_(True)

    def _parameters(self) -> Iterator[torch.nn.Parameter]:
        for module in self.state.modules.values():
            yield from module.parameters()

    def _randomness(self) -> RecordingRandomness:
        """Streams of the key asked for, recorded."""
        recorded = RecordingRandomness.from_checkpoint(Randomness.from_seed(self.log.changes.key).to_checkpoint())
        assert isinstance(recorded, RecordingRandomness)
        recorded.bench = self
        return recorded

    def _state(self) -> State:
        """The method's state, whose randomness, optimisers and modules are recorded."""
        facts = self.plan.facts
        state = self.method.initial_state(facts, State(facts, self._randomness(), QUICK))
        state.spend = lambda stage, step: self._spend((stage, step))
        for name, optimizer in state.optimizers.items():
            optimizer.register_step_pre_hook(lambda opt, _args, _kwargs, name=name: note_update(self.log, name, opt))
        return state

    def _spend(self, at: At) -> None:
        self.log.add(Spent(at, self._digest()))
        self.log.now = at

    def _fit(self, data: Records) -> Iterator[Step]:
        log = self.log
        for step in self.method.fit(watched(data, log), self.public, self.state):
            digests = self._digest(), self._digest(self.method.released_parts), self._digest(self.method.quiet_parts)
            log.add(Yielded(step, flat(self.written()), *digests))
            log.now = None
            yield step

    def _digest(self, names: Container[str] | None = None) -> bytes:
        """Of modules and tensors, of all but those that stay in the room where no names are given; only where whole fits are compared."""
        if self.log.wanted is not None:
            return b""
        parts, inside = self.state.modules | self.state.tensors, {*self.method.kept_private, *self.method.quiet_parts}
        chosen = [part for name, part in parts.items() if (name not in inside if names is None else name in names)]
        return digest(chosen)

    def written(self) -> list[torch.Tensor]:
        """The tensors of the state but for quiet ones, which are released by no step."""
        return [tensor for name, tensor in self.state.tensors.items() if name not in self.method.quiet_parts]


def copied(value: Any) -> Any:
    """A checkpoint, or a part of one, whose tensors are copies; a third of the time that `deepcopy` takes for many small ones."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if value is None or isinstance(value, int | float | str | bytes):
        return value
    if isinstance(value, dict):
        return {name: copied(part) for name, part in value.items()}
    return [copied(part) for part in value] if isinstance(value, list) else deepcopy(value)


def digest(parts: Iterable[torch.nn.Module | torch.Tensor]) -> bytes:
    """Of the values of modules and tensors."""
    hasher = hashlib.blake2b(digest_size=16)
    for part in parts:
        for value in part.state_dict().values() if isinstance(part, torch.nn.Module) else [part]:
            hasher.update(value.detach().contiguous().numpy().tobytes())
    return hasher.digest()


def quiet_stages(method: Method, plan: Plan) -> set[str]:
    """The stages that release nothing, of a method that names what they write."""
    if not method.quiet_parts:
        return set()
    return {stage.name for stage in method.stages(plan.facts) if isinstance(stage.event, NoOpDpEvent)}


def releases_of(windows: Sequence[Window], quiet: Container[str] = ()) -> Changes:
    """What makes another run release what was released in these steps; steps of `quiet` stages release nothing.

    Where a step releases a sum, what its optimiser steps on has to follow from that.
    """
    paid = [window for window in windows if window.spent is not None and window.at[0] not in quiet]
    return Changes(
        choices={window.at: [choice.place for choice in window.of(Chosen)] for window in paid},
        releases={window.at: [release.values for release in window.of(Released)] for window in paid},
        gradients={window.at: [update.gradients for update in window.of(Updated)] for window in paid if not window.of(Released)},
    )


def note_update(log: Log, name: str, optimizer: torch.optim.Optimizer) -> None:
    """Keep the gradients of a step that was paid for, or put those asked for in their place."""
    if log.now is not None:
        parameters = [p for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        gradients = log.in_place(log.changes.gradients, Updated, tuple(p.grad.detach().clone() for p in parameters))
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient.clone()
        log.add(Updated(name, gradients))


def note_times(log: Log, inputs: tuple[Any, ...]) -> None:
    """Keep the time steps that a network is asked at; those of a row alone, inside a loss, are those of the batch that was noted."""
    if len(inputs) > 1 and torch.is_tensor(inputs[1]) and torch._C._functorch.is_batchedtensor(inputs[1]):
        return
    if len(inputs) > 1 and torch.is_tensor(inputs[1]) and inputs[1].dtype == torch.int64 and inputs[1].dim() == 1:
        log.add(Timed(inputs[1].numpy().copy()))


def scale_weights(state: State, factor: float) -> None:
    """Multiply every parameter, so that gradients are large."""
    with torch.no_grad():
        for module in state.modules.values():
            for parameter in module.parameters():
                parameter.mul_(factor)


def flat(tensors: Any) -> Floats:
    """Tensors in one row of float64."""
    parts = [tensor.detach().double().flatten().numpy() for tensor in tensors]
    return np.concatenate([np.zeros(0), *parts])


def replaced(data: Records, position: int, record: np.ndarray, label: int | None = None) -> Records:
    """`data` with one record replaced, and its label if one is given."""
    records, labels = data.records.copy(), None if data.labels is None else data.labels.copy()
    records[position] = record
    if label is not None and labels is not None:
        labels[position] = label
    return replace(data, records=records, labels=labels)
