"""Expected time against the time of real runs: every method on digits at its default sizes, with fewer steps."""

from typing import Any

import pytest

from workbench import datasets, experiment
from workbench.methods import METHODS
from workbench.runs import local
from workbench.runs.pace import UNCERTAINTY, expected, known_pace
from workbench.runs.rehearsal import Rehearsal
from workbench.training.state import PerformanceSettings

FEWER: dict[str, dict[str, int]] = {
    "nonprivate": {"steps": 200},
    "dp-merf": {"steps": 400},
    "dp-promise": {"pretraining_steps": 100, "phase_one_steps": 50, "phase_two_steps": 20},
}


@pytest.mark.slow(depends=["workbench/runs/pace.py", "workbench/runs/rehearsal.py", "workbench/methods/**", "workbench/training/**"])
@pytest.mark.usefixtures("slow_home")
def test_runs_take_about_the_expected_time(figures: dict[str, Any]) -> None:
    assert set(FEWER) == set(METHODS)
    speed = PerformanceSettings(device="cpu", num_threads=1)
    rows = []
    for method, overrides in FEWER.items():
        epsilon = None if method == "nonprivate" else 10.0
        plan = experiment.make_plan(method, datasets.facts("digits"), epsilon=epsilon, overrides=overrides)
        rehearsal = Rehearsal(plan, speed)
        rehearsal.wait(600)
        pace = known_pace(plan, speed)
        assert pace is not None, rehearsal.failure
        run = local.wait(local.launch(plan, "digits", performance=speed).id, timeout_seconds=3600)
        assert run.finished
        found = expected(plan, pace)
        taken = run.finished - run.created
        row = {
            "method": method,
            "expected s": round(found.seconds, 1),
            "taken s": round(taken, 1),
            "ratio": round(found.seconds / taken, 2),
        }
        figures[method] = row
        rows.append(row)
    assert [row for row in rows if not 1 - UNCERTAINTY <= row["ratio"] <= 1 + UNCERTAINTY] == []
