"""Releases that read what quiet stages wrote: how far one record's part of it moves them, whatever a record may have made of that part."""

from collections.abc import Callable, Iterator

import numpy as np
import torch

from support.mechanism.events import At, Changes, Floats, Read
from support.mechanism.recording import Bench
from workbench.models.teachers.ensemble import teachers_of
from workbench.training.state import State

Alter = Callable[[State], None]


def reads_quiet_parts(bench: Bench, at: At) -> bool:
    """Whether a step looks at no record itself, where quiet stages have written something."""
    return bool(bench.quiet) and not bench.window(at).of(Read)


def teacher_changed(part: int, change: Callable[[torch.Tensor, torch.Tensor], None]) -> Alter:
    """One teacher of an ensemble with other last weights and another last bias."""

    def alter(state: State) -> None:
        teachers = teachers_of(state)
        with torch.no_grad():
            change(teachers.last[part], teachers.last_bias[part])

    return alter


def all_for(_weights: torch.Tensor, bias: torch.Tensor) -> None:
    bias.fill_(1e6)


def all_against(_weights: torch.Tensor, bias: torch.Tensor) -> None:
    bias.fill_(-1e6)


def turned_round(weights: torch.Tensor, bias: torch.Tensor) -> None:
    weights.mul_(-1.0)
    bias.mul_(-1.0)


def large(weights: torch.Tensor, _bias: torch.Tensor) -> None:
    weights.mul_(1e4)


def neighbours(parts: int) -> Iterator[list[Alter]]:
    """What one record may make of a part, for the first and the last part: any two of a list are neighbours."""
    for part in (0, parts - 1):
        yield [teacher_changed(part, change) for change in (all_for, all_against, turned_round, large)]


def moved_by_parts(bench: Bench, at: At) -> Iterator[Floats]:
    """By how much a release (N,) differs between states of which one part is another."""
    for alters in neighbours(len(teachers_of(bench.state).first)):
        releases = [bench.again(at).release, *(bench.again(at, changes=Changes(alter=alter)).release for alter in alters)]
        yield from (np.asarray(one - other) for place, one in enumerate(releases) for other in releases[:place])
