"""How long jobs are expected to take: by a measured pace, by runs alike, by the last of a task; never made up."""

from typing import Any

import pytest
from runs.test_store import create
from support.homes import here

from workbench.jobs.job import Terms
from workbench.jobs.launchers import LAUNCHERS
from workbench.jobs.lifecycle import Jobs
from workbench.runs.lengths import lengths
from workbench.runs.pace import Line, Pace, Steps, keep, place_of
from workbench.runs.run import Run
from workbench.runs.store import RunStore
from workbench.training.state import PerformanceSettings


def made(**life: Any) -> Run:
    run = create()
    return RunStore(here()).change(run.id, {"queued"}, "started", **life) if life else run


def expected(run: Run) -> float | None:
    return lengths(here())(Jobs(here()).get(run.id))


def test_what_nothing_tells_is_not_known() -> None:
    assert expected(made()) is None
    nap = Jobs(here()).register("nap", "", {}, Terms(title="nap"))
    assert lengths(here())(nap) is None


def test_a_training_takes_as_long_as_one_alike_and_what_is_left_of_it() -> None:
    made(state="done", started=100.0, finished=140.0)
    assert expected(made()) == 40.0
    assert expected(made(state="cancelled", step=4, started=5.0, finished=9.0)) == pytest.approx(24.0)


def test_one_at_work_tells_by_its_pace_so_far() -> None:
    made(state="running", process=LAUNCHERS["local"].own(), started=100.0, heartbeat=110.0, step=5)
    assert expected(made()) == pytest.approx(20.0)


def test_a_measured_pace_comes_first() -> None:
    made(state="done", started=100.0, finished=140.0)
    run = made()
    steps = Steps(points=((1.0, 2.0),), spread=1.0)
    stages = {stage.name: steps for stage in run.plan.stages}
    pace = Pace(stages=stages, memory=Line(fixed=1.0, per_row=0.0), starting=1.0, device="cpu")
    keep(pace, place_of(here(), run.plan, PerformanceSettings.model_validate(run.performance)))
    assert expected(run) == 1.0 + sum(2.0 * stage.steps for stage in run.plan.stages)


def test_another_job_takes_what_the_last_of_its_task_took() -> None:
    for number, seconds in enumerate((5.0, 7.0, 90.0)):
        job = Jobs(here()).register("nap", "", {"number": number}, Terms(title="nap"))
        Jobs(here()).change(job.id, {"queued"}, "done", state="done", started=10.0, finished=10.0 + seconds)
    assert lengths(here())(Jobs(here()).register("nap", "", {}, Terms(title="nap"))) == 7.0
