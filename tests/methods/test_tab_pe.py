"""Tab-PE: what its distances, variations and rounds are like, beside what every method owes."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

from workbench.datasets import Dataset, DatasetFacts
from workbench.errors import WorkbenchError
from workbench.experiment import fit, make_plan, new_state, sample
from workbench.methods.tab_pe import TabPEConfig
from workbench.methods.tab_pe.training import (
    believed_shares,
    change_chances,
    chosen_rows,
    class_shares,
    coordinates,
    counts_of_columns,
    even_rows,
    next_rows,
    places,
    transitions,
    varied_rows,
    votes,
)
from workbench.methods.tab_pe.training import fitted_rows as fitted_to_columns
from workbench.plan import Plan
from workbench.records import Column, Records, TableKind
from workbench.training.state import State
from workbench.training.streams import Stream

YEARS = Column.of_ranges("years", (0, 10, 20, 40, 80))
AGE = YEARS.model_copy(update={"categories": (*YEARS.categories, "unknown", "refused")})
CITY = Column(name="city", categories=("a", "b", "c"))
FACTS = DatasetFacts(name="towns", kind=TableKind(columns=(AGE, CITY)), num_records=4_000, classes=("no", "yes"))


@cache
def towns() -> Dataset:
    """A quarter are of the second class, old and in the third town; the others young and in the first, with some chance."""
    draw = np.random.default_rng(0)
    labels = (np.arange(4_400) % 4 == 0).astype(np.int64)
    ages = np.where(draw.random(4_400) < 0.85, np.where(labels, 3, 0), draw.integers(0, 6, 4_400))
    cities = np.where(draw.random(4_400) < 0.9, np.where(labels, 2, 0), 1)
    rows = Records(np.stack([ages, cities], axis=1), labels)
    return Dataset(FACTS, rows.take(slice(4_000)), rows.take(slice(4_000, None)))


@cache
def fitted() -> tuple[Plan, State]:
    plan = make_plan("tab-pe", FACTS, epsilon=5.0, settings={"rounds": 10, "records": 60, "drawn_rounds": 3})
    state = new_state(plan, seed=1)
    for _ in fit(plan, towns(), state):
        pass
    return plan, state


def test_rows_become_those_of_the_table_and_classes_have_their_shares() -> None:
    plan, state = fitted()
    drawn = sample(plan, state, 4_000)
    assert drawn.labels is not None
    assert drawn.labels.mean() == pytest.approx(0.25, abs=0.03)
    assert class_shares(state)[1] == pytest.approx(0.25, abs=0.02)
    for label, (age, city) in enumerate([(0, 0), (3, 2)]):
        rows = drawn.records[drawn.labels == label]
        assert (rows[:, 0] == age).mean() > 0.5
        assert (rows[:, 1] == city).mean() > 0.5


def test_a_number_stands_by_its_range_and_a_category_on_an_axis_of_its_own() -> None:
    np.testing.assert_allclose(coordinates(AGE, 0.5)[:, 0], np.array([1, 3, 5, 7, 4, 4]) / 8)
    np.testing.assert_allclose(coordinates(AGE, 0.5)[:, 1:], [[0, 0]] * 4 + [[0.5, 0], [0, 0.5]])
    np.testing.assert_allclose(coordinates(CITY, 0.5), 0.5 * np.eye(3))
    points = places((AGE, CITY), 1 / 3, np.array([[0, 0, 1], [3, 0, 0], [0, 2, 0]]))
    np.testing.assert_allclose(np.linalg.norm(points[1] - points[0]), 6 / 8, rtol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(points[2] - points[0]), np.sqrt(2) / 3, rtol=1e-6)


@pytest.mark.parametrize("rate", [0.001, 0.1, 0.5, 1.0])
def test_variations_are_the_draws_that_the_paper_describes(rate: float) -> None:
    """Categories redrawn evenly by chance; numbers moved by an even draw, cut to the ends, as by draws themselves."""
    np.testing.assert_allclose(transitions(CITY, rate), (1 - rate) * np.eye(3) + rate / 3)
    np.testing.assert_allclose(transitions(AGE, rate).sum(axis=1), 1)
    draw = np.random.default_rng(0)
    for start in range(4):
        moved = np.clip(start + draw.random(40_000) + 4 * rate * draw.uniform(-1, 1, 40_000), 0, 4 - 1e-9)
        expected = np.bincount(moved.astype(int), minlength=4) / 40_000
        np.testing.assert_allclose(transitions(YEARS, rate)[start], expected, atol=0.01)
        np.testing.assert_allclose(transitions(AGE, rate)[start, 4:], rate / 6)


def test_varied_rows_keep_their_label() -> None:
    rows = np.tile([[0, 1, 1]], (3_000, 1))
    varied = varied_rows((AGE, CITY), 0.3, rows, Stream(bytes(32)))
    assert (varied[:, 2] == 1).all()
    np.testing.assert_allclose(np.bincount(varied[:, 1], minlength=3) / 3_000, [0.1, 0.8, 0.1], atol=0.03)


def test_every_record_votes_once_for_the_nearest_row_of_its_class_and_a_null_one_for_none() -> None:
    plan, state = fitted()
    config, train = plan.build().config, towns().train
    assert isinstance(config, TabPEConfig)
    assert train.labels is not None
    counted, rows = votes(config, train, state), state.tensors["rows"].numpy()
    assert counted.sum() == 4_000
    assert np.bincount(rows[:, 2], weights=counted).tolist() == [3_000, 1_000]
    columns = (AGE, CITY)
    distances = np.linalg.norm(places(columns, 1 / 3, train.records)[:, None] - places(columns, 1 / 3, rows)[None], axis=2)
    distances[train.labels[:, None] != rows[:, 2]] = np.inf
    best = distances.min(axis=1)
    assert sum(counted[np.flatnonzero(np.isclose(distances[0], best[0], atol=1e-6))]) > 0
    for position in (0, 17):
        moved = counted - votes(config, train.without(position), state)
        place = int(np.flatnonzero(moved)[0])
        assert moved.sum() == moved[place] == 1
        assert distances[position, place] == pytest.approx(best[position], abs=1e-4)


def test_no_record_votes_for_a_row_of_another_class_however_far_its_own_are() -> None:
    plan, state = make_plan("tab-pe", FACTS, epsilon=5.0), new_state(make_plan("tab-pe", FACTS, epsilon=5.0), seed=1)
    config = plan.build().config
    assert isinstance(config, TabPEConfig)
    state.tensors["rows"] = torch.tensor([[3, 0, 0], [0, 1, 1]])
    voters = Records(np.array([[0, 1], [3, 0]]), np.array([0, 1]))
    assert votes(config, voters, state).tolist() == [1, 1]
    assert votes(config, replace(voters, labels=1 - np.asarray(voters.labels)), state).tolist() == [1, 1]


def test_every_round_varies_rows_by_draws_of_its_own() -> None:
    plan, state = fitted()
    config = plan.build().config
    assert isinstance(config, TabPEConfig)
    even = config.model_copy(update={"first_rate": 0.5, "last_rate": 0.5})  # so that rounds differ in their draws alone
    early, late = (next_rows(even, state, step)["rows"] for step in (2, 3))
    assert early.shape == late.shape, "both of rounds that draw"
    assert not torch.equal(early, late)


def test_rows_are_drawn_by_votes_or_kept_by_rank() -> None:
    counted, of_class = np.array([9.0, -1.0, 5.0, 3.0, 1.0]), np.array([1, 2, 3, 4])
    assert chosen_rows(of_class, counted, 2, False, Stream(bytes(32))).tolist() == [2, 3]
    drawn = chosen_rows(of_class, counted, 3_000, True, Stream(bytes(32)))
    np.testing.assert_allclose(np.bincount(drawn, minlength=5) / 3_000, [0, 0, 5 / 9, 3 / 9, 1 / 9], atol=0.04)
    assert set(chosen_rows(of_class, -np.ones(5), 300, True, Stream(bytes(32))).tolist()) == {1, 2, 3, 4}, "evenly where no vote is above 0"


def test_first_rows_are_even_and_the_rate_falls_as_the_paper_has_it() -> None:
    config = TabPEConfig(records=6_001)
    rows = even_rows(config, FACTS, Stream(bytes(32)))
    assert len(rows) == 6_000
    np.testing.assert_allclose(np.bincount(rows[:, 0]) / 6_000, 1 / 6, atol=0.02)
    assert np.bincount(rows[:, 2]).tolist() == [3_000, 3_000]
    assert config.rate(30) == pytest.approx(0.01)
    assert config.rate(10) == pytest.approx(0.5 - 0.49 * (1 / 3) ** 0.2)


def test_rounds_cost_what_one_gaussian_would_and_a_row_for_each_class_is_needed() -> None:
    plan = make_plan("tab-pe", FACTS, settings={"rounds": 4, "noise_multiplier": 4.0, "share_of_columns": 0.0})
    one = make_plan("independent-marginals", FACTS, settings={"noise_multiplier": 2.0})
    assert plan.bound.epsilon == pytest.approx(one.bound.epsilon, rel=1e-6)
    assert plan.claim.epsilon == pytest.approx(plan.bound.epsilon, rel=1e-3)
    fitted_too = make_plan("tab-pe", FACTS, settings={"rounds": 3, "noise_multiplier": 4.0, "share_of_columns": 0.25})
    assert fitted_too.bound.epsilon == pytest.approx(one.bound.epsilon, rel=1e-6), "columns have a quarter, as a fourth round would"
    assert fitted_too.claim.epsilon == pytest.approx(fitted_too.bound.epsilon, rel=1e-3)
    assert make_plan("tab-pe", FACTS, epsilon=1.0).stages[-1].steps == 20
    assert make_plan("tab-pe", FACTS.model_copy(update={"num_records": 20_000}), epsilon=1.0).stages[-1].steps == 30
    with pytest.raises(WorkbenchError, match="a row at least for each of 2 classes"):
        make_plan("tab-pe", FACTS, epsilon=1.0, settings={"records": 1})


def rare() -> Dataset:
    """One category of four has most of the rows, whatever else a row is; the others are rare."""
    draw = np.random.default_rng(1)
    city = Column(name="city", categories=tuple("abcdefgh"))
    facts = FACTS.model_copy(update={"kind": TableKind(columns=(AGE, city))})
    labels = (np.arange(4_000) % 4 == 0).astype(np.int64)
    ages = draw.choice(6, 4_000, p=[0.4, 0.2, 0.1, 0.1, 0.15, 0.05])
    rows = np.stack([ages, np.where(draw.random(4_000) < 0.65, 0, 1 + ages % 7)], axis=1)
    return Dataset(facts, Records(rows, labels), Records(rows, labels))


def test_samples_have_the_shares_of_columns_which_the_nearest_rows_alone_have_not() -> None:
    dataset, off = rare(), []
    assert dataset.train.labels is not None
    for share in (0.0, 0.1):
        plan = make_plan("tab-pe", dataset.facts, epsilon=10.0, settings={"rounds": 10, "records": 20, "share_of_columns": share})
        state = new_state(plan, seed=1)
        for _ in fit(plan, dataset, state):
            pass
        drawn = sample(plan, state, 4_000)
        assert drawn.labels is not None
        off.append([
            abs(np.bincount(part.records[part.labels == label, number], minlength=8) / (part.labels == label).sum() - share).sum() / 2
            for label in (0, 1) for number in (0, 1) for part in [drawn]
            for share in [np.bincount(dataset.train.records[dataset.train.labels == label, number], minlength=8) / (3_000, 1_000)[label]]
        ])  # fmt: skip
    assert max(off[0]) > 0.1
    assert max(off[1]) < 0.04


@pytest.mark.parametrize("column", [YEARS, AGE, CITY], ids=["ranges", "ranges and others", "categories"])
def test_changes_make_one_shares_of_the_others_and_move_as_little_as_can_be(column: Column) -> None:
    draw, size = np.random.default_rng(0), len(column.categories)
    for _ in range(20):
        before, after = draw.dirichlet(np.ones(size)), draw.dirichlet(np.ones(size)) * (draw.random(size) < 0.8)
        after = after / after.sum() if after.any() else np.full(size, 1 / size)
        moves = change_chances(column, before, after)
        assert (moves >= 0).all()
        np.testing.assert_allclose(moves.sum(axis=1), 1)
        np.testing.assert_allclose(before @ moves, after, atol=1e-12)
        if not column.edges:
            assert before @ (1 - np.diag(moves)) == pytest.approx(abs(before - after).sum() / 2)
    np.testing.assert_allclose(change_chances(column, before, before), np.eye(size), atol=1e-12)


def test_numbers_keep_their_order_and_who_is_beside_them_is_drawn_by_what_is_missing() -> None:
    moves = change_chances(YEARS, np.array([0.5, 0.5, 0, 0]), np.array([0.25, 0.25, 0.25, 0.25]))
    np.testing.assert_allclose(moves[:2], [[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]])
    moves = change_chances(AGE, np.array([1.0, 0, 0, 0, 0, 0]), np.array([0.25, 0, 0, 0.25, 0.5, 0]))
    np.testing.assert_allclose(moves[0], [0.25, 0, 0, 0.25, 0.5, 0])


def test_counts_are_believed_as_far_as_they_are_more_than_noise() -> None:
    before = np.array([0.7, 0.2, 0.1])
    np.testing.assert_allclose(believed_shares(np.array([100.0, 500.0, 400.0]), before, 0.0), [0.1, 0.5, 0.4])
    np.testing.assert_allclose(believed_shares(np.array([690.0, 220.0, 90.0]), before, 30.0), before)
    half = believed_shares(np.array([100.0, 500.0, 400.0]), before, np.sqrt((600**2 + 300**2 + 300**2) / 4))
    np.testing.assert_allclose(half, [0.4, 0.35, 0.25])


def test_samples_stay_as_they_are_where_counts_are_nothing_but_noise() -> None:
    plan, state = fitted()
    config, rows, samples = plan.build().config, state.tensors["rows"].numpy(), np.tile([[0, 1, 0], [3, 2, 1]], (500, 1))
    assert isinstance(config, TabPEConfig)
    weights = (rows[:, -1] == np.arange(2)[:, None]).astype(float)
    loud = config.model_copy(update={"noise_multiplier": 1e5})
    assert np.array_equal(fitted_to_columns(loud, state, rows, weights, samples, Stream(bytes(32))), samples)
    assert not np.array_equal(fitted_to_columns(config, state, rows, weights, samples, Stream(bytes(32))), samples)


def test_a_row_is_counted_once_in_each_column_of_its_class() -> None:
    plan = make_plan("tab-pe", FACTS, epsilon=1_000.0, settings={"rounds": 1, "records": 20, "drawn_rounds": 1, "share_of_columns": 0.9})
    state = new_state(plan, seed=1)
    for _ in fit(plan, towns(), state):
        pass
    train = towns().train
    assert train.labels is not None
    for number, (counts, size) in enumerate(zip(counts_of_columns(state), (6, 3), strict=True)):
        for label in (0, 1):
            own = np.bincount(train.records[train.labels == label, number], minlength=size)
            np.testing.assert_allclose(counts[label], own, atol=5)
