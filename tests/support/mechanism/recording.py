"""What really happens in a fit: every stream of randomness and what was drawn, every batch, every noisy sum that an optimiser took.

The method's own `fit` runs. Three things about it can be changed from outside, to see what depends on what: the records that it is
given, the batch that a step draws, and the standard normals that a stream returns.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import torch

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
    Sampled,
    Spent,
    Timed,
    Updated,
    Window,
    Yielded,
)
from workbench.datasets import Dataset
from workbench.methods.base import Method
from workbench.plan import Plan
from workbench.records import Records
from workbench.training import poisson
from workbench.training.randomness import Randomness
from workbench.training.state import PerformanceSettings, State, Step
from workbench.training_data import pretraining_records

QUICK = PerformanceSettings(device="cpu", microbatch_size=64)
SAMPLERS: dict[str, Callable[..., np.ndarray]] = {
    "poisson_batch": poisson.poisson_batch,
    "fixed_size_batch": poisson.fixed_size_batch,
}


class RecordedStream:
    """A stream that logs what is drawn from it; standard normals may be shifted."""

    def __init__(self, stream: Any, key: tuple[str, int, int], log: Log) -> None:
        self._stream, self._key, self._log = stream, key, log

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._stream, name)
        if not callable(method):
            return method

        def call(*args: Any, **named: Any) -> Any:
            values = method(*args, **named)
            values = named["out"] if named.get("out") is not None else values
            if name == "standard_normal" and (shift := self._log.changes.shifts.get(self._key)) is not None:
                values += shift.reshape(values.shape).astype(values.dtype)
            self._log.add(Drawn(self._key, name, np.array(values)))
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
        if log.now is not None and log.now in log.changes.choices:
            place = log.changes.choices[log.now][log.chosen()]
        log.add(Chosen(rate * np.asarray(scores, dtype=np.float64), place))
        return place


class WatchedRecords(Records):
    """Records that say when they are read."""

    def __getattribute__(self, name: str) -> Any:
        if name in ("records", "labels", "attributes", "present") and (log := object.__getattribute__(self, "__dict__").get("log")):
            log.add(Read())
        return super().__getattribute__(name)


def watched(records: Records, log: Log) -> Records:
    """`records`, watched."""
    found = WatchedRecords(records.records, records.labels, records.attributes, records.present)
    found.__dict__["log"] = log
    return found


@contextmanager
def recorded_samplers(log: Log) -> Iterator[None]:
    """Within, the samplers log what they draw, wherever they were imported to."""
    changed: list[tuple[Any, str, Any]] = []
    modules = [module for name, module in sys.modules.items() if name.split(".")[0] in ("workbench", "support")]
    for name in SAMPLERS:
        original = getattr(poisson, name)
        for module in modules:
            if getattr(module, "__dict__", {}).get(name) is original:
                changed.append((module, name, original))
                setattr(module, name, recorded_sampler(name, original, log))
    try:
        yield
    finally:
        for module, name, original in changed:
            setattr(module, name, original)


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
    """One method at one plan and one dataset, run as often as needed on one state that goes back to where a step began."""

    def __init__(self, plan: Plan, dataset: Dataset) -> None:
        self.plan, self.data = plan, dataset.train
        self.method: Method = plan.build()
        self.public = pretraining_records(plan, here())
        self.checkpoints: dict[At, dict[str, Any]] = {}
        self.log = Log(Changes())
        self.state = self._state()
        self.setup, self.log = self.log.events, Log(Changes())
        self.whole = self._first()

    def window(self, at: At) -> Window:
        """A step of the fit as it is."""
        return next(window for window in self.whole if window.at == at)

    def again(self, at: At, data: Records | None = None, changes: Changes | None = None) -> Window:
        """One step again from where it began, with something changed."""
        self.log = log = Log(changes or Changes(), at)
        self.state.restore(deepcopy(self.checkpoints[at]))
        self.state.randomness = self._randomness()
        if log.changes.scale != 1.0:
            scale_weights(self.state, log.changes.scale)
        with recorded_samplers(log), recorded_times(log, self.state):
            for step in self._fit(self.data if data is None else data):
                if (step.stage, step.step) == at:
                    return next(window for window in log.windows() if window.at == at)
        raise AssertionError(f"fit did not come to {at}")

    def _first(self) -> list[Window]:
        """The whole fit as it is; keeps a checkpoint from before every step."""
        checkpoint = deepcopy(self.state.checkpoint())
        with recorded_samplers(self.log), recorded_times(self.log, self.state):
            for step in self._fit(self.data):
                self.checkpoints[step.stage, step.step] = checkpoint
                checkpoint = deepcopy(self.state.checkpoint())
        return self.log.windows()

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
        self.log.add(Spent(at, self._weights(at)))
        self.log.now = at

    def _fit(self, data: Records) -> Iterator[Step]:
        log = self.log
        for step in self.method.fit(watched(data, log), self.public, self.state):
            at = step.stage, step.step
            log.add(Yielded(at, flat(self.state.tensors.values()), self._weights(at), step.values))
            log.now = None
            yield step

    def _weights(self, at: At) -> Floats:
        """All modules and tensors in one row, at the step that is looked at."""
        modules = self.state.modules.values() if at == self.log.wanted else ()
        return flat([value for module in modules for value in module.state_dict().values()] + list(self.state.tensors.values()))


def note_update(log: Log, name: str, optimizer: torch.optim.Optimizer) -> None:
    """Keep the gradients of a step that was paid for."""
    if log.now is not None:
        gradients = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        log.add(Updated(name, flat(gradients)))


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
