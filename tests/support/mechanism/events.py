"""What happens in a fit, event by event, and the events of one step."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
import torch
from dp_accounting import dp_event
from numpy.typing import NDArray

from workbench.privacy.accounting.events import UnprovedDpEvent
from workbench.training.state import State, Step

Floats = NDArray[np.float64]
At = tuple[str, int]  # a stage and its step, from 1
OWN_DRAWS = (": draws", ": threshold", ": time step")  # ends of purposes: streams that a pass draws from, and that hide no record
WITHOUT_MECHANISM = (dp_event.NoOpDpEvent, dp_event.NonPrivateDpEvent, UnprovedDpEvent)  # nothing is released, or anything
ValueT = TypeVar("ValueT")


@dataclass(frozen=True)
class Spent:
    """`spend(stage, step)` was called; `state` is the digest of all that the state keeps at that moment but for what stays in the room."""

    at: At
    state: bytes


@dataclass(frozen=True)
class Yielded:
    """`fit` yielded `step`; the state's tensors (flat) as they were then, digests of the state, of what is released, and of quiet parts."""

    step: Step
    tensors: Floats
    state: bytes
    released: bytes
    quiet: bytes = b""

    @property
    def at(self) -> At:
        """Which step it is."""
        return self.step.stage, self.step.step

    @property
    def values(self) -> Mapping[str, float]:
        """What it says of itself."""
        return self.step.values


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
    """A choice was drawn by weights from a stream: their logarithms, and the position."""

    key: tuple[str, int, int]
    log_weights: Floats
    place: int


@dataclass(frozen=True)
class Released:
    """A sum was released on its grid: the noisy values."""

    values: np.ndarray


@dataclass(frozen=True)
class Updated:
    """An optimiser stepped on these gradients, one a parameter."""

    optimizer: str
    gradients: tuple[torch.Tensor, ...]

    @property
    def gradient(self) -> Floats:
        """Flat over the parameters."""
        return np.concatenate([np.zeros(0), *(gradient.double().flatten().numpy() for gradient in self.gradients)])


@dataclass(frozen=True)
class Timed:
    """A module was asked at these time steps of its diffusion."""

    times: np.ndarray


@dataclass(frozen=True)
class Read:
    """`fit` took up the private records that it was given, or `made` entries of a batch of them."""

    made: bool = False


Event = Spent | Yielded | Drawn | Opened | Sampled | Chosen | Released | Updated | Timed | Read


@dataclass(frozen=True)
class Changes:
    """What is changed from outside, by stage and step: batches, choices, sums that are released, gradients that optimisers step on.

    Standard normals are shifted by the key of their stream. `alter` changes the state before the fit goes on: what quiet stages wrote
    may be anything there, whatever the records are.
    """

    batches: Mapping[At, np.ndarray] = field(default_factory=dict)
    shifts: Mapping[tuple[str, int, int], np.ndarray] = field(default_factory=dict)
    scale: float = 1.0  # of all weights before the fit goes on, so that gradients are large
    key: int = 0  # seed of the run's noise key
    choices: Mapping[At, Sequence[int]] = field(default_factory=dict)
    releases: Mapping[At, Sequence[np.ndarray]] = field(default_factory=dict)
    gradients: Mapping[At, Sequence[tuple[torch.Tensor, ...]]] = field(default_factory=dict)
    alter: Callable[[State], None] | None = None


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
    def hiding(self) -> list[Drawn]:
        """The normals that are no record's own draws."""
        return [drawn for drawn in self.normals if not drawn.key[0].endswith(OWN_DRAWS)]

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
        self.quiet = False  # while a map that looks at each record alone is made
        self.events: list[Event] = []
        self.now: At | None = None  # the step that has been paid for and not yet yielded

    def add(self, event: Event) -> None:
        """One more."""
        self.events.append(event)

    def in_place(self, replacements: Mapping[At, Sequence[ValueT]], kind: type[Any], value: ValueT) -> ValueT:
        """What is asked for in the place of `value`, the next event of a kind since the step was paid for; as it is where nothing is."""
        if self.now is None or self.now not in replacements:
            return value
        since = max(place for place, event in enumerate(self.events) if isinstance(event, Spent))
        return replacements[self.now][sum(isinstance(event, kind) for event in self.events[since:])]

    def windows(self) -> list[Window]:
        """The events of every step."""
        windows, before, after, spent = [], [], [], None
        for event in self.events:
            if isinstance(event, Spent):
                before, after, spent = [*before, *after], [], event
            elif isinstance(event, Yielded):
                windows.append(Window(event.at, before, after, spent, event))
                before, after, spent = [], [], None
            else:
                after.append(event)
        return windows
