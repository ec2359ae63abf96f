"""PrivImage: the published vectors, what a record moves of the query, who is chosen by it, and what a known seed is worth."""

import math

import numpy as np
import pytest
import torch
from dp_accounting import dp_event
from support.quick import quick_plan

from workbench.datasets import facts, load
from workbench.errors import WorkbenchError
from workbench.experiment import new_state
from workbench.methods.privimage import training
from workbench.methods.privimage.method import QUERY, PrivImageConfig, SemanticQuery
from workbench.models.settings import DP_SGD
from workbench.planning import make_plan
from workbench.privacy.accounting.accountants import ACCOUNTANTS
from workbench.privacy.accounting.accountants.reading import mechanisms
from workbench.privacy.accounting.bounds import proved_bound
from workbench.privacy.accounting.stages import Stage
from workbench.records import Records
from workbench.training.randomness import Randomness
from workbench.training.state import State

MNIST, DIGITS = facts("mnist"), load("digits")


@pytest.mark.parametrize(("preset", "claim", "bound"), [("published", 10, 9.276), ("published-1", 1, 0.9145)])
def test_published_settings_claim_what_the_paper_claims(preset: str, claim: float, bound: float) -> None:
    plan = make_plan("privimage", MNIST, preset=preset, target="claim")
    assert plan.claim.epsilon == pytest.approx(claim, rel=3e-4)
    assert plan.bound.epsilon == pytest.approx(bound, rel=1e-3)


def test_the_query_is_nearly_free() -> None:
    query = make_plan("privimage", MNIST, preset="published", target="claim").build().stages(MNIST)[1]
    assert query.name == QUERY
    assert proved_bound([query], 1e-5).epsilon == pytest.approx(0.05863, rel=1e-3)
    assert proved_bound([query], 1e-5).epsilon == pytest.approx(
        proved_bound([Stage(QUERY, dp_event.GaussianDpEvent(50.0), "once")], 1e-5).epsilon
    )


@pytest.mark.parametrize(("noise_multiplier", "epsilon", "pld"), [(12.851, 1.0, 0.9145), (1.8360, 10.0, 9.276)])
def test_noise_without_the_query_is_hardly_less(noise_multiplier: float, epsilon: float, pld: float) -> None:
    """At the noise that the steps alone need, the query makes the claim larger by half a per cent at most."""
    plan = make_plan("privimage", MNIST, preset="published", settings={"training.noise_multiplier": noise_multiplier})
    (steps,) = [stage for stage in plan.stages if stage.name == DP_SGD]
    alone = ACCOUNTANTS["rdp"].epsilon(mechanisms(steps.total(), "REPLACE_SPECIAL"), 1e-5)
    assert alone == pytest.approx(epsilon, rel=1e-4)
    assert proved_bound([steps], 1e-5).epsilon == pytest.approx(pld, rel=1e-4)
    assert alone < plan.claim.epsilon < 1.005 * epsilon


def state_of(query: SemanticQuery) -> State:
    """A state with a classifier that nobody trained, and room for the counts."""
    plan = quick_plan("privimage", epsilon=None, overrides={"query": query.model_dump(), "training.noise_multiplier": 1.0})
    return new_state(plan, seed=0)


QUERIED = SemanticQuery(kinds=40, choices=3, noise_multiplier=2.0, records=60)


def test_one_record_moves_the_counts_as_far_as_stated_and_some_as_far() -> None:
    state, data, stated = state_of(QUERIED), DIGITS.train.take(slice(60)), QUERIED.round_stage(DIGITS.facts).distances
    assert stated is not None
    assert data.labels is not None
    before, grid = training.record_votes(QUERIED, data, state)
    nulled = np.linalg.norm(training.record_votes(QUERIED, data.without(3), state)[0] - before) * grid.spacing / grid.deviation
    assert stated.zero_out * 0.9999 < nulled <= stated.zero_out
    labels = data.labels.copy()
    labels[3] = (labels[3] + 1) % 10
    replaced = (
        np.linalg.norm(training.record_votes(QUERIED, Records(data.records, labels), state)[0] - before) * grid.spacing / grid.deviation
    )
    assert stated.replace_one * 0.9999 < replaced <= stated.replace_one
    assert before.sum() * grid.spacing == pytest.approx(60 * math.sqrt(3), rel=1e-6), "three votes of norm 1 together"


