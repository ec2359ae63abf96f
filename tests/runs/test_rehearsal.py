"""Expected time and memory: read from what a rehearsal prints, and from a rehearsal itself."""

import time

import pytest

from workbench import datasets, experiment
from workbench.privacy.ledger import Ledger
from workbench.runs.rehearsal import Rehearsal, read_lines, rehearse
from workbench.training.state import PerformanceSettings

STAGES = {"stages": {"one": 10, "two": 100}}


def test_a_stage_takes_its_steps_times_its_pace() -> None:
    lines = [STAGES, {"stage": "one", "seconds_per_step": 2.0}, {"stage": "two", "seconds_per_step": 0.5}, {"peak_bytes": 7}]
    found = read_lines(lines, now=0.0, resident=5)
    assert found is not None
    assert (found.seconds, found.peak_bytes, found.at_least) == (70.0, 7, False)


def test_a_step_that_did_not_end_is_a_lower_bound() -> None:
    lines = [STAGES, {"stage": "one", "seconds_per_step": 2.0}, {"begins": "two", "at": 100.0}]
    found = read_lines(lines, now=103.0, resident=5)
    assert found is not None
    assert (found.seconds, found.peak_bytes, found.at_least) == (320.0, 5, True)


def test_a_process_that_said_nothing_gives_nothing() -> None:
    assert read_lines([], now=0.0, resident=5) is None


@pytest.fixture
def plan() -> experiment.Plan:
    """A plan whose steps take milliseconds."""
    return experiment.make_plan("dp-merf", datasets.facts("digits"), epsilon=10, overrides={"num_features": 50, "batch_size": 8})


def test_a_rehearsal_covers_every_stage_and_spends_nothing(plan: experiment.Plan) -> None:
    lines = list(rehearse(plan, PerformanceSettings(device="cpu")))
    assert lines[0]["stages"] == {"release": 1, "generator": plan.config["steps"]}
    assert {line["stage"] for line in lines if "stage" in line} == {"release", "generator"}
    assert all(line["peak_bytes"] > 0 for line in lines if "peak_bytes" in line)
    assert Ledger().entries() == []


def test_a_rehearsal_process_reports(plan: experiment.Plan) -> None:
    rehearsal = Rehearsal(plan, PerformanceSettings(device="cpu", num_threads=1))
    while not rehearsal.poll():
        time.sleep(0.1)
    found = rehearsal.result()
    assert found is not None
    assert not found.at_least
    assert found.peak_bytes > 2**20


def test_a_stopped_rehearsal_leaves_no_process(plan: experiment.Plan) -> None:
    rehearsal = Rehearsal(plan, PerformanceSettings(device="cpu"))
    rehearsal.stop()
    assert rehearsal.poll()
