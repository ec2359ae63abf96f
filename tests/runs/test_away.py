"""Runs whose workers cannot reach the home: what they are told, what they tell, who may write, and what is counted."""

import errno
import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from support.homes import here
from support.launchers import KilledError, Line, Nowhere, after_step, kill

from workbench import runs
from workbench.errors import WorkbenchError
from workbench.files import READ_ONLY
from workbench.jobs import control, room
from workbench.jobs.away.post import PREEMPTED, Post
from workbench.jobs.job import AT_WORK
from workbench.jobs.launchers import LAUNCHERS, Resources, Status
from workbench.jobs.lifecycle import Jobs
from workbench.jobs.queue.passing import tend
from workbench.plan import Plan
from workbench.privacy.spending.ledger import Ledger
from workbench.runs.folder import RunFolder
from workbench.runs.run import Run
from workbench.runs.store import RunStore
from workbench.tasks import worker
from workbench.tasks.measuring import Evaluate
from workbench.training.state import load_saved

Make = Callable[..., Run]
PlanMaker = Callable[..., Plan]


def counts(run_id: str) -> dict[str, tuple[int, int]]:
    return {stage.stage: (stage.charged, stage.charged_again) for stage in Ledger(here().ledger).spent(run_id) if stage.spent != "free"}


def now(run: Run) -> Run:
    return RunStore(here()).get(run.id)


def model(run: Run) -> dict[str, torch.Tensor]:
    modules = load_saved(RunFolder(here(), run.id).model)["modules"]
    return {f"{name}.{key}": value for name, module in modules.items() for key, value in module.items()}


def assert_same_model(one: Run, other: Run) -> None:
    left, right = model(one), model(other)
    assert left.keys() == right.keys()
    assert all(torch.equal(left[name], right[name]) for name in left)


@pytest.mark.parametrize("method", ["nonprivate", "dp-merf", "private-evolution"])
def test_a_run_elsewhere_ends_as_one_here(method: str, sent: Make, line: Line, quick_plan: PlanMaker, train_here: Make) -> None:
    run = sent(method)
    assert (now(run).state, now(run).reason) == ("pending", "Slurm: Priority")
    assert all(pair == (0, 0) for pair in counts(run.id).values())
    assert line.do() == 0
    done, alone = now(run), train_here(quick_plan(method), seed=3)
    assert (done.state, done.step, done.epsilon_spent, done.bound) == ("done", alone.steps, alone.epsilon_spent, alone.bound)
    assert done.charged == alone.charged
    assert counts(run.id) == counts(alone.id)
    assert [entry.closed_at is None for entry in Ledger(here().ledger).entries()] == [False, False]
    assert_same_model(done, alone)
    assert not list(Path(RunFolder(here(), run.id).path).glob("checkpoint*"))


