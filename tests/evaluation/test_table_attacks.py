"""Attacks on the people of a table: on copies they are always right, on rows that know nobody no oftener than on held-out ones."""

import re
from fractions import Fraction

import numpy as np
import pytest
from support.homes import here
from support.tables import unnamed_columns

from workbench.datasets import Dataset, DatasetFacts, load
from workbench.evaluation import METRICS, baselines, evaluate, nearest_rows, queries, table_attacks
from workbench.evaluation.context import Context
from workbench.evaluation.nearest_rows import Columns, nearest
from workbench.evaluation.table_attacks import Attack, Rate
from workbench.records import Column, Records, TableKind

VECTORS = ((0.1731898893174202, 0.12710339917071795, 0.21927637946412243), (0.8388748419471819, 0.656065012755971, 1.0))
ATTACKS = ("singling_out", "linkability", "inference")
SIZES = (40,) * 8
FIVE = Column(name="ages", categories=tuple(str(place) for place in range(5)), edges=(0.0, 1.0, 2.0, 3.0, 4.0, 5.0))


def drawn(count: int, seed: int) -> Records:
    """Rows of eight columns that say nothing of one another: any two differ somewhere."""
    draw = np.random.default_rng(seed)
    return Records(draw.integers(0, SIZES[0], (count, len(SIZES))), draw.integers(0, 2, count))


def context_of(train: Records, held_out: Records, seed: int = 0) -> Context:
    facts = DatasetFacts(name="drawn", kind=unnamed_columns(SIZES), num_records=len(train), classes=("no", "yes"))
    return Context(Dataset(facts, train, held_out), lambda: pytest.fail("no features are asked for"), seed, None)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.parametrize("held_out", [1_000, 400])
def test_copies_give_everybody_away_and_fresh_rows_nobody(name: str, held_out: int) -> None:
    train = drawn(1_000, 1)
    for seed in (0, 1):
        context = context_of(train, drawn(held_out, 2), seed)
        copied, fresh = (METRICS[name].function(rows, context) for rows in (train, drawn(1_000, 3)))
        assert copied.value > 0.9, copied.note
        assert copied.interval is not None
        assert copied.interval[0] > 0.85
        assert fresh.interval is not None
        assert fresh.value < 0.06, fresh.note
        assert fresh.interval[0] < 0.005, "it covers 0, but for chance"
        shares = re.match(r"Right of ([0-9.]+)% of [0-9]+ training rows, ([0-9.]+)% held-out, ([0-9.]+)% by guessing", copied.note)
        assert shares is not None
        assert float(shares[1]) > 90
        assert float(shares[2]) < 8, "nothing is known of who was not copied"


@pytest.mark.parametrize("name", ATTACKS)
def test_half_of_the_people_are_given_away_where_half_are_copied(name: str) -> None:
    train = drawn(1_000, 1)
    half = Records(np.concatenate([train.records[:500], drawn(500, 4).records]), np.concatenate([train.labels[:500], drawn(500, 4).labels]))  # type: ignore[index]
    risk = METRICS[name].function(half, context_of(train, drawn(1_000, 2)))
    assert 0.35 < risk.value < 0.65, risk.note


def test_the_risk_is_what_the_published_package_says() -> None:
    """Values of anonymeter 1.1.0, EvaluationResults(500, 120, 60, 40).risk() and (300, 300, 3, 290)."""
    value, interval = Attack(Rate(120, 500), Rate(40, 500), Rate(60, 500)).risk
    assert (value, *interval) == pytest.approx(VECTORS[0], abs=1e-9)
    value, interval = Attack(Rate(300, 300), Rate(290, 300), Rate(3, 300)).risk
    assert (value, *interval) == pytest.approx(VECTORS[1], abs=1e-9)
    assert "No better than guessing" in Attack(Rate(3, 300), Rate(0, 300), Rate(4, 300)).words


def gower(row: np.ndarray, other: np.ndarray, columns: Columns, over: tuple[int, ...]) -> Fraction:
    """In 1024ths, as ties are decided."""
    distance = Fraction(0)
    for column in over:
        one, two, ordered = int(row[column]), int(other[column]), columns.ordered[column]
        if max(one, two) < ordered:
            distance += Fraction(round(1024 * abs(one - two) / max(ordered - 1, 1)), 1024)
        else:
            distance += one != two
    return distance


