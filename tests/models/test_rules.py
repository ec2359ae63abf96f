"""Rules between columns: what is declared impossible is in no row drawn, whatever the method, and the file may have it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.quick import QUICK
from support.tables import toy_people, toy_table
from typer.testing import CliRunner

from workbench import datasets
from workbench.cli.commands import app
from workbench.datasets import Dataset
from workbench.datasets.csv_table import broken_rules
from workbench.datasets.declaration import TableDeclaration
from workbench.errors import WorkbenchError
from workbench.experiment import fit, make_plan, new_state, sample
from workbench.methods import METHODS
from workbench.models.graphical.zeros import zeros_of
from workbench.models.rules import obeying_rows
from workbench.models.sample_request import SampleRequest
from workbench.records import Records, TableKind
from workbench.records.rules import Rule

OF_TABLES = [name for name, kind in METHODS.items() if kind.kinds == frozenset({"table"})]
NEVER = (
    Rule(columns=("column 1", "class"), values=((0,), (1,))),
    Rule(columns=("column 3", "column 2"), values=((1, 2), (0,))),
)
DECLARED = """{"columns": [
    {"name": "age", "edges": [0, 15, 30, 120], "points": [7], "missing": "unknown"},
    {"name": "married", "categories": ["no", "yes"]}, {"name": "ill", "categories": ["no", "yes"]}], "target": "ill",
    "never": [{"age": ["< 15"], "married": ["yes"]}, {"ill": ["yes"], "age": [">= 30", "unknown"], "married": ["no"]}]}"""


def ruled(dataset: Dataset, never: tuple[Rule, ...] = NEVER) -> Dataset:
    """The same records, though some break the rules."""
    kind = TableKind.of(dataset.facts.kind).model_copy(update={"never": never})
    return replace(dataset, facts=dataset.facts.model_copy(update={"kind": kind}))


def breaking(samples: Records, dataset: Dataset) -> int:
    return sum(int(broken.sum()) for broken in TableKind.of(dataset.facts.kind).rows_breaking(samples))


@pytest.mark.parametrize("method", OF_TABLES)
def test_no_row_of_any_method_breaks_a_rule_that_records_break(method: str) -> None:
    """The bound is what it was: rules are public."""
    dataset = ruled(toy_table())
    assert breaking(dataset.train, dataset) > 20
    plan = make_plan(method, dataset.facts, epsilon=10.0, settings=QUICK.get(method, {}))
    assert plan.stages == make_plan(method, toy_table().facts, epsilon=10.0, settings=QUICK.get(method, {})).stages
    state = new_state(plan, seed=0)
    for _ in fit(plan, dataset, state):
        pass
    samples = sample(plan, state, 300)
    assert breaking(samples, dataset) == 0
    assert breaking(sample(plan, new_state(plan, seed=0), 100), dataset) == 0, "of an unfitted model too"
    of_one_class = sample(plan, state, 100, labels=np.ones(100, dtype=np.int64), purpose="of one class")
    assert breaking(of_one_class, dataset) == 0
    assert of_one_class.labels is not None
    assert (of_one_class.labels == 1).all()


@pytest.mark.parametrize("method", ["mst", "aim"])
def test_a_graphical_model_gives_what_is_impossible_no_probability(method: str) -> None:
    """Rows that are not drawn again: the model itself has the zeros, and fits what the records that keep the rules are like."""
    dataset = ruled(toy_table(4_000))
    kept = np.logical_not(np.logical_or.reduce(TableKind.of(dataset.facts.kind).rows_breaking(dataset.train)))
    clean = replace(dataset.train.take(np.resize(np.flatnonzero(kept), 4_000)))
    plan = make_plan(method, dataset.facts, epsilon=10.0)
    state = new_state(plan, seed=0)
    for _ in fit(plan, replace(dataset, train=clean), state):
        pass
    drawn = plan.build().implemented.sample(plan.build().config, state, SampleRequest(4_000))
    assert breaking(drawn, dataset) == 0
    for made, real in zip((drawn.records[:, 0], drawn.labels), (clean.records[:, 0], clean.labels), strict=True):
        assert made is not None
        assert real is not None
        np.testing.assert_allclose(np.bincount(made) / len(made), np.bincount(real) / len(real), atol=0.03)


def test_rules_of_columns_that_a_model_has_coarser_hold_in_the_declared_categories() -> None:
    dataset = ruled(toy_people(), (Rule(columns=("age", "city"), values=((0, 1, 2, 3), (1,))),))
    assert breaking(dataset.train, dataset) > 5
    plan = make_plan("mst", dataset.facts, epsilon=10.0, settings={"columns.quantile_ranges": 4, "columns.most_categories": 2})
    state = new_state(plan, seed=0)
    for _ in fit(plan, dataset, state):
        pass
    assert breaking(sample(plan, state, 2_000), dataset) == 0


def test_rules_that_leave_nothing_are_refused_and_never_broken() -> None:
    dataset = ruled(toy_table(), (Rule(columns=("column 1", "class"), values=((0, 1, 2), (1,))),))
    rows = toy_table().train.take(slice(10))
    assert rows.labels is not None
    rows.labels[:] = 1
    with pytest.raises(WorkbenchError, match="got 10 of 10 that break one after"):
        obeying_rows(dataset.facts, lambda _request: replace(rows), SampleRequest(10))


def test_a_declaration_names_ranges_points_and_categories(tmp_path: Path) -> None:
    declared = TableDeclaration.parse(DECLARED)
    assert TableDeclaration.parse(declared.text) == declared
    assert declared.kind.never == (
        Rule(columns=("age", "married"), values=((0, 3), (1,))),
        Rule(columns=("ill", "age", "married"), values=((1,), (2, 4), (0,))),
    )
    path = tmp_path / "people.csv"
    path.write_text("ill,age,married\n" + "no,7,yes\nno,14,yes\nyes,15,yes\nyes,,no\nyes,70,no\nyes,29,no\n" * 4)
    dataset = datasets.load(path, declared=declared)
    assert breaking(dataset.train.followed_by(dataset.held_out), dataset) == 16, "they are read, and no error tells of them"
    assert broken_rules(path, declared) == [8, 8]
    (tmp_path / "declared.json").write_text(DECLARED)
    checked = CliRunner().invoke(app, ["declare", str(path), "--check", str(tmp_path / "declared.json")], catch_exceptions=False)
    assert "private" in checked.stderr
    assert checked.stdout.count(" 8") == 2
    zeros = zeros_of(dataset.facts)
    assert [one.columns for one in zeros] == [(0, 1), (0, 1, 2)]
    assert zeros[1].values == ((2, 4), (0,), (1,))


@pytest.mark.parametrize(
    ("never", "said"),
    [
        ('{"old": ["yes"], "ill": ["no"]}', "Unknown column of a rule 'old'"),
        ('{"married": ["perhaps"], "ill": ["no"]}', "Unknown category of married 'perhaps'"),
        ('{"age": ["< 16"], "ill": ["no"]}', "an edge of age in a rule, got 16. Choose one of: 0, 15, 30, 120"),
        ('{"ill": ["no"]}', "Expected at least 2 of them"),
        ('{"age": ["< 0"], "ill": ["no"]}', "values of each of different columns"),
    ],
)
def test_a_rule_that_names_nothing_declared_gets_a_sentence(never: str, said: str) -> None:
    text = DECLARED[: DECLARED.index('"never"')] + f'"never": [{never}]}}'
    with pytest.raises(WorkbenchError, match=said.replace(".", r"\.")):
        TableDeclaration.parse(text)
