"""The end of a run, cut short between any two of its calls; checkpoints that are not what was written."""

# pyright: reportPrivateUsage=false

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.homes import here
from support.launchers import Nowhere

from workbench import runs
from workbench.cli.output import run_values
from workbench.errors import WorkbenchError
from workbench.experiment import new_state
from workbench.jobs.launchers import LAUNCHERS
from workbench.pages.runs.tables import run_table
from workbench.privacy.spending.ledger import Ledger
from workbench.runs.fitting import FitAttempt
from workbench.runs.folder import RunFolder
from workbench.runs.run import Run
from workbench.runs.store import RunStore
from workbench.tasks import worker
from workbench.training.checkpoints import load_checkpoint, save_checkpoint
from workbench.training.state import PerformanceSettings, load_saved, save_atomically

Make = Callable[..., Run]
PlanMaker = Callable[..., Any]
CALLS: list[tuple[Any, str]] = [
    (os, "open"),
    (os, "fsync"),
    (os, "replace"),
    (os, "link"),
    (os, "unlink"),
    (Ledger, "charge"),
    (Ledger, "close_run"),
    (RunStore, "beat"),
]


class Crashed(BaseException):
    """Stands in for SIGKILL."""


def finish_with_a_crash(run: Run, number: int, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Another attempt at a run, killed before the `number`-th call of its end; whether it came so far."""
    attempt = RunStore(here()).get(run.id).attempt + 1
    RunStore(here()).change(run.id, {"lost"}, "started", state="starting", attempt=attempt, process=None)
    made = 0

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            nonlocal made
            made += 1
            if made == number:
                raise Crashed
            return real(*arguments, **named)

        return call

    real_finish = FitAttempt._finish
    with monkeypatch.context() as patched:

        def finish(fitting: FitAttempt) -> dict[str, Any]:
            for owner, name in CALLS:
                patched.setattr(owner, name, counted(getattr(owner, name)))
            return real_finish(fitting)

        patched.setattr(FitAttempt, "_finish", finish)
        patched.setattr("workbench.jobs.heartbeat.Heartbeat._loop", lambda _heartbeat: None)  # its beats come at any time
        try:
            worker.main(here(), run.id)
        except Crashed:
            if RunStore(here()).get(run.id).state == "done":  # the registry had been told, and its record of the end was left
                return False
        else:
            return False
    RunStore(here()).change(run.id, {"running"}, "lost", state="lost", process=None)
    return True


def test_a_run_killed_anywhere_in_its_end_ends_done_without_a_key(
    quick_plan: PlanMaker, queue: Make, monkeypatch: pytest.MonkeyPatch, workbench_home: Path, tmp_path: Path
) -> None:
    run = queue(quick_plan("dp-merf"))
    with monkeypatch.context() as patched:

        def killed(fitting: FitAttempt) -> dict[str, Any]:
            fitting._write_checkpoint()
            raise Crashed

        patched.setattr(FitAttempt, "_finish", killed)
        with pytest.raises(Crashed):
            worker.main(here(), run.id)
    RunStore(here()).change(run.id, {"running"}, "lost", state="lost", process=None)
    key = load_saved(RunFolder(here(), run.id).checkpoint)["state"]["randomness"]["key"].encode()
    shutil.copytree(workbench_home, tmp_path / "at the end")
    number = 0
    while True:
        number += 1
        shutil.rmtree(workbench_home)
        shutil.copytree(tmp_path / "at the end", workbench_home)
        if not finish_with_a_crash(run, number, monkeypatch):
            break
        RunStore(here()).change(run.id, {"lost"}, "started", state="starting", attempt=3, process=None)
        worker.main(here(), run.id)
        done = RunStore(here()).get(run.id)
        assert (done.state, done.error, done.may_be_released) == ("done", None, True), number
        assert done.epsilon_spent == done.bound.epsilon == run.bound.epsilon
        files = [path for path in workbench_home.rglob("*") if path.is_file()]
        assert not [path.name for path in files if key in path.read_bytes() or path.name.startswith("checkpoint")], number
        assert Ledger(here().ledger).entries()[0].closed_at is not None
    assert number > 10


def test_a_finished_run_whose_ledger_was_lost_is_charged_in_full(quick_plan: PlanMaker, queue: Make, workbench_home: Path) -> None:
    run = queue(quick_plan("dp-merf"))
    worker.main(here(), run.id)
    RunStore(here()).change(run.id, {"done"}, "lost", state="starting", attempt=2, process=None)
    for path in workbench_home.glob("ledger.sqlite*"):
        path.unlink()
    worker.main(here(), run.id)
    assert RunStore(here()).get(run.id).epsilon_spent == run.bound.epsilon


def test_any_flipped_bit_of_a_checkpoint_is_refused_and_the_account_stays(
    quick_plan: PlanMaker, queue: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = queue(quick_plan("dp-merf"))
    with monkeypatch.context() as patched:

        def killed(_fitting: FitAttempt) -> dict[str, Any]:
            raise Crashed

        patched.setattr(FitAttempt, "_finish", killed)
        with pytest.raises(Crashed):
            worker.main(here(), run.id)
    checkpoint = RunFolder(here(), run.id).checkpoint
    whole = checkpoint.read_bytes()
    state = new_state(quick_plan("dp-merf"), PerformanceSettings(device="cpu"))
    draw = random.Random(1)
    places = [draw.randrange(8 * len(whole)) for _ in range(40)] + [8 * (len(whole) - back) for back in range(1, 45)]
    for place in places:
        damaged = bytearray(whole)
        damaged[place // 8] ^= 1 << (place % 8)
        checkpoint.write_bytes(damaged)
        with pytest.raises(WorkbenchError, match="is damaged"):
            load_checkpoint(state, checkpoint)
    for cut in (0, 1, 40, len(whole) // 2, len(whole) - 1):
        checkpoint.write_bytes(whole[:cut])
        with pytest.raises(WorkbenchError, match="is damaged"):
            load_checkpoint(state, checkpoint)
    RunStore(here()).change(run.id, {"running"}, "started", state="starting", attempt=2, process=None)
    worker.main(here(), run.id)
    failed = RunStore(here()).get(run.id)
    assert failed.state == "failed"
    assert "checksum does not fit" in str(failed.error)
    assert "stays in the ledger" in str(failed.error)
    assert failed.epsilon_spent == Ledger(here().ledger).epsilon_spent(run.id, run.delta).epsilon == pytest.approx(run.bound.epsilon)
    assert checkpoint.read_bytes() == whole[:-1], "a refused checkpoint is left as it is"
    checkpoint.write_bytes(whole)
    RunStore(here()).change(run.id, {"failed"}, "started", state="starting", attempt=3, process=None)
    worker.main(here(), run.id)
    assert RunStore(here()).get(run.id).may_be_released


def test_only_a_checkpoint_has_to_be_sealed(tmp_path: Path) -> None:
    save_atomically({"state": 1}, tmp_path / "whole.pt")
    assert load_saved(tmp_path / "whole.pt", sealed=True) == {"state": 1}
    (tmp_path / "unsealed.pt").write_bytes((tmp_path / "whole.pt").read_bytes()[:-40])
    assert load_saved(tmp_path / "unsealed.pt") == {"state": 1}
    with pytest.raises(WorkbenchError, match="damaged"):
        load_saved(tmp_path / "unsealed.pt", sealed=True)


def test_removing_a_run_never_overwrites_a_checkpoint_that_still_counts(
    quick_plan: PlanMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whenever something has been overwritten, the checkpoint is whole or has lost its name."""
    folder = RunFolder(here(), "abcdefgh")
    folder.create()
    for _ in range(2):
        save_checkpoint(new_state(quick_plan("dp-merf"), PerformanceSettings(device="cpu")), folder.checkpoint)
    assert (folder.path / "checkpoint.pt.previous").exists()
    real = os.fsync

    def killed(descriptor: int) -> None:
        real(descriptor)
        assert not folder.checkpoint.exists() or folder.checkpoint.read_bytes().startswith(b"PK")

    monkeypatch.setattr(os, "fsync", killed)
    folder.erase_checkpoint()
    assert [path.name for path in folder.path.iterdir() if path.name.startswith("checkpoint")] == []


def test_a_resumed_run_remembers_the_time_of_its_earlier_attempts(
    quick_plan: PlanMaker, queue: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = queue(quick_plan("dp-merf"))
    RunStore(here()).change(run.id, {"starting"}, "lost", state="lost", started=100.0, finished=160.0)
    monkeypatch.setitem(LAUNCHERS, "local", Nowhere())
    runs.resume(here(), run.id)
    again = RunStore(here()).get(run.id)
    assert again.seconds_before == 60.0
    RunStore(here()).change(run.id, {"starting"}, "run", state="running", started=200.0, heartbeat=210.0, step=3, resumed_at=1)
    assert again.started is not None
    running = again.model_copy(update={"state": "running", "started": 200.0, "heartbeat": 210.0, "step": 3, "resumed_at": 1, "steps": 5})
    assert (running.seconds_running, running.seconds_of_attempt, running.seconds_left) == (70.0, 10.0, 10.0)
    assert run_table([running])["Took"].tolist() == ["1 min 10 s"], "as the Runs page shows it"
    assert run_values(running)["seconds_running"] == 70.0, "as `workbench show` tells it"
