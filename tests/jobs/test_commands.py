"""`workbench queue` and its commands, by the words and the JSON that they print."""

import json
from typing import Any

import pytest
from support.homes import here
from support.launchers import Nowhere
from support.sleeper import sleep_job

from workbench.cli.commands import run
from workbench.jobs.job import Terms
from workbench.jobs.launchers import LAUNCHERS
from workbench.jobs.launchers.local import visible
from workbench.jobs.lifecycle import Jobs
from workbench.jobs.queue import passing

NAP = Terms(title="sleep", cpu_share=1.0)


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """One that stands at its start and two that wait, without a queue's process."""
    monkeypatch.setitem(LAUNCHERS, "local", Nowhere())
    monkeypatch.setattr(passing, "ensure_process", lambda _: None)
    return [passing.submit(here(), sleep_job(here(), name, terms=NAP).id).id for name in "abc"]


def listed(capsys: pytest.CaptureFixture[str], *command: str) -> Any:
    assert run(["queue", *command, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def order(listing: Any) -> list[tuple[str, int]]:
    return [(job["job"], job["place"]) for job in listing["jobs"]]


def test_nothing_is_listed_where_nothing_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["queue"]) == 0
    assert capsys.readouterr().out == "Nothing is at work and nothing waits.\n"
    assert not here().registry.exists()


def test_the_queue_is_listed_and_reordered(jobs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    a, b, c = jobs
    assert order(listed(capsys)) == [(a, 0), (b, 1), (c, 2)]
    assert order(listed(capsys, "move", c, "1")) == [(a, 0), (c, 1), (b, 2)]
    listing = listed(capsys, "priority", b, "3")
    assert order(listing) == [(a, 0), (b, 1), (c, 2)]
    assert listing["jobs"][1]["reason"] == "it waits for a place on the CPU, which has 1 for runs"
    assert order(listed(capsys, "cpu-runs", "2")) == [(a, 0), (b, 0), (c, 1)]


def test_a_pause_is_said_and_ended(jobs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["queue", "pause"]) == 0
    assert "The queue is paused; `workbench queue resume` goes on." in capsys.readouterr().out
    assert listed(capsys)["paused"]
    assert not listed(capsys, "resume")["paused"]


def test_jobs_are_cancelled_and_retried(jobs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    a, b, c = jobs
    assert [row["job"] for row in listed(capsys, "cancel", "--waiting")] == [b, c]
    Jobs(here()).change(a, {"starting"}, "failed", state="failed")
    assert [(row["job"], row["state"]) for row in listed(capsys, "retry", "--all")] == [(a, "starting")]
    assert [(row["job"], row["state"]) for row in listed(capsys, "retry", c)] == [(c, "queued")]
    assert {row["job"]: row["state"] for row in listed(capsys, "cancel", "--all")} == {a: "cancelling", c: "cancelled"}
    assert run(["queue", "retry", "--all"]) == 0
    assert capsys.readouterr().out == "Nothing has failed or was lost.\n"
    assert run(["queue", "cancel"]) == 2
    assert "Expected ids of jobs, --all or --waiting, one of them." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("seen", "device", "expected"),
    [("", "cuda:1", {"CUDA_VISIBLE_DEVICES": "1"}), ("4,6", "cuda:1", {"CUDA_VISIBLE_DEVICES": "6"}), ("4", "cpu", {}), ("", "cuda", {})],
)
def test_a_worker_sees_the_gpu_that_it_was_given(seen: str, device: str, expected: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", seen)
    assert visible(device) == expected
