"""MST: what its tree and its rows are like, beside what every method owes."""

import math

import numpy as np
import pytest
from support.tables import unnamed_columns

from workbench.datasets import Dataset, DatasetFacts
from workbench.errors import RefusedError, WorkbenchError
from workbench.evaluation.downstream import accuracy, logistic_regression
from workbench.experiment import fit, make_plan, new_state, sample
from workbench.methods.mst import MSTConfig
from workbench.methods.mst.method import CHOICE, claimed
from workbench.methods.mst.training import beliefs_of, joining_pairs
from workbench.records import Records
from workbench.training.marginals import counts_of, present_rows
from workbench.training.state import State

FACTS = DatasetFacts(name="chain", kind=unnamed_columns((4, 3, 2)), num_records=6_000, classes=("no", "yes"))


def chain() -> Dataset:
    """The label decides the second column with chance, that one the first, and the third is a coin."""
    draw = np.random.default_rng(0)
    labels = draw.integers(0, 2, 8_000)
    second = np.where(draw.random(8_000) < 0.8, labels, 2)
    first = np.where(draw.random(8_000) < 0.9, second, 3)
    rows = Records(np.stack([first, second, draw.integers(0, 2, 8_000)], axis=1), labels)
    return Dataset(FACTS, rows.take(slice(6_000)), rows.take(slice(6_000, None)))


def fitted(dataset: Dataset, epsilon: float, method: str = "mst") -> tuple[State, Records]:
    plan = make_plan(method, dataset.facts, epsilon=epsilon)
    state = new_state(plan, seed=1)
    for _ in fit(plan, dataset, state):
        pass
    return state, sample(plan, state, 4_000)


def test_the_tree_is_the_chain_and_rows_follow_it() -> None:
    dataset = chain()
    state, samples = fitted(dataset, 10.0)
    pairs = {tuple(pair) for pair in state.tensors["pairs"].tolist()}
    assert {(0, 1), (1, 3)} < pairs
    for value in range(3):
        real, made = (part.records[part.records[:, 1] == value, 0] for part in (dataset.train, samples))
        np.testing.assert_allclose(np.bincount(made, minlength=4) / len(made), np.bincount(real, minlength=4) / len(real), atol=0.04)
    assert abs(accuracy(logistic_regression, samples, dataset, 0) - accuracy(logistic_regression, dataset.train, dataset, 0)) < 0.02


@pytest.mark.parametrize("method", ["mst", "independent-marginals"])
def test_the_target_is_drawn_in_the_shares_that_are_released(method: str) -> None:
    """A quarter of the rows are of one class, and as many of the samples, up to three deviations of their draw."""
    draw = np.random.default_rng(0)
    labels = (np.arange(8_000) % 4 == 0).astype(np.int64)
    rows = Records(np.stack([draw.integers(0, size, 8_000) for size in (4, 3, 2)], axis=1), labels)
    plan = make_plan(method, FACTS, epsilon=10.0)
    state = new_state(plan, seed=1)
    for _ in fit(plan, Dataset(FACTS, rows.take(slice(6_000)), rows.take(slice(6_000, None))), state):
        pass
    drawn, evenly = sample(plan, state, 10_000).labels, sample(plan, state, 10_000, balanced=True).labels
    assert drawn is not None
    assert evenly is not None
    assert abs(drawn.mean() - 0.25) < 0.013
    assert evenly.mean() == 0.5


def test_samples_can_be_drawn_at_any_step() -> None:
    dataset = chain()
    plan = make_plan("mst", dataset.facts, epsilon=10.0)
    state = new_state(plan, seed=1)
    drawn = [sample(plan, state, 50).records for _ in fit(plan, dataset, state)]
    assert len(drawn) == plan.steps == 5
    assert not np.array_equal(drawn[-2], drawn[-1])