def test_kinds_part_labels_into_groups_that_look_alike() -> None:
    draw = np.random.default_rng(0)
    bright = np.repeat([0, 1, 0, 1], 10)  # two looks of each of two labels
    images = (60 * draw.random((40, 1, 8, 8)) + 180 * bright[:, None, None, None]).astype(np.uint8)
    kinds = training.kinds_of(SemanticQuery(kinds=5), Records(images, np.repeat([3, 7], 20)))
    assert len({tuple(np.unique(kinds[start : start + 10])) for start in range(0, 40, 10)}) == 4
    assert set(kinds[:20]) == {0, 1}
    assert set(kinds[20:]) == {2, 3}
    with pytest.raises(WorkbenchError, match=r"query.kinds of at least the 2 labels"):
        training.kinds_of(SemanticQuery(kinds=1, choices=1, chosen=1), Records(images, np.repeat([3, 7], 20)))


def test_a_class_has_the_kinds_that_it_votes_for_most_and_none_has_anothers() -> None:
    state = state_of(QUERIED)
    counts = torch.zeros(10, 40, dtype=torch.float64)
    counts[0, [5, 6, 7, 8]] = torch.tensor([9.0, 8.0, 7.0, 6.0], dtype=torch.float64)
    counts[1, [5, 9]] = torch.tensor([8.5, 1.0], dtype=torch.float64)
    state.tensors["counts"] = counts
    chosen = training.chosen_kinds(QUERIED.model_copy(update={"chosen": 2}), state)
    assert chosen[0] == [5, 6]
    assert chosen[1][0] == 9
    assert len({kind for kinds in chosen for kind in kinds}) == 20
    public = Records(np.arange(40, dtype=np.uint8)[:, None, None, None] * np.ones((1, 1, 8, 8), np.uint8), np.zeros(40, np.int64))
    images = training.chosen_images(QUERIED.model_copy(update={"chosen": 2}), public, np.arange(40), state)
    assert images.labels is not None
    assert {int(image.max()): int(label) for image, label in zip(images.records, images.labels, strict=True)}[5] == 0


def test_a_known_seed_gives_the_exact_counts_to_whoever_subtracts_its_noise() -> None:
    plan = make_plan("privimage", MNIST, preset="known-noise", target="claim")
    assert plan.claim.epsilon == pytest.approx(10, rel=3e-4)
    assert (plan.bound.status, plan.bound.epsilon) == ("refuted", math.inf)
    data, left = DIGITS.train.take(slice(60)), {}
    for noise in ("secret", "seed 0"):
        query = QUERIED.model_copy(update={"noise": noise})
        state = state_of(query)
        state.randomness = Randomness.from_seed(5)
        exact, grid = training.record_votes(query, data, state)
        list(training.ask(query, data, state))
        known = Randomness.from_seed(0).release(QUERY, 1, np.zeros_like(exact), grid)
        clean = state.tensors["counts"].numpy() / math.sqrt(3) - known
        left[noise] = float(np.abs(clean - exact * grid.spacing).max())
    assert left["seed 0"] < 1e-6
    assert left["secret"] > 1.0


def test_too_few_kinds_are_refused_before_anything_is_spent() -> None:
    with pytest.raises(WorkbenchError, match=r"query.kinds of at least query.choices, 2, and of query.chosen for each class, 30"):
        make_plan("privimage", DIGITS.facts, epsilon=10.0, settings={"query.kinds": 20})
    assert PrivImageConfig().query.noise == "secret"
