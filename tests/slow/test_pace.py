"""Expected time against the time of real runs: every method on digits at its default sizes, each stage for some ten seconds."""

from typing import Any

import pytest
from support.homes import here

from workbench import datasets, experiment, runs
from workbench.errors import WorkbenchError
from workbench.jobs import control
from workbench.methods import METHODS
from workbench.methods.fields import dotted, with_values
from workbench.runs.pace import Pace, expectation_of, known_pace
from workbench.tasks import rehearsing
from workbench.training.state import PerformanceSettings

STAGE_SECONDS = 10.0  # long enough that the pace of steps decides and not the start, short enough for three minutes in all
MOST_STEPS = 5000
WITHIN = 0.5  # share of the expected time by which a run may take longer or shorter
SPEED = PerformanceSettings(device="cpu", num_threads=1)


def dataset_of(method: str) -> str:
    """The bundled dataset that the method takes."""
    return "digits" if "image" in METHODS[method].kinds else "breast-cancer"


def plan_of(method: str, overrides: dict[str, int] | None = None) -> experiment.Plan:
    """The method's default plan on digits, or on the bundled table; of a claim where nothing bounds it."""
    facts, given = datasets.facts(dataset_of(method)), overrides or {}
    if not METHODS[method].calibrated_fields:
        return experiment.make_plan(method, facts, settings=given)
    try:
        return experiment.make_plan(method, facts, epsilon=10.0, settings=given)
    except WorkbenchError as error:
        if "Use the target 'claim'" not in str(error):
            raise
        return experiment.make_plan(method, facts, epsilon=10.0, target="claim", settings=given)


def steps_for(method: str, plan: experiment.Plan, pace: Pace) -> dict[str, int]:
    """Steps of each stage that take about `STAGE_SECONDS`: of the fields called steps, those that change a stage's number."""
    built, stages = plan.build(), {stage.stage: stage for stage in expectation_of(plan, pace).stages}
    before = {stage.name: stage.steps for stage in built.stages(plan.facts)}
    steps = {}
    for field, value in dotted(plan.config).items():
        if field.rpartition(".")[2] == "steps":
            more = type(built)(with_values(built.config, {field: value + 1})).stages(plan.facts)
            seconds = sum(stages[stage.name].seconds / stage.steps for stage in more if stage.steps != before[stage.name])
            steps |= {field: max(2, min(MOST_STEPS, round(STAGE_SECONDS / seconds)))} if seconds else {}
    if not steps:
        pytest.skip(f"{method} takes few steps, of a second each: starting decides")
    return steps


DEPENDS = ["workbench/runs/pace.py", "workbench/runs/rehearsal.py", "workbench/runs/fitting.py"]


@pytest.mark.slow(depends=[*DEPENDS, "workbench/methods/*.py", "workbench/methods/{method}/**", "workbench/training/**"])
@pytest.mark.usefixtures("slow_home")
@pytest.mark.parametrize("method", METHODS)
def test_a_run_takes_about_the_expected_time(method: str, figures: dict[str, Any]) -> None:
    whole = plan_of(method)
    job = control.wait(here(), rehearsing.begin(here(), whole, SPEED).id, 300)
    pace = known_pace(here(), whole, SPEED)
    assert pace is not None, job.error
    plan = plan_of(method, steps_for(method, whole, pace))
    assert known_pace(here(), plan, SPEED) == pace, "other numbers of steps need no other measurement"
    run = runs.wait(here(), runs.launch(here(), plan, dataset_of(method), performance=SPEED).id, timeout_seconds=900)
    assert run.state == "done", run.error
    assert run.seconds_running is not None
    expected = expectation_of(plan, pace)
    ratio = run.seconds_running / expected.seconds
    figures |= {"expected (s)": round(expected.seconds, 1), "taken (s)": round(run.seconds_running, 1), "taken / expected": round(ratio, 2)}
    figures["steps"] = ", ".join(f"{stage.stage} {stage.steps}: {stage.seconds:.1f} s" for stage in expected.stages)
    assert 1 - WITHIN <= ratio <= 1 + WITHIN