def test_independent_columns_know_nothing_of_the_label() -> None:
    dataset = chain()
    samples = fitted(dataset, 10.0, "independent-marginals")[1]
    assert samples.labels is not None
    chosen = [samples.records[samples.labels == label, 1] for label in (0, 1)]
    apart = [np.bincount(rows, minlength=3) / len(rows) for rows in chosen]
    np.testing.assert_allclose(apart[0], apart[1], atol=0.06)


def test_pairs_that_would_close_a_circle_are_left_out() -> None:
    pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    assert [pairs[place] for place in joining_pairs(pairs, [[0, 1], [2, 3]], 4)] == [(0, 2), (0, 3), (1, 2), (1, 3)]
    assert [pairs[place] for place in joining_pairs(pairs, [[0, 1], [1, 2]], 4)] == [(0, 3), (1, 3), (2, 3)]


def test_the_distribution_fits_columns_and_pairs_and_rows_have_its_pairs() -> None:
    """Columns of the pairs' counts and the single ones are apart by their noise; of the distribution there is one of each."""
    dataset = chain()
    state, samples = fitted(dataset, 10.0)
    config = make_plan("mst", FACTS, epsilon=10.0).build().config
    assert isinstance(config, MSTConfig)
    beliefs = beliefs_of(config, state)
    real, drawn = present_rows(dataset.train, FACTS), present_rows(samples, FACTS)
    for pair, joint in zip(beliefs.structure.sets[4:], beliefs.sets[4:], strict=True):
        np.testing.assert_allclose(joint.numpy(), counts_of(real, (4, 3, 2, 2), pair) / 6_000, atol=0.012)
        np.testing.assert_allclose(joint.numpy(), counts_of(drawn, (4, 3, 2, 2), pair) / 4_000, atol=0.012)
        np.testing.assert_allclose(joint.sum(1).numpy(), beliefs.marginal(pair[:1]).numpy(), rtol=1e-9)
    assert beliefs_of(config, state) is beliefs, "parts of a set of samples share it"


def test_releases_cost_as_one_gaussian_of_the_noise_multiplier_would_to_a_few_percent() -> None:
    ours, one = (make_plan(name, FACTS, settings={"noise_multiplier": 2.0}) for name in ("mst", "independent-marginals"))
    assert [stage.steps for stage in ours.stages] == [1, 3, 1]
    assert one.bound.epsilon * 0.99 < ours.bound.epsilon < one.bound.epsilon * 1.1
    assert ours.bound.neighboring_relation == "REPLACE_SPECIAL"
    assert claimed(noise_multiplier=2.0, delta=1e-5).epsilon == pytest.approx(0.125 + 2 * math.sqrt(0.125 * math.log(1e5)))


def test_marginals_too_large_to_keep_and_trees_of_one_column_are_refused() -> None:
    wide = FACTS.model_copy(update={"kind": unnamed_columns((4_000, 3_000)), "classes": ()})
    with pytest.raises(WorkbenchError, match="at most 10000000 pairs of categories, got 12000000"):
        make_plan("mst", wide, epsilon=1.0)
    lonely = FACTS.model_copy(update={"kind": unnamed_columns((4,)), "classes": ()})
    with pytest.raises(WorkbenchError, match="at least two columns"):
        make_plan("mst", lonely, epsilon=1.0)


def test_an_epsilon_whose_price_takes_all_of_delta_is_refused_at_once() -> None:
    """Choices are drawn within a distance of their law, which is paid for in delta; Gaussian noise is drawn exactly."""
    facts, delta = FACTS, 1e-5
    stages = make_plan("mst", facts, epsilon=1.0, delta=delta).build().stages(facts)
    assert [stage.name for stage in stages if stage.sampler_distance] == [CHOICE]
    limit = math.log(delta / sum(stage.sampler_distance for stage in stages))
    assert 140 < limit < 180
    assert make_plan("mst", facts, epsilon=limit - 1, delta=delta).bound.is_finite
    with pytest.raises(RefusedError, match=r"takes all of delta 1e-05"):
        make_plan("mst", facts, epsilon=limit + 0.01, delta=delta)
