"""What happens in a fit, event by event, and the events of one step."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
At = tuple[str, int]  # a stage and its step, from 1


@dataclass(frozen=True)
class Spent:
    """`spend(stage, step)` was called; `weights` are those of all modules and tensors at that moment (of a step that is run again)."""

    at: At
    weights: Floats


@dataclass(frozen=True)
class Yielded:
    """`fit` yielded a step; the state's tensors (flat), its weights (of a step that is run again) and its values as they were then."""

    at: At
    tensors: Floats
    weights: Floats
    values: Mapping[str, float]


@dataclass(frozen=True)
class Drawn:
    """Values that a stream returned."""

    key: tuple[str, int, int]  # purpose, step, index
    kind: str
    values: np.ndarray


@dataclass(frozen=True)
class Opened:
    """A stream was asked for."""

    key: tuple[str, int, int]


@dataclass(frozen=True)
class Sampled:
    """A batch was drawn: the sampler, what it was asked for, and the records' positions."""

    sampler: str
    purpose: str
    step: int
    num_records: int
    rate_or_size: float
    indices: np.ndarray


@dataclass(frozen=True)
class Chosen:
    """A choice was drawn by weights: their logarithms, and the position."""

    log_weights: Floats
    place: int


@dataclass(frozen=True)
class Updated:
    """An optimiser stepped on these gradients, flat over its parameters."""

    optimizer: str
    gradient: Floats


@dataclass(frozen=True)
class Timed:
    """A module was asked at these time steps of its diffusion."""

    times: np.ndarray


@dataclass(frozen=True)
class Read:
    """`fit` read the private records it was given."""


Event = Spent | Yielded | Drawn | Opened | Sampled | Chosen | Updated | Timed | Read


@dataclass(frozen=True)
class Changes:
    """What is changed from outside: batches and choices by stage and step, standard normals by the key of their stream."""

    batches: Mapping[At, np.ndarray] = field(default_factory=dict)
    shifts: Mapping[tuple[str, int, int], np.ndarray] = field(default_factory=dict)
    scale: float = 1.0  # of all weights before the fit goes on, so that gradients are large
    key: int = 0  # seed of the run's noise key
    choices: Mapping[At, tuple[int, ...]] = field(default_factory=dict)


@dataclass
class Window:
    """The events of one step, those before its spending apart."""

    at: At
    before: list[Event]
    after: list[Event]
    spent: Spent | None
    end: Yielded

    def of(self, kind: type[Any]) -> list[Any]:
        """The events of one kind, from the spending on."""
        return [event for event in self.after if isinstance(event, kind)]

    @property
    def normals(self) -> list[Drawn]:
        """Normals that were drawn, rounded ones too."""
        return [drawn for drawn in self.of(Drawn) if drawn.kind in ("standard_normal", "floored_normal")]

    @property
    def release(self) -> Floats:
        """What left the mechanism: the gradient that the stage's own optimiser took, else the tensors it wrote."""
        updates = self.of(Updated)
        own = [update for update in updates if update.optimizer == self.at[0]] or updates
        return np.concatenate([update.gradient for update in own]) if own else self.end.tensors


class Log:
    """Events in order."""

    def __init__(self, changes: Changes, wanted: At | None = None) -> None:
        self.changes, self.wanted = changes, wanted
        self.events: list[Event] = []
        self.now: At | None = None  # the step that has been paid for and not yet yielded

    def add(self, event: Event) -> None:
        """One more."""
        self.events.append(event)

    def chosen(self) -> int:
        """How many choices were drawn since the step was paid for."""
        since = max(place for place, event in enumerate(self.events) if isinstance(event, Spent))
        return sum(isinstance(event, Chosen) for event in self.events[since:])

    def windows(self) -> list[Window]:
        """The events of every step."""
        found, before, after, spent = [], [], [], None
        for event in self.events:
            if isinstance(event, Spent):
                before, after, spent = [*before, *after], [], event
            elif isinstance(event, Yielded):
                found.append(Window(event.at, before, after, spent, event))
                before, after, spent = [], [], None
            else:
                after.append(event)
        return found
