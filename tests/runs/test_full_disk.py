"""A full disk pauses a run wherever it writes; with room again it goes on by itself, to the weights and account of an undisturbed one."""

import errno
import os
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from runs.test_fitting import assert_same_model, counts
from support.disk import full_disk
from support.homes import here
from support.launchers import Here
from support.odd_methods import join_registry, odd
from support.quick import quick_plan

from workbench import experiment, runs
from workbench.jobs import control, room
from workbench.jobs.launchers import LAUNCHERS
from workbench.jobs.queue import passing
from workbench.jobs.queue.line import line
from workbench.jobs.queue.passing import tend
from workbench.plan import Plan
from workbench.privacy.spending.ledger import Ledger
from workbench.runs import fitting
from workbench.runs.folder import RunFolder
from workbench.runs.recorder import MetricsWriter, Previews
from workbench.runs.run import Run
from workbench.runs.store import RunStore
from workbench.tasks import worker
from workbench.training import checkpoints
from workbench.training.state import PerformanceSettings

ALL = {"student": (3, 0), "critic": (4, 0)}
SMALL_DISK = 160 * 2**20


def no_room() -> OSError:
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def full_database() -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorcode = sqlite3.SQLITE_FULL
    return error


WRITES: dict[str, tuple[Any, str, int, Callable[[], Exception]]] = {  # who writes, by which call, the how many-th of them fails, and how
    "a checkpoint": (checkpoints, "replace_checkpoint", 3, no_room),
    "metrics": (MetricsWriter, "_write", 2, no_room),
    "a preview": (Previews, "_write", 1, no_room),
    "the ledger": (Ledger, "charge", 4, full_database),
    "the registry": (RunStore, "beat", 3, full_database),
    "the weights": (fitting, "save_atomically", 1, no_room),
}


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> Plan:
    join_registry(monkeypatch)
    monkeypatch.setattr(fitting, "CHECKPOINT_SHARE", 0.0)
    monkeypatch.setenv("WORKBENCH_CHECKPOINT_SECONDS", "0")
    monkeypatch.setattr("workbench.jobs.heartbeat.Heartbeat._loop", lambda _heartbeat: None)  # its beats come at any time
    for module in (worker, passing):  # the test looks after the queue itself: a process of its own sees the room that there really is
        monkeypatch.setattr(module, "ensure_process", lambda _workspace: None)
    return quick_plan(odd("odd-taking-turns").name)


