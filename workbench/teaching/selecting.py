"""A private selection round by round: the digits vote for drawn images, and only the noisy votes are kept."""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from pydantic import Field

from workbench.datasets import glyphs, load
from workbench.experiment import new_state
from workbench.methods.private_evolution.method import PrivateEvolution
from workbench.models.selection.config import CANDIDATES, VOTES
from workbench.planning import make_plan
from workbench.privacy import proved_bound
from workbench.teaching.base import PanelChoices

PUBLIC = 1_000  # drawn images to begin with
OF_EACH = 40  # candidates of each class
SHOWN = 6  # of each class


class SelectionChoices(PanelChoices, frozen=True):
    """The proved epsilon of all rounds together, how many there are, and the seed of noise and variations."""

    epsilon: float = Field(default=2.0, ge=0.05, le=100)
    rounds: int = Field(default=4, ge=1, le=8)
    seed: int = Field(default=0, ge=0, le=10_000)


@dataclass(frozen=True)
class Round:
    """What is known after a round of votes; round 0 is before the first, where nothing is spent."""

    number: int
    images: np.ndarray  # uint8 (10 * SHOWN, 1, 8, 8): of each class those with the most noisy votes
    votes: np.ndarray  # float64 (10, OF_EACH), noisy; as large as they are before anything is cut
    above: float  # share of the candidates whose votes stand above the noise
    epsilon: float  # proved, of all rounds so far, at the plan's delta


@lru_cache(maxsize=8)
def select(choices: SelectionChoices) -> tuple[Round, ...]:
    """All rounds of `private-evolution` on the digits, by a seed: for study, nothing of it may be released."""
    dataset = load("digits")
    settings = {"selection.rounds": choices.rounds, "selection.candidates": OF_EACH}
    plan = make_plan("private-evolution", dataset.facts, epsilon=choices.epsilon, settings=settings)
    method, state = plan.build(), new_state(plan, seed=choices.seed)
    assert isinstance(method, PrivateEvolution)
    votes = next(stage for stage in plan.stages if stage.name == VOTES)
    rounds: list[Round] = []
    for step in method.fit(dataset.train, glyphs.draw(PUBLIC, (1, 8, 8)), state):
        if step.stage == CANDIDATES and step.step == 1:
            first = state.modules["candidates"].images[:, :SHOWN].numpy()  # pyright: ignore
            rounds.append(Round(0, first.reshape(-1, 1, 8, 8).copy(), np.zeros((10, OF_EACH)), 0.0, 0.0))
        if step.stage == VOTES and step.shown is not None:
            best = step.shown.records.reshape(10, -1, 1, 8, 8)[:, :SHOWN].reshape(-1, 1, 8, 8)
            spent = proved_bound([replace(votes, steps=step.step)], plan.delta).epsilon
            counts = state.tensors["votes"].numpy().copy()
            rounds.append(Round(step.step, best, counts, step.values["candidates_with_votes"], spent))
    return tuple(rounds)
