"""The registry of runs: states, identity, lost workers, and what many processes at once may do to it."""

import json
import math
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import time
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from support.homes import here

from workbench.datasets.reference import DatasetRef
from workbench.errors import WorkbenchError
from workbench.jobs import control, identity
from workbench.jobs.heartbeat import Progress
from workbench.jobs.identity import ProcessIdentity, boot_identity, identity_of, is_alive, send_signal
from workbench.jobs.job import LAUNCH_SECONDS, STALE_SECONDS
from workbench.jobs.lifecycle import Jobs
from workbench.jobs.observing import keep_exit, read_exit
from workbench.jobs.registry import registry, update
from workbench.jobs.starting import start
from workbench.locks import locked
from workbench.plan import Plan
from workbench.planning import make_plan
from workbench.privacy.accounting.values import PrivacyValue
from workbench.privacy.attacks.canaries import AuditDesign
from workbench.request import Request
from workbench.runs.folder import RunFolder
from workbench.runs.run import TRAINING, Run
from workbench.runs.selection import SORTS, Selection
from workbench.runs.store import RunStore
from workbench.tasks import TASKS


@cache
def planned() -> Plan:
    """A plan whose noise is given, so that nothing is calibrated."""
    return make_plan("dp-merf", DatasetRef(name="digits"), settings={"noise_multiplier": 2.0})


class Settings(BaseModel):
    """The fields of the performance settings that the registry reads."""

    device: str = "cpu"


def create(**values: Any) -> Run:
    plan = planned().model_copy(update=values.pop("plan", {}))
    return RunStore(here()).create(plan, "digits", "f" * 16, Settings(), steps=10, **values)  # type: ignore[arg-type]


def test_a_run_that_is_done_is_never_trained_again() -> None:
    run = RunStore(here()).change(create().id, {"queued"}, "started", state="done")
    with pytest.raises(WorkbenchError, match="cannot be started: expected it to be cancelled, failed, lost, paused, queued, it is done"):
        start(here(), run.id)


def test_a_cancelled_training_has_the_time_that_its_task_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    run, waited = RunStore(here()).change(create().id, {"queued"}, "started", state="running"), []
    monkeypatch.setattr(control, "wait", lambda *_, timeout_seconds: waited.append(timeout_seconds) or Jobs(here()).get(run.id))
    control.cancel(here(), run.id)
    assert waited == [TRAINING.grace_seconds] == [120.0]


def test_a_beat_before_the_worker_has_read_what_was_spent_says_no_less() -> None:
    run = RunStore(here()).change(create().id, {"queued"}, "started", state="running", attempt=2, epsilon_spent=2.5)
    job, progress = Jobs(here()).get(run.id), Progress()
    TASKS["train"].beat(here(), job, progress)
    assert RunStore(here()).get(run.id).epsilon_spent == 2.5
    progress.epsilon_spent = 3.0
    TASKS["train"].beat(here(), job, progress)
    assert RunStore(here()).get(run.id).epsilon_spent == 3.0


def sleeper(**options: Any) -> subprocess.Popen[Any]:
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], **options)


def running(process: ProcessIdentity | None, **values: Any) -> Run:
    run = create()
    return RunStore(here()).change(
        run.id, {"queued"}, "started", state="running", process=process, heartbeat=time.time(), attempt=1, **values
    )


def test_a_run_comes_back_as_it_was_made() -> None:
    run = create(seed=2**70)
    assert RunStore(here()).get(run.id) == run
    assert (run.state, run.steps, run.plan, run.seed) == ("queued", 10, planned(), 2**70)
    assert RunFolder(here(), run.id).plan.exists()
    assert RunFolder(here(), run.id).path.stat().st_mode & 0o077 == 0


def test_a_row_is_read_anew_once_anything_in_it_is_another() -> None:
    run = create()
    store = RunStore(here())
    assert store.get(run.id) is store.get(run.id)
    with registry(here()).transaction() as connection:
        connection.execute("UPDATE runs SET note = 'looked at' WHERE id = ?", (run.id,))
    assert store.get(run.id) == run.model_copy(update={"note": "looked at"})


def test_infinite_bounds_survive_the_registry() -> None:
    infinite = PrivacyValue(epsilon=float("inf"), delta=1e-5, status="not_proved", reason="No proof.")
    run = create(plan={"bound": infinite})
    again = RunStore(here()).get(run.id)
    assert again.bound == infinite
    assert again.claim_only
    assert not again.releasable


@pytest.mark.parametrize(("seed", "status", "releasable"), [(None, "proved", True), (3, "proved", False), (None, "approximation", False)])
def test_only_a_secret_key_and_a_proved_bound_make_a_run_releasable(seed: int | None, status: Any, releasable: bool) -> None:
    bound = PrivacyValue(epsilon=1.0, delta=1e-5, status=status)
    assert create(plan={"bound": bound}, seed=seed).releasable is releasable


