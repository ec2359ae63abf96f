"""The Tables page: rows and files of samples, and their columns beside the real ones, which are private."""

import csv
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from pages.reading import elements, text_of
from streamlit.testing.v1 import AppTest
from support.homes import here
from support.persons import VISITS, visits
from support.tables import toy_table, unnamed_columns

from workbench.datasets import DATASETS, DatasetEntry, load
from workbench.datasets.reference import DatasetRef
from workbench.evaluation import METRICS
from workbench.evaluation.side_by_side import MOST_CATEGORIES, apart, associations, shares
from workbench.pages.tables import page
from workbench.pages.tables.methods import points
from workbench.recipes.side_by_side import CEILING, EPSILON_ZERO, results_of_runs
from workbench.records import Column, Records, TableKind
from workbench.runs.finished import evaluate_run
from workbench.runs.run import Run
from workbench.runs.samples import sample_set
from workbench.runs.samples.imported import import_samples

OpenPage = Callable[..., AppTest]
TrainHere = Callable[..., Run]


@pytest.fixture
def run(train_here: TrainHere, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A finished run on a small table of the registry."""
    monkeypatch.setitem(DATASETS, "toy-table", DatasetEntry("A table.", "toy-table", lambda _: toy_table().facts, lambda _: toy_table()))
    return train_here("independent-marginals", toy_table())


def charts_of(app: AppTest) -> list[str]:
    return [element.proto.alt for element in elements(app.main) if element.type == "plotly_chart"]


def test_samples_are_drawn_by_a_button_and_shown_beside_the_real_rows(open_page: OpenPage, run: Run) -> None:
    app = open_page("tables", tables_run=run.id)
    assert "No samples have been drawn yet" in text_of(app)
    app.button(key="tables_begin").click().run()
    assert not app.exception
    assert page.PRIVATE in text_of(app)
    named = ["class", "column 1", "column 2", "column 3"]
    alts = charts_of(app)
    assert alts[:4] == [f"Shares of the categories of {name} among samples and real rows (private)" for name in named]
    off = "otal variation distance of"
    assert [alt[1:27] for alt in alts[4:6]] == [off, off]
    assert "The column that is farthest off alone is" in text_of(app)
    assert alts[6:] == [f"Cramer's V of every two columns among {name}" for name in ("samples", "real rows (private)")]
    assert "may be released" in text_of(app)
    assert len([button for button in app.get("download_button") if "rows as" in button.proto.label]) == 2
    app.toggle(key="tables_real").set_value(False).run()
    assert page.PRIVATE not in text_of(app)
    assert "farthest off" not in text_of(app)
    assert charts_of(app) == [f"Shares of the categories of {name} among samples" for name in named] + [alts[6]]
    assert not any("real" in frame.value.columns or "real rows (private)" in frame.value.columns for frame in app.dataframe)


def test_samples_made_elsewhere_are_private_and_their_files_have_all_rows(
    open_page: OpenPage, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = dict[str, bytes]()
    monkeypatch.setattr(page, "_download", lambda file, path, _type: made.update({path.suffix: file.content(path.suffix)}))
    sample_set(here(), run.id).records(30)
    held_out = toy_table().held_out
    assert held_out.labels is not None
    np.savez(tmp_path / "theirs.npz", rows=held_out.records, labels=held_out.labels)
    theirs = import_samples(here(), tmp_path / "theirs.npz", DatasetRef(name="toy-table"))
    app = open_page("tables", tables_run=theirs.owner)
    assert not app.error
    assert ":red-badge[:material/lock: private]" in text_of(app)
    assert "may be released" not in text_of(app)
    assert "no bound holds for them" in text_of(app)
    assert len(list(csv.DictReader(io.StringIO(made[".csv"].decode())))) == 60
    assert pq.read_table(io.BytesIO(made[".parquet"])).num_rows == 60
    app = open_page("tables", tables_run=run.id)
    assert pq.read_table(io.BytesIO(made[".parquet"])).num_rows == 30
    (box,) = app.checkbox
    assert (box.label, box.value) == ("Write numbers into the files, not ranges", True)
    assert box.help.endswith("The table above shows ranges either way.")


def test_the_page_says_whether_a_bound_protects_a_row_or_a_person(
    open_page: OpenPage, run: Run, train_here: TrainHere, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Every epsilon here protects one training record, which is one row" in text_of(open_page("tables", tables_run=run.id))
    known = load(visits(tmp_path), declared=VISITS, name="visits")
    monkeypatch.setitem(DATASETS, "visits", DatasetEntry("A table.", "visits", lambda _: known.facts, lambda _: known))
    of_persons = train_here("independent-marginals", known)
    said = text_of(open_page("tables", tables_run=of_persons.id))
    assert "Every epsilon here protects one person (patient), by at most 3 rows of each; 50 persons take part." in said
    assert "one row" not in said


def test_a_page_without_tables_says_so(open_page: OpenPage) -> None:
    assert "No run on a table has finished yet" in text_of(open_page("tables"))


def test_shares_and_associations_are_those_of_the_rows() -> None:
    facts = toy_table().facts.model_copy(update={"kind": TableKind(columns=(Column(name="a", categories=tuple(map(str, range(60)))),))})
    ones = Records(np.repeat(np.arange(60), np.arange(60))[:, None], np.repeat(np.arange(60), np.arange(60)) % 2)
    others = Records(np.zeros((4, 1), dtype=np.int64), np.array([0, 0, 0, 1]))
    by_column = shares(ones, others, facts)
    assert by_column["class"]["real"].tolist() == [0.75, 0.25]
    assert len(by_column["a"]) == MOST_CATEGORIES
    assert by_column["a"]["category"].tolist() == ["0", *map(str, range(21, 60))], "the most frequent on either side, in their order"
    assert by_column["a"]["samples"].iloc[-1] == pytest.approx(59 / 1770)
    assert list(shares(ones, None, facts)["a"].columns) == ["category", "samples"]
    table = associations(ones, facts)
    assert table.loc["a", "class"] == table.loc["class", "a"] == pytest.approx(1.0)
    assert associations(others, facts).loc["a", "class"] == 0.0


def test_how_far_columns_are_off_by_hand() -> None:
    facts = toy_table().facts.model_copy(update={"kind": unnamed_columns((2, 3))})
    real = Records(np.array([[0, 0], [0, 1], [1, 2], [1, 2]]), np.array([0, 0, 1, 1]))
    samples = Records(np.array([[0, 0], [0, 0], [1, 2], [0, 2]]), np.array([0, 0, 1, 1]))
    distances = apart(samples, real, facts)
    assert distances.columns["column"].tolist() == ["class", "column 1", "column 2"], "the target first"
    assert distances.columns["alone"].tolist() == [0, 1 / 4, 1 / 4]
    assert distances.columns["pairs"].tolist() == [1 / 4, 3 / 8, 3 / 8]
    assert distances.columns["triples"].tolist() == [1 / 2] * 3
    assert distances.pairs.to_numpy().tolist() == [[0, 1 / 4, 1 / 4], [1 / 4, 1 / 4, 1 / 2], [1 / 4, 1 / 2, 1 / 4]]
    assert distances.worst == ("column 1", 1 / 4)
    without_classes = apart(Records(samples.records), real, facts)
    assert without_classes.columns["column"].tolist() == ["column 1", "column 2"]
    assert without_classes.columns["triples"].tolist() == [1 / 2] * 2, "no more columns than there are"


def test_evaluated_runs_of_the_table_stand_side_by_side_over_their_bounds(open_page: OpenPage, run: Run) -> None:
    app = open_page("tables", tables_run=run.id)
    assert "No run on toy-table has been evaluated yet" in text_of(app)
    metrics = ["accuracy_logistic_regression", "two_way_marginals"]
    results = {result["name"]: result for result in evaluate_run(here(), run.id, 200, 0, metrics)["results"]}
    app.run()
    assert not app.exception
    assert app.selectbox(key="tables_measure").options == ["Accuracy, logistic regression", METRICS["two_way_marginals"].title]
    table = next(frame.value for frame in app.dataframe if "Line" in frame.value.columns)
    assert table["Line"][0] == f"independent-marginals, bound {run.bound.epsilon:.3g} ({run.id})"
    assert table["Accuracy, logistic regression"][0] == f"{results['accuracy_logistic_regression']['value']:.3f} (private)"
    assert {CEILING, EPSILON_ZERO, "independent columns", "majority class"} <= set(table["Line"])
    app.selectbox(key="tables_measure").set_value("two_way_marginals").run()
    (own,) = points(results_of_runs(here(), [run]), "two_way_marginals").to_dict("records")
    assert (own["epsilon"], own["value"], own["releasable"]) == (run.bound.epsilon, results["two_way_marginals"]["value"], False)
    assert f"{METRICS['two_way_marginals'].title} (private) of evaluated runs on toy-table over their bounds" in charts_of(app)
