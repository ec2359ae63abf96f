"""You are the attacker: many runs on two neighboring data sets, what they show, and how well the best attack tells them apart.

A run is one of `class-moments`, the workbench's own method without a network, on twelve digits: a one among zeros, or no record in its
place. Both the visitor and the best attack are asked of every run whether the one took part.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from pydantic import Field

from workbench.datasets import load
from workbench.datasets.base import DatasetFacts
from workbench.evaluation.attacks import roc
from workbench.experiment import new_state
from workbench.methods.class_moments.method import COUNTS, ClassMomentsConfig, multiplier
from workbench.models.sample_request import SampleRequest
from workbench.plan import Plan
from workbench.planning import make_plan
from workbench.privacy.attacks import tradeoff
from workbench.records import Records
from workbench.teaching.base import PanelChoices
from workbench.training.state import State

OTHERS = 11  # zeros
RUNS = 200  # with the record and as many without it
SHOWN = 30  # of which the visitor sees samples
SAMPLES = 12  # of each run
AVERAGED = 200  # samples that a visitor may see the mean of
NORM = 4.0
DELTA = 1e-3
RATES = np.unique(np.concatenate([np.linspace(0.0, 1.0, 101), np.geomspace(1e-3, 1.0, 40)]))


class AttackChoices(PanelChoices, frozen=True):
    """The epsilon that every run is planned for, and the seed of runs and coins."""

    epsilon: float = Field(default=10.0, ge=0.1, le=1000)
    seed: int = Field(default=0, ge=0, le=10_000)


@dataclass(frozen=True)
class AttackOutcome:
    """What came of the runs, in the order in which they are shown: by coins, so that nothing else tells who took part."""

    plan: Plan
    target: np.ndarray  # uint8 (1, 8, 8)
    took_part: np.ndarray  # bool (2 RUNS,)
    scores: np.ndarray  # float64 (2 RUNS,): of the best attack, high where the record seems to have taken part
    others: np.ndarray  # uint8 (1, 8, 8): the mean of the other records, which the attacker knows
    samples: np.ndarray  # uint8 (SHOWN, SAMPLES, 1, 8, 8)
    means: np.ndarray  # uint8 (SHOWN, 1, 8, 8): of AVERAGED samples of each run
    mu: float  # how far apart the releases are for this record, in standard deviations

    @property
    def best(self) -> tuple[tuple[float, float], ...]:
        """(False-positive, true-positive rate) of the best attack over all runs."""
        return roc(-self.scores[self.took_part], -self.scores[~self.took_part])


@lru_cache(maxsize=8)
def attack(choices: AttackChoices) -> AttackOutcome:
    """`RUNS` runs on each data set, by seeds: for study, nothing of them may be released."""
    records = room()
    facts = DatasetFacts(name="twelve digits", kind=load("digits").facts.kind, num_records=len(records))
    plan = make_plan("class-moments", facts, epsilon=choices.epsilon, delta=DELTA, settings={"max_norm": NORM})
    known = releases(plan, records)
    took_part = np.random.default_rng([choices.seed, 0]).permutation(np.arange(2 * RUNS) < RUNS)
    scores, samples = np.zeros(2 * RUNS), []
    for place, there in enumerate(took_part):
        state = _run(plan, records if there else records.without(0), 2 * RUNS * choices.seed + place)
        scores[place] = score(known, state)
        if place < SHOWN:
            samples.append(plan.build().sample(state, SampleRequest(AVERAGED)).records)
    drawn, others = np.stack(samples), records.records[1:].mean(0).round().astype(np.uint8)
    means = drawn.mean(1).round().astype(np.uint8)
    return AttackOutcome(plan, records.records[0], took_part, scores, others, drawn[:, :SAMPLES], means, distance(known))


def room() -> Records:
    """A one and `OTHERS` zeros, the first of the digits' training records that there are."""
    train = load("digits").train
    assert train.labels is not None
    places = np.concatenate([np.flatnonzero(train.labels == 1)[:1], np.flatnonzero(train.labels == 0)[:OTHERS]])
    return Records(train.records[places])


def _run(plan: Plan, records: Records, seed: int) -> State:
    """The state of a finished run."""
    state = new_state(plan, seed=seed)
    for _ in plan.build().fit(records, None, state):
        pass
    return state


class Release(NamedTuple):
    """A release as the best attack knows it: where it is kept, what the other records add, what this one adds, the noise's deviation."""

    name: str
    others: np.ndarray
    added: np.ndarray
    deviation: float


def releases(plan: Plan, records: Records) -> tuple[Release, ...]:
    """All three of them; the record that is attacked is the first of `records`."""
    from workbench.methods.class_moments import training

    config = plan.build().config
    assert isinstance(config, ClassMomentsConfig)
    norm = training.clipping_norm(config, None)
    vectors = training.RecordTransform(norm).vectors(records)
    vectors = vectors * np.minimum(1.0, norm / np.linalg.norm(vectors, axis=1))[:, None]
    target, others = vectors[0], vectors[1:]
    own, rest = training.triangle(np.outer(target, target)), training.triangle(others.T @ others)
    return (
        Release("sums", others.sum(0), target, training.deviation_of_sums(config, norm)),
        Release("counts", np.array([float(len(others))]), np.ones(1), multiplier(config, COUNTS)),
        Release("second_moment", rest, own, training.deviation_of_second_moment(config, norm, len(own))),
    )


def score(known: Sequence[Release], state: State) -> float:
    """The logarithm of the likelihood ratio of what a run released, by everything that the best attack may know: all other records.

    By Neyman and Pearson nothing tells the two data sets apart better. The grid that the noise lies on is finer than what it shows.
    """
    apart = ((one, state.tensors[one.name].numpy().ravel() - one.others - one.added / 2) for one in known)
    return sum(float(one.added @ values) / one.deviation**2 for one, values in apart)


def distance(known: Sequence[Release]) -> float:
    """mu: how far the record moves the releases, all three together, in standard deviations of their noise."""
    return float(np.sqrt(sum(float(one.added @ one.added) / one.deviation**2 for one in known)))


def bound_curve(plan: Plan) -> tuple[np.ndarray, np.ndarray]:
    """False-positive rates, and the true-positive rates that no attack on any record exceeds, by the releases' own distribution."""
    return RATES, tradeoff.best_true_positive_rate(tradeoff.event_tradeoff(plan.stages, RATES))


def best_curve(mu: float) -> tuple[np.ndarray, np.ndarray]:
    """The same of the best attack on this record: exact, of two normal distributions `mu` apart."""
    return RATES, tradeoff.best_true_positive_rate(tradeoff.gdp_tradeoff(mu, RATES))


def visitor_rates(ratings: Sequence[int], took_part: Sequence[bool]) -> list[tuple[float, float]]:
    """The visitor's (false-positive, true-positive) rates, of the ratings from 1 (surely not) to 5 (surely) given so far.

    From (0, 0) to (1, 1), a point for each rating from which on "it took part" might be said. Empty until both kinds were seen.
    """
    given, truth = np.array(ratings), np.array(took_part[: len(ratings)], dtype=bool)
    if not truth.any() or truth.all():
        return []
    points = [(float((given[~truth] >= least).mean()), float((given[truth] >= least).mean())) for least in range(5, 0, -1)]
    return [(0.0, 0.0), *points]


def right_at_most(plan: Plan) -> float:
    """The share of right guesses that no attack exceeds, where a fair coin decides who takes part: by the bound's curve."""
    rates, limits = bound_curve(plan)
    return float(0.5 + 0.5 * np.max(limits - rates))