@pytest.mark.parametrize("run_id", ["../../etc", "", "abc", "ABCDEFGH", "abcdefg/", "abcdefgh\n"])
def test_a_malformed_id_never_reaches_a_path(run_id: str, workbench_home: Path) -> None:
    for act in (RunStore(here()).get, RunStore(here()).delete, partial(RunFolder, here())):
        with pytest.raises(WorkbenchError, match="Expected a run id"):
            act(run_id)


def test_an_unknown_run_is_one_sentence() -> None:
    with pytest.raises(WorkbenchError, match="Unknown run 'abcdefgh'"):
        RunStore(here()).get("abcdefgh")


def test_runs_are_listed_newest_first_and_filtered() -> None:
    first, second = create(), create(plan={"request": Request.of("nonprivate", "digits")})
    assert [run.id for run in RunStore(here()).list()] == [second.id, first.id]
    assert [run.id for run in RunStore(here()).list(method="dp-merf")] == [first.id]
    assert RunStore(here()).list(state="done") == []


def test_a_change_checks_the_state_it_starts_from() -> None:
    run = create()
    RunStore(here()).change(run.id, {"queued"}, "started", state="starting")
    with pytest.raises(WorkbenchError, match="cannot be started: expected it to be queued, it is starting"):
        RunStore(here()).change(run.id, {"queued"}, "started", state="starting")


def test_a_dead_worker_is_lost_as_soon_as_somebody_looks() -> None:
    process = sleeper()
    run = running(identity_of(process.pid))
    assert RunStore(here()).get(run.id).state == "running"
    process.kill()
    process.wait()
    assert RunStore(here()).get(run.id).state == "lost"
    assert RunStore(here()).list()[0].state == "lost"


def test_a_zombie_is_dead() -> None:
    process = sleeper()
    run = running(identity_of(process.pid))
    process.kill()
    deadline = time.monotonic() + 10
    while RunStore(here()).get(run.id).state == "running" and time.monotonic() < deadline:
        time.sleep(0.05)
    assert RunStore(here()).get(run.id).state == "lost"
    os.kill(process.pid, 0)  # the pid is still there: nobody has reaped it
    process.wait()


def test_a_reused_pid_is_not_the_worker() -> None:
    mine = identity_of(os.getpid())
    assert mine is not None
    assert is_alive(mine)
    run = running(mine.model_copy(update={"started": "1"}))
    assert RunStore(here()).get(run.id).state == "lost"
    assert not send_signal(mine.model_copy(update={"started": "1"}), signal.SIGTERM)


def test_a_suspended_worker_is_not_lost_however_old_its_heartbeat() -> None:
    process = sleeper()
    process.send_signal(signal.SIGSTOP)
    run = running(identity_of(process.pid))
    RunStore(here()).change(run.id, {"running"}, "suspended", heartbeat=time.time() - 3600)
    assert RunStore(here()).get(run.id).state == "running"
    process.kill()
    process.wait()


@pytest.mark.parametrize(("age", "state"), [(1.0, "running"), (13.0, "lost")])
def test_on_another_boot_only_the_heartbeat_speaks(age: float, state: str) -> None:
    run = running(ProcessIdentity(pid=os.getpid(), started="1", boot="another boot"))
    RunStore(here()).change(run.id, {"running"}, "changed", heartbeat=time.time() - age)
    assert RunStore(here()).get(run.id).state == state


def test_a_missed_heartbeat_is_no_end_while_somebody_holds_the_worker_s_lock() -> None:
    run = running(ProcessIdentity(pid=os.getpid(), started="1", boot="another container"))
    RunStore(here()).change(run.id, {"running"}, "aged", heartbeat=time.time() - 100 * STALE_SECONDS)
    with locked(RunFolder(here(), run.id).worker_lock):
        assert RunStore(here()).get(run.id).state == "running"
    assert RunStore(here()).get(run.id).state == "lost"


def test_what_a_worker_wrote_of_its_end_counts_where_the_registry_was_not_told() -> None:
    process = sleeper()
    run = running(identity_of(process.pid))
    folder = RunFolder(here(), run.id).path
    process.kill()
    process.wait()
    keep_exit(folder, run.attempt + 1, {"state": "failed", "error": "of another attempt"})
    assert read_exit(folder, run.attempt) is None
    bound = run.bound.model_copy(update={"epsilon": 7.0})
    keep_exit(folder, run.attempt, {"state": "done", "step": 10, "finished": 5.0, "epsilon_spent": math.inf, "bound": bound})
    ended = RunStore(here()).get(run.id)
    assert (ended.state, ended.step, ended.finished, ended.epsilon_spent, ended.bound) == ("done", 10, 5.0, math.inf, bound)


