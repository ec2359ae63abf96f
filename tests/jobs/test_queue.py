"""The queue with real processes that sleep: order, capacity, and whatever dies being no loss and starting nothing twice."""

import math
import multiprocessing
import os
import time
from collections.abc import Callable
from itertools import pairwise

import psutil
import pytest
from support.homes import here
from support.sleeper import MEASURE, PATHS, RUN, sleep_job, wake
from support.sleepers.sitecustomize import sleeper_command

from workbench.errors import WorkbenchError
from workbench.jobs import control
from workbench.jobs.job import LAUNCH_SECONDS, Terms
from workbench.jobs.launchers import local
from workbench.jobs.lifecycle import Jobs
from workbench.jobs.queue import orders, passing
from workbench.jobs.queue.line import line
from workbench.jobs.starting import claim, start

PATIENCE = 60.0


@pytest.fixture(autouse=True)
def sleepers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers of this test's processes sleep."""
    monkeypatch.setattr(local, "worker_command", sleeper_command)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, PATHS)))


def submit(name: str, seconds: float = 0.0, terms: Terms = RUN, **request: object) -> str:
    return passing.submit(here(), sleep_job(here(), name, seconds, terms, **request).id).id


def state(job_id: str) -> str:
    return Jobs(here()).get(job_id).state


def begun() -> list[str]:
    """The names of the sleepers in the order in which they began, each as often as it did."""
    path = here().home / "begun.txt"
    return path.read_text().split() if path.exists() else []


def queue_process() -> psutil.Process | None:
    """The process that passes over the queue of this test's home, if there is one."""
    lock = here().home / passing.LOCK
    if not lock.exists() or not (text := lock.read_text().strip()) or not psutil.pid_exists(int(text)):
        return None
    process = psutil.Process(int(text))
    return process if process.status() != psutil.STATUS_ZOMBIE and "workbench.jobs.queue.process" in process.cmdline() else None


def until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"waited too long for {what}"
        time.sleep(0.05)


def kill_queue(not_this: psutil.Process | None = None) -> psutil.Process:
    """Kill the queue's process, or the one that came in the place of another."""
    until(lambda: queue_process() not in (None, not_this), "a queue")
    process = queue_process()
    assert process is not None
    process.kill()
    return process


def ended(*jobs: str) -> None:
    """Wait until these jobs are done, without looking after the queue."""
    until(lambda: {state(job) for job in jobs} == {"done"}, "all to be done")


def test_runs_go_one_by_one_in_order_of_priority_and_turn_and_a_measure_goes_beside() -> None:
    first = submit("first", gated=True)
    low, late, high = submit("low"), submit("late"), submit("high")
    nap = submit("nap", 0.1, MEASURE)
    assert state(first) in ("starting", "running")
    assert [state(job) for job in (low, late, high)] == ["queued", "queued", "queued"]
    orders.set_priority(here(), high, 5)
    orders.move(here(), late, 2)
    waiting = [entry for entry in line(here()).entries if entry.place]
    assert [(entry.job.id, entry.place) for entry in waiting] == [(high, 1), (late, 2), (low, 3)]
    assert waiting[0].reason == "it waits for a place on the CPU, which has 1 for runs"
    ended(nap)
    wake(here())
    ended(first, low, late, high)
    assert [name for name in begun() if name != "nap"] == ["first", "high", "late", "low"]
    lives = [Jobs(here()).get(job) for job in (first, high, late, low)]
    assert all(one.finished <= two.started for one, two in pairwise(lives) if one.finished and two.started)
    assert (Jobs(here()).get(nap).started or math.inf) < (Jobs(here()).get(first).finished or 0.0)
    until(lambda: queue_process() is None, "the queue to go when idle")


def test_so_many_at_once_as_are_set_and_one_more_by_request() -> None:
    orders.set_cpu_runs(here(), 2)
    jobs = [submit(name, 20.0) for name in "abcd"]
    assert [state(job) == "queued" for job in jobs] == [False, False, True, True]
    assert start(here(), jobs[3]).state == "starting"
    control.cancel_all(here(), at_work=False)
    assert state(jobs[2]) == "cancelled"
    until(lambda: len(begun()) == 3, "three to begin")
    assert sorted(begun()) == ["a", "b", "d"]
    control.cancel_all(here())