@pytest.fixture
def has_room(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether the home has room; none at first."""
    there = [False]
    monkeypatch.setattr(room, "has_room", lambda _folder, _needed: there[0])
    return there


def fail_at(owner: Any, name: str, number: int, error: Callable[[], Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the `number`-th call fail."""
    real, made = getattr(owner, name), 0

    def call(*arguments: Any, **named: Any) -> Any:
        nonlocal made
        made += 1
        if made == number:
            raise error()
        return real(*arguments, **named)

    monkeypatch.setattr(owner, name, call)


@pytest.mark.parametrize("what", WRITES)
def test_wherever_it_lacks_room_it_is_paused_and_goes_on_by_itself(
    what: str,
    turns: Plan,
    queue: Callable[..., Run],
    train_here: Callable[..., Run],
    has_room: list[bool],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = queue(turns, seed=5)
    with monkeypatch.context() as patched:
        fail_at(*WRITES[what], patched)
        assert worker.main(here(), run.id) == 0
    paused = RunStore(here()).get(run.id)
    assert (paused.state, paused.is_active, paused.bytes_needed >= room.LEAST_BYTES) == ("paused", True, True)
    assert "It is paused, and goes on by itself once" in str(paused.error)
    (entry,) = line(here()).entries
    assert (entry.job.id, entry.place, entry.reason) == (run.id, 0, paused.error)
    monkeypatch.setitem(LAUNCHERS, "local", Here())
    tend(here())
    assert RunStore(here()).get(run.id).state == "paused", "there is no room yet"
    has_room[0] = True
    tend(here())
    done = RunStore(here()).get(run.id)
    assert (done.state, done.attempt, done.error, done.bytes_needed) == ("done", 2, None, 0)
    assert counts(run.id) == ALL
    assert done.epsilon_spent == turns.bound.epsilon
    assert_same_model(train_here(turns, seed=5), done)


def paused_run(turns: Plan, queue: Callable[..., Run], monkeypatch: pytest.MonkeyPatch) -> Run:
    run = queue(turns)
    with monkeypatch.context() as patched:
        fail_at(*WRITES["a checkpoint"], patched)
        worker.main(here(), run.id)
    return RunStore(here()).get(run.id)


@pytest.mark.usefixtures("has_room")
def test_a_person_resumes_it_whatever_room_there_is(turns: Plan, queue: Callable[..., Run], monkeypatch: pytest.MonkeyPatch) -> None:
    run = paused_run(turns, queue, monkeypatch)
    monkeypatch.setitem(LAUNCHERS, "local", Here())
    assert runs.resume(here(), run.id).state == "done"


@pytest.mark.usefixtures("has_room")
def test_it_is_cancelled_at_once_and_can_be_deleted_to_make_room(
    turns: Plan, queue: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = paused_run(turns, queue, monkeypatch)
    assert control.request_cancel(here(), run.id).state == "cancelled"
    other = paused_run(turns, queue, monkeypatch)
    RunStore(here()).delete(other.id)
    assert [one.id for one in RunStore(here()).list()] == [run.id]


def test_where_the_home_has_room_it_waits_for_twice_as_much(
    turns: Plan, queue: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The write that failed was larger, or elsewhere: beginning at once would fail again, and on a GPU count steps again each time."""
    monkeypatch.setattr(room, "has_room", lambda _folder, needed: needed < 2**31)
    monkeypatch.setattr(room.shutil, "disk_usage", lambda _folder: SimpleNamespace(free=2**35))
    run = paused_run(turns, queue, monkeypatch)
    assert run.bytes_needed == 2**36
    tend(here())
    assert RunStore(here()).get(run.id).state == "paused"


def test_a_worker_keeps_its_word_until_the_registry_has_room_for_it(
    turns: Plan, queue: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, full, waited = queue(turns), ExitStack(), []

    def fill(*_arguments: Any) -> None:
        full.enter_context(full_disk())
        raise no_room()

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 3:
            full.close()

    with monkeypatch.context() as patched, full:
        patched.setattr(MetricsWriter, "_write", fill)
        patched.setattr(worker.time, "sleep", sleep)
        assert worker.main(here(), run.id) == 0
    assert waited == [worker.ROOM_SECONDS] * 3
    assert RunStore(here()).get(run.id).state == "paused"


@pytest.fixture
def small_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home on a file system of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK}", "tmpfs", folder], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("mounting a small file system takes rights that this process has not")
    monkeypatch.setenv("WORKBENCH_HOME", str(folder / "home"))
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + 240
    while True:
        with suppress(sqlite3.OperationalError):  # the disk may be too full to look
            if condition():
                return
        assert time.monotonic() < deadline, f"waited for {what}"
        time.sleep(0.1)


def test_a_real_disk_that_fills_up_pauses_a_run_that_goes_on_once_it_is_emptied(small_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_CHECKPOINT_SECONDS", "0.5")
    plan = experiment.make_plan("nonprivate", experiment.load("digits").facts, settings=quick_settings(80))
    run = runs.launch(here(), plan, "digits", performance=PerformanceSettings(device="cpu", num_threads=1), seed=1)
    until(lambda: RunStore(here()).get(run.id).step > 5, "some steps")
    ballast = small_disk / "ballast"
    with ballast.open("wb") as file:
        while free := shutil.disk_usage(small_disk).free:
            with suppress(OSError):  # the run writes too
                os.posix_fallocate(file.fileno(), file.seek(0, os.SEEK_END), free)
        file.truncate(file.seek(0, os.SEEK_END) - 2**20)  # room for the registry, none for a checkpoint
    until(lambda: RunStore(here()).get(run.id).state == "paused", "the pause")
    paused = RunStore(here()).get(run.id)
    assert "No space left on device" in str(paused.error)
    assert RunFolder(here(), run.id).can_go_on
    ballast.unlink()
    until(lambda: RunStore(here()).get(run.id).state == "done", "the end")
    assert RunStore(here()).get(run.id).attempt == 2


def quick_settings(steps: int) -> dict[str, Any]:
    """A network whose checkpoint is larger than what is left."""
    network = {"network.base_channels": 64, "network.channel_multipliers": (1, 1), "network.num_res_blocks": 1}
    return network | {"training.steps": steps, "training.batch_size": 8, "sampler.num_inference_steps": 4}
