"""Measures of tables against values by hand, copies against fresh rows, and independent columns against real ones."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from support.homes import here
from support.tables import unnamed_columns

from workbench.datasets import Dataset, DatasetFacts, load, patients
from workbench.evaluation import METRICS, baselines, cells, evaluate, propensity, tables, uneven, uniques
from workbench.evaluation.context import Context
from workbench.evaluation.learners import labels_of
from workbench.records import Records

NAMES = (
    *("one_way_marginals", "two_way_marginals", "three_way_marginals", "worst_column", "pairwise_associations", "propensity_error"),
    *("closest_record", "detection"),
)


@pytest.fixture(scope="module")
def context() -> Context:
    return Context(load("patients"), lambda: pytest.fail("no features are asked for"), 0, None)  # pyright: ignore[reportArgumentType]


@pytest.fixture(scope="module")
def shuffled(context: Context) -> Records:
    """Training rows whose columns, the class too, are shuffled apart from one another."""
    draw, train = np.random.default_rng(1), context.dataset.train
    assert train.labels is not None
    return Records(np.stack([draw.permutation(column) for column in train.records.T], axis=1), draw.permutation(train.labels))


def by_hand(records: list[list[int]], labels: list[int]) -> Context:
    """Held-out rows of two columns of 2 and 3 categories."""
    held_out = Records(np.array(records), np.array(labels))
    facts = DatasetFacts(name="hand", kind=unnamed_columns((2, 3)), num_records=len(labels), classes=("no", "yes"))
    return Context(Dataset(facts, held_out, held_out), lambda: pytest.fail("no features are asked for"), 0, None)  # pyright: ignore[reportArgumentType]


def test_distances_of_marginals_by_hand() -> None:
    context = by_hand([[0, 0], [0, 1], [1, 2], [1, 2]], [0, 0, 1, 1])
    samples = Records(np.array([[0, 0], [0, 0], [1, 2], [0, 2]]), np.array([0, 0, 1, 1]))
    assert tables.one_way_marginals(samples, context).value == pytest.approx((1 / 4 + 1 / 4 + 0) / 3)
    two_way = tables.two_way_marginals(samples, context)
    assert two_way.value == pytest.approx((1 / 2 + 1 / 4 + 1 / 4) / 3)
    assert two_way.note.startswith("Worst of 3: column 1 x column 2 0.500. ")
    assert "Mean of those with each column: class 0.250, column 1 0.375, column 2 0.375." in two_way.note
    assert two_way.note.endswith(f"come to {(1 / 2 + 1 / 2 + 1 / 2) / 3:.3f}.")
    assert cells.three_way_marginals(samples, context).value == pytest.approx(1 / 2)
    assert cells.five_way_marginals(samples, context) == cells.three_way_marginals(samples, context), "no more columns than there are"
    worst = cells.worst_column(replace(samples, labels=np.array([0, 1, 1, 1])), context)
    assert worst.value == pytest.approx(1 / 4)
    share = cells.target_share(replace(samples, labels=np.array([0, 1, 1, 1])), context)
    assert share.value == pytest.approx(1 / 4)
    assert share.note == "Of samples and of held-out rows: no 25.0% and 50.0%, yes 75.0% and 50.0%."
    assert worst.note == "Worst: class. Of each column: class 0.250, column 1 0.250, column 2 0.250."


def test_cells_that_are_too_many_to_count_one_by_one_are_counted_where_they_occur(
    monkeypatch: pytest.MonkeyPatch, context: Context
) -> None:
    samples = context.dataset.train.take(slice(200))
    dense = cells.three_way_marginals(samples, context)
    monkeypatch.setattr(cells, "MOST_CELLS", 1)
    assert cells.three_way_marginals(samples, context).value == pytest.approx(dense.value)
    wide = np.array([[9_999] * 5, [0] * 5])
    assert cells.cell_numbers(wide, wide[:1], [10_000] * 5)[2] == 2, "more cells than a number can name"


def test_what_one_training_row_alone_has_is_counted_where_samples_repeat_it(context: Context) -> None:
    by = by_hand([[0, 0], [0, 0], [0, 1], [1, 2]], [0, 0, 0, 1])  # once each: (0, 1, no) and (1, 2, yes)
    samples = Records(np.array([[0, 1], [0, 0], [1, 1]]), np.array([0, 1, 1]))
    assert uniques.unique_rows(samples, by).value == 1 / 2
    assert uniques.unique_pairs(samples, by).value == 3 / 5  # all but two with a 2 in the second column: (yes, 2) and (1, 2)
    train = context.dataset.train
    for measure in (uniques.unique_rows, uniques.unique_pairs):
        assert measure(train, context).value == 1.0
        assert 0.35 < measure(train.take(slice(len(train) // 2)), context).value < 0.65
    assert uniques.unique_rows(load("patients", seed=5).train, context).value < 0.45, "of rows that nobody learned from few are the same"


def test_scores_of_uneven_classes_by_hand() -> None:
    truth = np.array([0, 0, 0, 1])
    chances = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.4, 0.6]])
    assert uneven.balanced_accuracy(truth, chances) == pytest.approx((2 / 3 + 1) / 2)
    assert uneven.f1(truth, chances) == pytest.approx(2 / 3)
    assert uneven.area(truth, chances) == pytest.approx(2 / 3)
    majority = np.array([[1.0, 0.0]] * 4)
    assert (uneven.balanced_accuracy(truth, majority), uneven.f1(truth, majority), uneven.area(truth, majority)) == (0.5, 0.0, 0.5)
    assert uneven.area(np.array([0, 1, 2, 1]), np.eye(3)[[0, 1, 2, 2]]) == pytest.approx((1 + 0.75 + 5 / 6) / 3)


def test_the_propensity_score_s_error_is_what_is_expected_where_nothing_differs() -> None:
    draw = np.random.default_rng(0)
    facts = DatasetFacts(name="coins", kind=unnamed_columns((2,) * 10), num_records=4_000)
    parts = [Records(draw.integers(0, 2, (4_000, 10))) for _ in range(2)]
    context = Context(Dataset(facts, parts[1], parts[1]), lambda: pytest.fail("no features are asked for"), 0, None)  # pyright: ignore[reportArgumentType]
    error = propensity.propensity_error(parts[0], context)
    assert 0.3 < error.value / (10 / (8 * 8_000)) < 2.5
    assert f"{10 / (8 * 8_000):.5f} is expected" in error.note
    assert propensity.propensity_error(Records(np.zeros((4_000, 10), np.int64)), context).value > 0.15


def test_cramers_v_of_what_is_known() -> None:
    assert tables.cramers_v(np.diag([0.2, 0.3, 0.5])) == pytest.approx(1)
    assert tables.cramers_v(np.outer([0.2, 0.8], [0.1, 0.9])) == pytest.approx(0)
    assert tables.cramers_v(np.array([[0.4, 0.1], [0.1, 0.4]])) == pytest.approx(0.6)
    assert tables.cramers_v(np.array([[0.4, 0.6], [0.0, 0.0]])) == 0.0


def test_samples_are_compared_as_they_are_drawn() -> None:
    """Classes in equal shares where a quarter is of one: every column is off, the class too."""
    context = by_hand([[0, 0]] * 3 + [[1, 2]], [0, 0, 0, 1])
    evenly = Records(np.array([[0, 0], [0, 0], [1, 2], [1, 2]] * 6), np.array([0, 0, 1, 1] * 6))
    for samples in (evenly, replace(evenly, labels=None)):
        assert tables.one_way_marginals(samples, context).value == pytest.approx(1 / 4)
    assert tables.two_way_marginals(evenly, context).value == pytest.approx(1 / 4)


@pytest.mark.parametrize("name", NAMES)
def test_shuffled_columns_and_copies_are_told_from_real_rows(name: str, context: Context, shuffled: Records) -> None:
    measure, dataset = METRICS[name].function, context.dataset
    real, apart = measure(dataset.held_out, context), measure(shuffled, context)
    fresh, copies = measure(load("patients", seed=5).train.take(slice(500)), context), measure(dataset.train.take(slice(500)), context)
    if name == "closest_record":
        assert copies.value > fresh.value
        assert "100.0% of the samples are training rows" in copies.note
    elif name == "detection":
        assert apart.value > 0.9
        assert abs(fresh.value - 0.5) < 0.06
    elif name == "propensity_error":
        assert real.value < 1e-6
        assert fresh.value < 0.02
    else:
        assert real.value == 0.0
        assert fresh.value < {"three_way_marginals": 0.12, "worst_column": 0.1}.get(name, 0.07)
    if name in ("two_way_marginals", "pairwise_associations"):
        assert apart.value > 4 * fresh.value
        assert fresh.interval is not None
        assert fresh.interval[0] <= fresh.value <= fresh.interval[1]


def test_columns_that_differ_from_each_row() -> None:
    assert tables.differing_columns(np.array([[0, 1, 2], [0, 0, 0]]), np.array([[0, 1, 2], [3, 1, 0]])).tolist() == [[0, 2], [2, 2]]
    assert tables.nearer_by(np.array([[0, 2], [2, 2]]), np.array([True, False])) == 1.0


def test_copies_of_rows_that_are_all_different_are_nearer_than_fresh_ones() -> None:
    dataset = patients.load(patients.LARGE, num_records=400, seed=2)
    context = Context(dataset, lambda: pytest.fail("no features are asked for"), 0, None)  # pyright: ignore[reportArgumentType]
    copies = tables.closest_record(dataset.train, context)
    fresh = tables.closest_record(patients.load(patients.LARGE, num_records=400, seed=10).train, context)
    assert copies.interval is not None
    assert fresh.interval is not None
    assert copies.interval[0] > 0.1
    assert fresh.interval[0] < 0 < fresh.interval[1]


def test_the_error_of_an_area_is_its_spread_over_draws() -> None:
    draw, size = np.random.default_rng(0), 100
    areas = [roc_auc_score(np.repeat([0, 1], size), np.append(draw.normal(size=size), draw.normal(size=size) + 1)) for _ in range(300)]
    assert tables.area_error(float(np.mean(areas)), size) == pytest.approx(float(np.std(areas)), rel=0.15)


def test_an_evaluation_has_them_with_ceiling_and_chance(shuffled: Records, context: Context) -> None:
    results = {result.name: result for result in evaluate(shuffled.take(slice(300)), context.dataset, metrics=NAMES, workspace=here())}
    assert list(results) == list(NAMES)
    assert results["detection"].chance == 0.5
    assert results["two_way_marginals"].ceiling is not None
    assert results["two_way_marginals"].ceiling < results["two_way_marginals"].value
    assert results["closest_record"].ceiling is not None
    beside = results["two_way_marginals"].baselines
    assert list(beside) == [baselines.BOOTSTRAP, baselines.HALF, baselines.INDEPENDENT]
    assert beside[baselines.BOOTSTRAP] < beside[baselines.INDEPENDENT] / 3
    assert not any(result.releasable for result in results.values())


def test_few_samples_and_samples_without_labels(context: Context) -> None:
    few = context.dataset.train.take(slice(4))
    assert tables.detection(few, context).interval is None
    for name in NAMES:
        measure: Callable[..., tables.Measurement] = METRICS[name].function
        assert np.isfinite(measure(replace(context.dataset.train.take(slice(200)), labels=None), context).value)


def test_epsilon_zero_of_a_table_is_of_rows_drawn_evenly_over_what_is_declared(context: Context, shuffled: Records) -> None:
    dataset = context.dataset
    options = {"metrics": ("two_way_marginals", "accuracy_gradient_boosting", "f1_gradient_boosting"), "workspace": here()}
    marginals, accuracy, rarer = evaluate(shuffled.take(slice(600)), dataset, **options)
    truth = labels_of(dataset.held_out, 2)
    majority = float(np.mean(truth == np.bincount(labels_of(dataset.train, 2)).argmax()))
    assert accuracy.baselines[baselines.MAJORITY] == pytest.approx(majority)
    assert (accuracy.largest_class, accuracy.largest_class_releasable) == (np.bincount(truth).max() / len(truth), False)
    assert {marginals.largest_class, rarer.largest_class} == {None}, "which stands beside accuracies alone"
    assert (rarer.baselines[baselines.MAJORITY], rarer.releasable) == (0.0, False)
    assert rarer.baselines[baselines.HALF] > rarer.baselines[baselines.INDEPENDENT]
    assert marginals.epsilon_zero == tables.two_way_marginals(dataset.facts.draw(600, 0), context).value
    assert marginals.epsilon_zero is not None
    assert marginals.value < marginals.epsilon_zero, "shuffled columns know more than no rows at all"
    assert accuracy.epsilon_zero is not None
    assert abs(accuracy.epsilon_zero - 0.5) < 0.25
    for result in (marginals, accuracy):
        assert "drawn evenly over the declared categories" in result.epsilon_zero_reason
        assert result.epsilon_zero_num_samples == 600
        assert not result.epsilon_zero_releasable