def test_a_worker_that_dies_while_cancelled_is_cancelled() -> None:
    process = sleeper()
    run = running(identity_of(process.pid))
    RunStore(here()).change(run.id, {"running"}, "cancelled", state="cancelling")
    process.kill()
    process.wait()
    assert RunStore(here()).get(run.id).state == "cancelled"


def test_a_launch_that_never_got_a_process_waits_again() -> None:
    run = create()
    RunStore(here()).change(run.id, {"queued"}, "started", state="starting", heartbeat=time.time() - LAUNCH_SECONDS / 2)
    assert RunStore(here()).get(run.id).state == "starting"
    RunStore(here()).change(run.id, {"starting"}, "changed", heartbeat=time.time() - LAUNCH_SECONDS - 1)
    assert RunStore(here()).get(run.id).state == "queued"


def test_a_heartbeat_of_a_former_attempt_changes_nothing() -> None:
    run = running(identity_of(os.getpid()))
    assert RunStore(here()).beat(run.id, 1, step=3) == "running"
    assert RunStore(here()).beat(run.id, 0, step=9) is None
    assert RunStore(here()).get(run.id).step == 3


def test_delete_refuses_a_run_at_work_and_takes_the_key_first() -> None:
    run = running(identity_of(os.getpid()))
    folder = RunFolder(here(), run.id)
    folder.checkpoint.write_bytes(b"key")
    with pytest.raises(WorkbenchError, match="Cancel it first"):
        RunStore(here()).delete(run.id)
    assert folder.checkpoint.exists()
    RunStore(here()).change(run.id, {"running"}, "ended", state="done")
    RunStore(here()).delete(run.id)
    assert not folder.path.exists()
    assert RunStore(here()).list() == []


def test_a_registry_of_a_newer_version_is_left_alone() -> None:
    path = RunStore(here()).path
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(WorkbenchError, match="registry version"):
        RunStore(here())


def _create_many(count: int) -> None:
    for _ in range(count):
        create()


def test_two_processes_create_runs_at_once(workbench_home: Path) -> None:
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_create_many, args=(5,)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert len({run.id for run in RunStore(here()).list()}) == 15


def test_pids_are_compared_within_a_namespace_only(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = identity_of(os.getpid())
    assert mine is not None
    assert mine.boot == boot_identity()
    monkeypatch.setattr(identity, "boot_identity", lambda: "another container")
    assert not is_alive(mine)


def test_the_metrics_of_a_replayed_step_count_once(workbench_home: Path) -> None:
    folder = RunFolder(here(), create().id)
    lines = [{"step": step, "values": {"loss": loss}} for step, loss in ((1, 1.0), (2, 2.0), (2, 3.0))]
    folder.metrics.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"step": 3, "val')
    assert folder.read_metrics() == [lines[0], lines[2]]


def test_time_left_is_the_mean_pace(workbench_home: Path) -> None:
    now = time.time()
    run = create().model_copy(update={"state": "running", "attempt": 1, "started": now - 20, "heartbeat": now, "step": 4})
    assert run.seconds_left == pytest.approx(30)
    assert STALE_SECONDS < 15


def test_runs_are_selected_by_the_registry_as_a_reader_would() -> None:
    made = [create() for _ in range(4)]
    store = RunStore(here())
    for number, run in enumerate(made):
        bound = run.bound.model_copy(update={"epsilon": [3.0, math.inf, 1.0, 2.0][number]})
        store.change(
            run.id, {"queued"}, "changed", bound=bound, step=number, state="done" if number % 2 else "failed", created=float(number)
        )
        with registry(here()).transaction() as connection:
            update(connection, "runs", run.id, {"tags": ("all", f"tag{number}")})
    names = {run.id: number for number, run in enumerate(made)}

    def selected(**criteria: Any) -> list[int]:
        matches = store.select(Selection(**criteria))
        assert store.count(Selection(**criteria)) >= len(matches)
        return [names[run.id] for run in matches]

    newest, bound, step, method = SORTS
    assert selected() == selected(order=newest) == [3, 2, 1, 0]
    assert selected(order=bound) == [2, 3, 0, 1], "an infinite bound is the largest"
    assert selected(order=step) == [3, 2, 1, 0]
    assert selected(order=method, limit=2) == [3, 2]
    assert selected(states=("failed",)) == [2, 0]
    assert selected(tags=("all", "tag2")) == [2]
    assert selected(methods=("dpdm",)) == []
    assert selected(audited=True) == []
    store.change(made[1].id, {"done"}, "changed", audit=AuditDesign(num_canaries=10))
    assert selected(audited=True) == [1]
    assert store.count(Selection(limit=1)) == 4
    facets = store.facets()
    assert (facets.methods, facets.datasets) == ([made[0].method], [made[0].dataset])
    assert list(facets.tags) == ["all", "tag0", "tag1", "tag2", "tag3"]
    assert [named[0] for named in facets.named] == [made[number].id for number in (3, 2, 1, 0)]
