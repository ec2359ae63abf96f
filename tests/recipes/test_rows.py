"""A recipe's results as rows of a table."""

from pathlib import Path

import pandas as pd
import pytest

from workbench.cli import main
from workbench.errors import WorkbenchError
from workbench.measured import WRITTEN
from workbench.recipes import report
from workbench.recipes.rows import result_rows, write_rows

ROOT = Path(__file__).parents[2]


def test_every_value_of_every_run_is_a_row_with_its_provenance() -> None:
    recipe, results = report.recipe_with_results(ROOT / "docs/results/floor.json")
    rows = list(result_rows(recipe, results))
    assert len(rows) == sum(len(result["evaluation"]["results"]) for result in results) == 54
    assert {tuple(row) for row in rows} == {WRITTEN}
    result, row = results[0], rows[0]
    entry = result["evaluation"]["results"][0]
    assert (row["line"], row["dataset"], row["run"], row["seed"]) == (result["name"], "digits", result["run"], 0)
    assert row["value"] == pytest.approx(entry["value"], rel=1e-5)
    assert (row["low"], row["high"]) == pytest.approx(entry["interval"], rel=1e-5)
    assert (row["mark"], row["epsilon_zero"], row["epsilon_zero_mark"]) == ("private", "", "")
    assert row["code"] == result["environments"][-1]["workbench"]


def test_a_line_that_the_recipe_does_not_have_is_refused() -> None:
    recipe, results = report.recipe_with_results(ROOT / "docs/results/floor.json")
    with pytest.raises(WorkbenchError, match="recipe's own lines, got 'another'"):
        list(result_rows(recipe, [{**results[0], "name": "another"}]))


def test_the_report_command_writes_them_and_can_leave_the_private_ones_out(tmp_path: Path) -> None:
    file, rows = tmp_path / "floor.json", tmp_path / "rows.csv"
    file.write_text((ROOT / "docs/results/floor.json").read_text())
    for options, count in (([], 54), (["--releasable"], 0)):
        with pytest.raises(SystemExit) as ended:
            main(["report", str(file), "--rows", str(rows), *options])
        assert ended.value.code == 0
        frame = pd.read_csv(rows)
        assert (tuple(frame.columns), len(frame)) == (WRITTEN, count)


def test_rows_of_other_lines_stay(tmp_path: Path) -> None:
    recipe, results = report.recipe_with_results(ROOT / "docs/results/floor.json")
    first = results[0]["name"]
    path = tmp_path / "rows.csv"
    write_rows(recipe, [result for result in results if result["name"] == first], path)
    others = [result for result in results if result["name"] != first]
    write_rows(recipe, others, path)
    assert pd.read_csv(write_rows(recipe, others, path))["line"].nunique() == len(recipe.runs)
    path.write_text("another,table\n1,2\n")
    with pytest.raises(WorkbenchError, match="got others"):
        write_rows(recipe, others, path)
