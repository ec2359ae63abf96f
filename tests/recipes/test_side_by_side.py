"""Runs of one table side by side: means over seeds, marks, real and simple rows beneath, and what is refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.homes import here

from workbench import runs
from workbench.cli import main
from workbench.datasets import load
from workbench.datasets.reference import DatasetRef
from workbench.errors import WorkbenchError
from workbench.experiment import make_plan
from workbench.jobs.heartbeat import StopSignal
from workbench.recipes.side_by_side import CEILING, EPSILON_ZERO, LARGEST, as_markdown, results_of_runs, side_by_side
from workbench.runs import finished
from workbench.runs.store import RunStore
from workbench.tasks import worker

ROOT = Path(__file__).parents[2]
ERROR = "two_way_marginals"


def result(method: str, bound: float | str, value: float | None) -> dict[str, Any]:
    entry = {"name": ERROR, "value": value, "ceiling": 0.02, "epsilon_zero": 0.6, "baselines": {"independent columns": 0.08}}
    return {"name": f"{method}, {bound}", "method": method, "bound": {"epsilon": bound}, "evaluation": {"results": [entry]}}


def test_lines_stand_by_method_and_bound_above_real_and_simple_rows() -> None:
    rows = side_by_side([result("mst", 1.0, 0.05), result("aim", 0.2, 0.06), result("aim", 10.0, 0.02), result("aim", 10.0, 0.04)])
    assert [row["line"] for row in rows] == ["aim, 10.0", "aim, 0.2", "mst, 1.0", CEILING, EPSILON_ZERO, "independent columns"]
    assert [row[ERROR] for row in rows] == [
        *("0.030 ± 0.014 (private)", "0.060 (private)", "0.050 (private)", "0.020 (private)", "0.600 (private)", "0.080 (private)")
    ]
    assert list(rows[0]) == ["line", "bound", ERROR], "what nobody measured has no column"
    assert "| independent columns | none | 0.080 (private) |" in as_markdown(rows)
    with pytest.raises(WorkbenchError, match="Expected runs that have been evaluated"):
        side_by_side([result("mst", 1.0, None)])


def test_the_largest_class_stands_beneath_accuracies() -> None:
    entry = {"name": "accuracy_logistic_regression", "value": 0.58, "ceiling": 0.9, "epsilon_zero": 0.5, "largest_class": 0.6}
    line = {"name": "a", "method": "aim", "bound": {"epsilon": 1.0}}
    both = [entry, {"name": ERROR, "value": 0.05}]
    rows = {row["line"]: row for row in side_by_side([line | {"evaluation": {"results": both}}])}
    assert rows[LARGEST] == {"line": LARGEST, "bound": "none", entry["name"]: "0.600 (private)", ERROR: "-"}
    assert LARGEST not in [row["line"] for row in side_by_side([line | {"evaluation": {"results": both[1:]}}])]


def test_runs_of_a_table_are_compared_by_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    workspace, facts = here(), load("breast-cancer").facts
    ids = []
    for epsilon in (1.0, 10.0):
        plan = make_plan("independent-marginals", facts, epsilon=epsilon)
        run = runs.register(workspace, plan, DatasetRef.parse("breast-cancer"))
        RunStore(workspace).change(run.id, {"queued"}, "started", state="starting", attempt=1)
        worker.take_on(workspace, run.id, 1, StopSignal())
        capsys.readouterr()
        finished.evaluate_run(workspace, run.id, 100, metrics=[ERROR, "target_share"])
        ids.append(run.id)
    with pytest.raises(SystemExit) as ended:
        main(["compare", *ids, "--json"])
    assert ended.value.code == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["bound"] for row in rows[:3]] == ["9.983", "0.9985", "none"]
    assert rows[2]["line"] == CEILING
    assert list(rows[0]) == ["line", "bound", "target_share", ERROR]
    assert {row[ERROR][-9:] for row in rows if row["line"] != "majority class"} == {"(private)"}
    with pytest.raises(SystemExit):
        main(["compare", *ids, "--releasable"])
    assert "Expected runs that have been evaluated" in capsys.readouterr().err
    with pytest.raises(SystemExit) as ended:
        main(["evaluate", ids[0], "--num", "100", "--ways", "4", "--json"])
    assert ended.value.code == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out)["results"]] == ["four_way_marginals"]
    stored = [RunStore(workspace).get(run) for run in ids]
    other = stored[1].model_copy(update={"plan": stored[1].plan.model_copy(update={"facts": load("patients").facts})})
    with pytest.raises(WorkbenchError, match="Expected runs of one table"):
        results_of_runs(workspace, [stored[0], other])


def test_a_recipe_s_results_are_compared_from_their_file(capsys: pytest.CaptureFixture[str]) -> None:
    file = ROOT / "docs/results/adult.json"
    lines = [result["evaluation"]["results"] for result in json.loads(file.read_text())["results"] if result["name"] == "aim, bound 1"]
    values = [measure["value"] for line in lines for measure in line if measure["name"] == ERROR]
    with pytest.raises(SystemExit) as ended:
        main(["compare", str(file), "--markdown", "--metric", ERROR])
    assert ended.value.code == 0
    table = capsys.readouterr().out
    assert len(values) == 3
    assert f"| aim, bound 1 | 0.9985 | {np.mean(values):.3f} ± {np.std(values, ddof=1):.3f} (private) |" in table
    assert "| independent columns | none | 0.081" in table
