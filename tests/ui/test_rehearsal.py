"""Expected time and memory: read from what a rehearsal prints, and from a rehearsal itself."""

import time

import pytest

from workbench import datasets, experiment
from workbench.training.state import PerformanceSettings
from workbench.ui.rehearsal import Rehearsal, read_lines, rehearse

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


def test_a_rehearsal_covers_every_stage_and_spends_nothing() -> None:
    plan = experiment.make_plan("dp-merf", datasets.facts("digits"), epsilon=10, overrides={"num_features": 50, "batch_size": 8})
    lines = list(rehearse(plan, PerformanceSettings(device="cpu")))
    assert lines[0]["stages"] == {"release": 1, "generator": 1500}
    assert {line["stage"] for line in lines if "stage" in line} == {"release", "generator"}
    assert all(line["peak_bytes"] > 0 for line in lines if "peak_bytes" in line)


def test_a_rehearsal_process_ends_at_its_limit() -> None:
    plan = experiment.make_plan("dp-merf", datasets.facts("digits"), epsilon=10)
    rehearsal = Rehearsal(plan, PerformanceSettings(device="cpu"), limit_seconds=0.2)
    began = time.monotonic()
    while not rehearsal.poll():
        time.sleep(0.05)
    assert time.monotonic() - began < 5.0
    assert rehearsal.result() is None


@pytest.mark.parametrize("limit", [60.0])
def test_a_rehearsal_process_reports(limit: float) -> None:
    plan = experiment.make_plan("dp-merf", datasets.facts("digits"), epsilon=10, overrides={"num_features": 50, "batch_size": 8})
    rehearsal = Rehearsal(plan, PerformanceSettings(device="cpu", num_threads=1), limit_seconds=limit)
    while not rehearsal.poll():
        time.sleep(0.1)
    found = rehearsal.result()
    assert found is not None
    assert not found.at_least
    assert found.peak_bytes > 2**20