def test_a_killed_queue_is_started_again_by_whoever_looks_and_starts_nothing_twice() -> None:
    jobs = [submit(name, gated=True) for name in "abc"]
    first = kill_queue()
    control.wait(here(), jobs[2], 1.0)  # who waits looks more than once: a dying process may hold its lock for a moment
    second = kill_queue(not_this=first)
    control.wait(here(), jobs[2], 1.0)
    assert first != second
    wake(here())
    ended(*jobs)
    assert begun() == ["a", "b", "c"]


def test_a_worker_that_dies_gives_its_place_and_is_tried_again_when_asked() -> None:
    dying, after = submit("dying", deaths=1), submit("after")
    ended(after)
    assert (state(dying), Jobs(here()).get(dying).attempt) == ("lost", 1)
    assert control.resume(here(), dying).attempt == 2
    ended(dying)
    assert begun() == ["dying", "after", "dying"]


def test_who_dies_between_a_claim_and_its_process_loses_nothing() -> None:
    job = sleep_job(here(), "a")
    with Jobs(here()).database.transaction() as connection:
        claim(connection, job, "cpu")
    assert state(job.id) == "starting"
    Jobs(here()).change(job.id, {"starting"}, "aged", heartbeat=time.time() - LAUNCH_SECONDS - 1)
    assert state(job.id) == "queued"
    line(here())
    ended(job.id)
    assert (begun(), Jobs(here()).get(job.id).attempt) == (["a"], 2)


def test_two_queues_never_run_at_once() -> None:
    submit("a", gated=True)
    waiting = submit("b")
    until(queue_process, "a queue")
    only = queue_process()
    for _ in range(3):
        passing.ensure_process(here())
    assert queue_process() == only
    lock = passing.take(here().home / passing.LOCK)
    assert lock is None
    wake(here())
    ended(waiting)


def test_a_paused_queue_starts_nothing_and_has_no_process() -> None:
    first = submit("a", gated=True)
    orders.pause(here())
    second = submit("b")
    assert [entry.reason for entry in line(here()).entries if entry.place] == ["the queue is paused"]
    wake(here())
    ended(first)
    until(lambda: queue_process() is None, "the queue to go")
    assert state(second) == "queued"
    orders.unpause(here())
    ended(second)


def test_all_are_cancelled_and_none_begins_meanwhile() -> None:
    jobs = [submit(name, 30.0) for name in "abc"]
    until(begun, "the first to begin")
    cancelled = control.cancel_all(here())
    assert {job.id for job in cancelled} == set(jobs)
    until(lambda: {state(job) for job in jobs} == {"cancelled"}, "all to be cancelled")
    assert begun() == ["a"]
    assert control.resume(here(), jobs[1]).state == "starting", "a cancelled one may wait again"
    control.cancel_all(here())


def submit_one(number: int) -> str:
    return submit(f"s{number % 4}", 0.5)


def test_twenty_submitters_of_four_jobs_at_once() -> None:
    with multiprocessing.get_context("fork").Pool(20) as pool:
        jobs = set(pool.map(submit_one, range(20), chunksize=1))
    assert len(jobs) == 4
    ended(*jobs)
    assert sorted(begun()) == ["s0", "s1", "s2", "s3"]
    lives = sorted((Jobs(here()).get(job) for job in jobs), key=lambda job: job.started or 0)
    assert all((one.finished or 0) <= (two.started or 0) for one, two in pairwise(lives)), "never two at once"


def test_a_submitter_that_dies_leaves_its_job_to_the_others() -> None:
    sleep_job(here(), "left")
    first = submit("next", 0.2)
    ended(first)
    assert begun() == ["left", "next"]


@pytest.mark.parametrize("place", [0, 3])
def test_a_place_that_there_is_not_is_refused(place: int) -> None:
    submit("a", 20.0)
    jobs = [submit("b"), submit("c")]
    with pytest.raises(WorkbenchError, match=f"Expected a place from 1 to 2 in the queue, got {place}"):
        orders.move(here(), jobs[0], place)
    with pytest.raises(WorkbenchError, match="cannot be moved: expected it to be queued, it is"):
        orders.move(here(), Jobs(here()).all()[-1].id, 1)
    control.cancel_all(here())