def test_what_was_charged_elsewhere_counts_though_nobody_came_back(sent: Make, line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    run = sent("nonprivate")
    after_step(3, kill, monkeypatch)
    with pytest.raises(KilledError):
        line.do()
    assert {charged for charged, _ in counts(run.id).values()} == {3}
    assert now(run).state == "lost"


def test_a_requeued_job_is_taken_back_and_repeats_its_steps(
    sent: Make, line: Line, monkeypatch: pytest.MonkeyPatch, quick_plan: PlanMaker, train_here: Make
) -> None:
    run = sent("nonprivate")
    handle = dict(line.waiting[0])
    after_step(3, kill, monkeypatch)
    with pytest.raises(KilledError):
        line.do()
    line.said[handle["job"]] = Status("pending", "Slurm: BeginTime")
    assert (now(run).state, now(run).reason, now(run).attempt) == ("pending", "Slurm: BeginTime", 1)
    assert line.do(handle) == 0
    alone = train_here(quick_plan("nonprivate"), seed=3)
    assert_same_model(now(run), alone)
    assert counts(run.id) == counts(alone.id), "no step is counted twice"


def test_an_attempt_that_its_engine_ended_is_followed_by_another(sent: Make, line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    run = sent("nonprivate")
    first = dict(line.waiting[0])
    after_step(3, kill, monkeypatch)
    with pytest.raises(KilledError):
        line.do()
    line.said[first["job"]] = Status("ended", "Slurm: NODE_FAIL", is_due=True)
    assert now(run).state == "queued"
    tend(here())
    assert (now(run).state, now(run).attempt) == ("pending", 2)
    with pytest.raises(WorkbenchError, match="Expected attempt 2, got a process that was started for attempt 1"):
        line.do(first)
    assert line.do() == 0
    assert now(run).state == "done"


def test_an_orphan_neither_writes_nor_goes_uncounted(sent: Make, line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    """The orphan charges a step, another process takes over and draws anew: the orphan stops, and its steps count beside."""
    run = sent("nonprivate")
    folder = RunFolder(here(), run.id)
    written = []

    def take_over() -> None:
        Post.take(folder.path / "away", 1)
        written.append((folder.checkpoint.read_bytes(), folder.metrics.read_text()))

    after_step(3, take_over, monkeypatch)
    line.do()
    assert written == [(folder.checkpoint.read_bytes(), folder.metrics.read_text())]
    assert {charged for charged, _ in counts(run.id).values()} == {4}, "charged before it looked"
    Post(folder.path / "away", 2, 1).journal.charge("another", "training", 2, 5)
    assert counts(run.id) == {"training": (5, 2)}, "steps 1 to 4, and 3 to 5 with other noise"
    assert now(run).state != "done"


def test_a_job_that_waited_long_in_the_line_of_its_engine_is_taken_on(sent: Make, line: Line) -> None:
    run = sent("nonprivate")
    order = RunFolder(here(), run.id).path / "away" / "order.json"
    document = json.loads(order.read_text())
    document["job"] |= dict.fromkeys(("created", "started", "heartbeat"), document["job"]["created"] - 100000.0)
    order.write_text(json.dumps(document))
    assert line.do() == 0
    assert now(run).state == "done"


def test_no_answer_is_a_suspicion_and_no_end(sent: Make, line: Line) -> None:
    run = sent("nonprivate")
    line.said[line.waiting[0]["job"]] = Status("unknown")
    RunStore(here()).change(run.id, {"pending", "starting"}, "aged", heartbeat=1.0, state="running")
    assert now(run).state == "running"


def test_one_question_for_many_jobs(sent: Make, line: Line) -> None:
    made = [sent("nonprivate", seed=number) for number in range(3)]
    line.asked = 0
    assert {run.state for run in RunStore(here()).list()} == {"pending"}
    assert (line.asked, len(made)) == (1, 3)


def test_a_clone_trains_where_the_first_did_with_what_was_asked_for_it(sent: Make, line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    first = sent("nonprivate", resources=Resources(minutes=7))
    jobs = Jobs(here())
    again = runs.clone(here(), first.id)
    assert (again.launcher, again.state, jobs.get(again.id).terms.asked.minutes) == ("line", "pending", 7)
    more = runs.clone(here(), first.id, resources=Resources(minutes=9))
    assert (more.launcher, jobs.get(more.id).terms.asked.minutes) == ("line", 9)
    monkeypatch.setitem(LAUNCHERS, "local", Nowhere())
    here_instead = runs.clone(here(), first.id, on="local")
    assert (here_instead.launcher, jobs.get(here_instead.id).terms.asked.minutes) == ("local", 0)
    assert len(line.waiting) == 3


def test_what_is_no_training_stays_where_the_registry_is(sent: Make, line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    run = sent("nonprivate")
    assert line.do() == 0
    monkeypatch.setitem(LAUNCHERS, "local", Nowhere())
    measure = Evaluate().begin(here(), run.id, {})
    assert control.cancel(here(), measure.id, 0.0).state in {"cancelled", "cancelling"}
    Jobs(here()).beat(measure.id, measure.attempt, state="cancelled")
    with pytest.raises(WorkbenchError, match=r"is no training .* Resume it without `--on`"):
        runs.resume(here(), measure.id, on="line")
    assert Jobs(here()).get(measure.id).launcher == "local"


def test_a_full_disk_elsewhere_pauses_the_run_until_its_folder_has_room(
    sent: Make, line: Line, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, quick_plan: PlanMaker, train_here: Make
) -> None:
    monkeypatch.setenv("WORKBENCH_SHARED", str(tmp_path / "shared"))
    run = sent("nonprivate")
    has_room, looked_at, waited = [False], set[Path](), []
    whole = Post.report

    def look(folder: Path, needed: int) -> bool:
        assert needed >= room.LEAST_BYTES
        looked_at.add(folder)
        return has_room[0]

    def report(self: Post, job: dict[str, Any], of_run: dict[str, Any] | None, ended: bool = False, durable: bool = False) -> None:
        if ended and len(waited) < 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        whole(self, job, of_run, ended, durable)

    def fill() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(room, "has_room", look)
    with monkeypatch.context() as patched:
        patched.setattr(Post, "report", report)
        patched.setattr(worker, "time", SimpleNamespace(time=time.time, sleep=waited.append))
        after_step(3, fill, patched)
        assert line.do() == 0
    paused = now(run)
    assert (paused.state, len(waited)) == ("paused", 2), "its last word waits for room too"
    shared = (tmp_path / "shared" / run.id).resolve()
    assert f"are free in {shared}" in str(paused.error)
    tend(here())
    assert (now(run).state, looked_at) == ("paused", {shared}), "the home's disk is another"
    has_room[0] = True
    tend(here())
    assert now(run).state == "pending"
    assert line.do() == 0
    assert_same_model(now(run), train_here(quick_plan("nonprivate"), seed=3))


def test_cancelled_in_the_line_and_at_work(sent: Make, line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    run = sent("nonprivate")
    control.request_cancel(here(), run.id)
    assert (now(run).state, counts(run.id)) == ("cancelled", {"training": (0, 0)})
    runs.resume(here(), run.id)

    def cancel() -> None:
        control.request_cancel(here(), run.id)
        time.sleep(0.3)

    after_step(2, cancel, monkeypatch)
    monkeypatch.setattr("workbench.jobs.heartbeat.BEAT_SECONDS", 0.05)
    line.waiting.pop(0)
    assert line.do() == 0
    assert (now(run).state, now(run).step, counts(run.id)) == ("cancelled", 3, {"training": (3, 0)})


def test_a_signal_without_a_word_of_the_owner_ends_nothing(sent: Make, line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that wants its machine back: the checkpoint is kept, and the same job goes on later."""
    run = sent("nonprivate")
    handle = dict(line.waiting[0])
    after_step(2, lambda: os.kill(os.getpid(), signal.SIGTERM), monkeypatch)
    assert line.do() == PREEMPTED
    line.said[handle["job"]] = Status("running")
    assert now(run).state in AT_WORK
    assert line.do(handle) == 0
    assert (now(run).state, now(run).resumed_at, counts(run.id)) == ("done", 3, {"training": (run.steps, 0)})


def test_records_that_are_others_where_they_arrive_are_refused(sent: Make, line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    run = sent("nonprivate")
    order = RunFolder(here(), run.id).path / "away" / "order.json"
    document = json.loads(order.read_text())
    document["run"]["fingerprint"] = "0" * 64
    order.write_text(json.dumps(document))
    assert line.do() == 1
    assert now(run).state == "failed"
    assert "are no longer those that run" in (now(run).error or "")
    assert counts(run.id) == {"training": (0, 0)}


def test_a_folder_that_is_gone_counts_as_all_that_was_planned(sent: Make) -> None:
    run = sent("nonprivate")
    RunFolder(here(), run.id).path.rename(here().runs / "elsewhere")
    assert counts(run.id) == {"training": (run.steps, 0)}


def test_a_home_that_was_closed_meanwhile_opens_and_counts_the_run_as_open(sent: Make) -> None:
    run = sent()
    (here().home / READ_ONLY).touch()
    assert [(entry.run_id, entry.closed_at) for entry in Ledger(here().ledger).entries()] == [(run.id, None)]


def test_the_folder_of_a_run_lies_where_the_machines_share_it(
    sent: Make, line: Line, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("WORKBENCH_SHARED", str(tmp_path / "shared"))
    run = sent("nonprivate")
    assert (tmp_path / "shared" / run.id / "plan.json").exists()
    assert line.do() == 0
    assert now(run).state == "done"
    runs.delete(here(), run.id)
    assert not (tmp_path / "shared" / run.id).exists()
    assert not RunFolder(here(), run.id).path.is_symlink()