def test_the_nearest_row_is_the_first_of_those_at_gower_s_smallest_distance(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(0)
    columns = Columns((5, 3, 6, 1), (5, 0, 4, 1))
    rows, samples = (np.stack([draw.integers(0, size, count) for size in columns.sizes], axis=1) for count in (40, 300))
    for over in ((0, 1, 2, 3), (0, 2), (1,)):
        expected = [min(range(300), key=lambda place: (gower(row, samples[place], columns, over), place)) for row in rows]
        assert nearest(rows, samples, columns, over).tolist() == expected
        with monkeypatch.context() as small:
            small.setattr(nearest_rows, "MOST_CELLS", 100)
            assert nearest(rows, samples, columns, over).tolist() == expected, "blocks of samples change nothing"


def test_conditions_on_ordered_columns_reach_away_from_the_median() -> None:
    facts = DatasetFacts(name="ages", kind=TableKind(columns=(FIVE, Column(name="sex", categories=("f", "m")))), num_records=9)
    rows = np.array([[2, 0]] * 3 + [[1, 0]] * 3 + [[3, 1]] * 2 + [[4, 0]])
    columns = Columns(TableKind.of(facts.kind).categories, (5, 0))
    conditions = queries.singling_out_queries(rows, columns, np.random.default_rng(0))
    assert conditions == [((0, (False, False, False, False, True)), (1, (True, False)))], "the oldest woman alone"
    assert queries.singled_out(conditions, rows).tolist() == [True]
    assert queries.singled_out(conditions, np.array([[4, 0], [4, 0]])).tolist() == [False]
    unknown = Columns((6, 2), (5, 0))
    unknown_conditions = queries.singling_out_queries(np.array([[0, 0]] * 3 + [[5, 1]]), unknown, np.random.default_rng(0))
    assert unknown_conditions == [((0, (False,) * 5 + (True,)), (1, (False, True)))], "what is no number has no order"


def test_held_out_rows_of_another_number_are_counted_as_if_they_were_as_many() -> None:
    columns = Columns((8,) * 4, (0,) * 4)
    made, held_out, others = (
        np.random.default_rng(seed).integers(0, 8, (count, 4)) for count, seed in ((4_000, 1), (1_500, 2), (9_000, 3))
    )
    conditions = queries.singling_out_queries(made, columns, np.random.default_rng(0))
    for size in (700, len(held_out), 3_000):
        expected = np.mean([queries.singled_out(conditions, others[start : start + size]).sum() for start in (0, 3_000, 6_000)])
        assert queries.held_out_at_size(conditions, held_out, size) == pytest.approx(expected, rel=0.2)


def test_what_cannot_be_attacked_is_said() -> None:
    rows = Records(np.zeros((20, 1), np.int64))
    facts = DatasetFacts(name="one", kind=unnamed_columns((3,)), num_records=20)
    context = Context(Dataset(facts, rows, rows), lambda: pytest.fail("no features are asked for"), 0, None)  # pyright: ignore[reportArgumentType]
    for name in ("linkability", "inference"):
        risk = METRICS[name].function(rows, context)
        assert (risk.value, risk.interval, risk.note) == (0.0, None, table_attacks.ONE_COLUMN)
    twice = Records(np.array([[0]] * 10 + [[1]] * 10))
    assert METRICS["singling_out"].function(twice, context).interval is not None, "a distinct row counts once"


def test_an_evaluation_has_them_beside_copies_and_independent_columns_and_keeps_them_in_the_room() -> None:
    dataset = load("patients")
    results = evaluate(load("patients", seed=5).train, dataset, metrics=ATTACKS, workspace=here())
    assert [result.name for result in results] == list(ATTACKS)
    for result in results:
        assert not result.releasable
        assert result.split == "train+held_out"
        assert list(result.baselines) == [baselines.BOOTSTRAP, baselines.HALF, baselines.INDEPENDENT]
    inference = results[-1]
    assert inference.ceiling is not None
    assert inference.ceiling > inference.value + 0.1, "copies of real rows tell more than fresh ones"
