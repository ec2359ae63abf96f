"""The recipes' results as shipped: whole, typed, of recipes that are shipped too, and copied out."""

import json
import math
import shutil
from pathlib import Path

import pandas as pd
import pytest

import workbench.measured
from workbench.evaluation import METRICS
from workbench.measured import COLUMNS, load_measured
from workbench.methods import METHODS
from workbench.recipes.lines import load_recipe
from workbench.recipes.rows import write_rows

FILES = sorted(Path(workbench.measured.__file__).parent.glob("*.csv"))
RESULTS = Path(__file__).parents[1] / "docs/results"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_is_shipped_is_what_the_results_say(path: Path, tmp_path: Path) -> None:
    anew = Path(shutil.copy(path, tmp_path))
    write_rows(load_recipe(path.stem), json.loads((RESULTS / f"{path.stem}.json").read_text())["results"], anew)
    assert path.read_text() == anew.read_text(), f"Run `workbench report docs/results/{path.stem}.json --rows {path}`."


def test_every_row_is_of_a_line_of_its_recipe_at_that_line_s_bound() -> None:
    assert FILES
    for path in FILES:
        lines = {line.name: line for line in load_recipe(path.stem).runs}
        rows = load_measured().query("recipe == @path.stem")
        assert len(rows) > 0
        for row in rows.to_dict("records"):
            line = lines[row["line"]]
            assert (row["method"], row["dataset"]) == (line.method, line.request.place.text)
            assert int(row["seed"]) in line.seeds if line.seeds else row["seed"] == ""
            met = row["claim" if line.target == "claim" else "bound"]
            assert met == math.inf if line.epsilon is None else 0.9 * line.epsilon < met <= line.epsilon


def test_no_run_is_there_twice() -> None:
    frame = load_measured()
    assert not frame.duplicated(["line", "dataset", "seed", "measure"]).any()


def test_rows_are_typed_and_say_where_they_are_from() -> None:
    frame = load_measured()
    assert tuple(frame.columns) == COLUMNS
    assert frame[["bound", "delta", "value", "ceiling"]].dtypes.eq("float64").all()
    assert frame[["run", "code", "torch", "processor", "relation"]].ne("").all(axis=None)
    assert set(frame["mark"]) <= {"private", "releasable"}
    assert set(frame["method"]) <= METHODS.keys()
    assert set(frame["measure"]) <= METRICS.keys()
    floor = frame.loc[frame["method"] == "class-moments"]
    assert floor["epsilon_zero"].isna().all()
    assert floor["claim"].eq(math.inf).all()


def test_a_caller_cannot_change_the_table() -> None:
    copy = load_measured("digits", "accuracy_logistic_regression")
    assert set(copy["dataset"]) == {"digits"}
    copy["value"] = pd.NA
    assert load_measured("digits")["value"].notna().all()
