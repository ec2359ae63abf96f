"""Processes that live on after their run went on without them: nothing that they draw goes uncounted, and no key of theirs stays."""

# pyright: reportPrivateUsage=false

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from support.homes import here
from support.launchers import Here, KilledError, Line, after_step, kill

from workbench import experiment, runs
from workbench.errors import WorkbenchError
from workbench.jobs import control
from workbench.jobs.away.post import Post
from workbench.jobs.away.sending import share_folder
from workbench.jobs.heartbeat import Heartbeat, StopSignal
from workbench.jobs.launchers import LAUNCHERS, Status
from workbench.plan import Plan
from workbench.privacy.spending.ledger import Ledger
from workbench.runs import fitting
from workbench.runs.archiving.contents import check_path
from workbench.runs.archiving.pack import archive_runs
from workbench.runs.folder import RunFolder
from workbench.runs.run import Run
from workbench.runs.store import RunStore
from workbench.training import checkpoints
from workbench.training.state import PerformanceSettings

Make = Callable[..., Run]
Move = Callable[[str], None]
Drawn = set[tuple[str, str, int]]


@pytest.fixture
def on_node(monkeypatch: pytest.MonkeyPatch) -> Move:
    """`on_node(name)`: what is done next is done on another machine, which repeats no step of this one bit for bit."""
    nodes = ["x"]
    monkeypatch.setattr(checkpoints, "processor", lambda: nodes[-1])
    return nodes.append


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Drawn:
    """Every noise key with the stage and step that it was drawn for."""
    keys, whole = Drawn(), fitting.FitAttempt._spend

    def spend(self: fitting.FitAttempt, stage: str, step: int) -> None:
        whole(self, stage, step)
        keys.add((str(self.state.randomness.to_checkpoint()["key"]), stage, step))

    monkeypatch.setattr(fitting.FitAttempt, "_spend", spend)
    return keys


@pytest.fixture
def run(sent: Make) -> Run:
    """Unseeded, in the line of an engine."""
    return sent("nonprivate", seed=None)


def counted(run: Run) -> int:
    return sum(stage.count for stage in Ledger(here().ledger).spent(run.id) if stage.spent != "free")


def now(run: Run) -> Run:
    return RunStore(here()).get(run.id)


def at_checkpoint(number: int, what: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a process stand still between its look whether it may write and its `number`-th checkpoint."""
    whole, made = fitting.save_checkpoint, []

    def save(*args: Any, **options: Any) -> None:
        made.append(1)
        if len(made) == number:
            what()
        whole(*args, **options)

    monkeypatch.setattr(fitting, "save_checkpoint", save)


def killed(line: Line, monkeypatch: pytest.MonkeyPatch, handle: dict[str, Any] | None = None) -> None:
    after_step(3, kill, monkeypatch)
    with pytest.raises(KilledError):
        line.do(handle)


def test_a_resume_on_this_machine_stops_what_works_elsewhere(
    run: Run, line: Line, drawn: Drawn, on_node: Move, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LAUNCHERS, "inside", Here())

    def meanwhile() -> None:
        line.said[f"{run.id}.1"] = Status("ended")
        assert now(run).state == "lost"
        on_node("y")
        runs.resume(here(), run.id, at_once=True, on="inside")
        on_node("x")

    after_step(3, meanwhile, monkeypatch)
    line.do()
    done = now(run)
    assert (done.state, len(drawn)) == ("done", run.steps)
    assert counted(run) == len(drawn)
    assert len(list((RunFolder(here(), run.id).path / "away").glob("*.jsonl"))) == 2, "both kept a journal"
    assert not Ledger.knows_away(here().ledger, run.id), "read for the last time"


def test_an_orphan_that_has_its_model_ends_nothing_of_who_took_over(
    run: Run, line: Line, drawn: Drawn, on_node: Move, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle, whole = dict(line.waiting[0]), fitting.save_atomically

    def save(*args: Any) -> None:
        monkeypatch.setattr(fitting, "save_atomically", whole)
        on_node("y")
        killed(line, monkeypatch, dict(handle))
        on_node("x")
        whole(*args)

    monkeypatch.setattr(fitting, "save_atomically", save)
    monkeypatch.setenv("WORKBENCH_CHECKPOINT_SECONDS", "1000")
    line.do(dict(handle))
    assert RunFolder(here(), run.id).checkpoint.exists(), "that of the second, which drew three steps anew"
    on_node("z")
    assert line.do(dict(handle)) == 0
    assert now(run).state == "done"
    assert counted(run) >= len(drawn) == run.steps + 3 + run.steps


def test_a_late_checkpoint_is_gone_on_from_and_each_noise_counts(
    run: Run, line: Line, drawn: Drawn, on_node: Move, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = dict(line.waiting[0])

    def meanwhile() -> None:
        on_node("y")
        killed(line, monkeypatch, dict(handle))
        on_node("x")

    at_checkpoint(3, meanwhile, monkeypatch)
    line.do(dict(handle))
    assert line.do(dict(handle)) == 0
    assert now(run).state == "done"
    assert counted(run) >= len(drawn) == run.steps + 3


def test_no_noise_key_stays_where_a_checkpoint_comes_after_the_end(run: Run, line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    handle = dict(line.waiting[0])
    at_checkpoint(3, lambda: line.do(dict(handle)), monkeypatch)
    line.do(dict(handle))
    assert not list(RunFolder(here(), run.id).path.glob("checkpoint*")), "before the home looks"
    assert now(run).state == "done"


def test_the_home_erases_what_a_killed_orphan_left(run: Run, line: Line) -> None:
    assert line.do() == 0
    RunFolder(here(), run.id).checkpoint.write_bytes(b"key")
    assert now(run).state == "done"
    assert not list(RunFolder(here(), run.id).path.glob("checkpoint*"))


def files_with_key(run: Run) -> list[str]:
    folder = RunFolder(here(), run.id).path
    return [path.name for path in folder.rglob("*") if path.is_file() and here().key.hex().encode() in path.read_bytes()]


@pytest.mark.parametrize("end", ["done", "cancelled", "lost"])
def test_the_key_of_the_home_is_away_no_longer_than_the_job(end: str, run: Run, line: Line, tmp_path: Path) -> None:
    assert files_with_key(run) == ["order.json"]
    if end == "done":
        assert line.do() == 0
    elif end == "cancelled":
        control.request_cancel(here(), run.id)
    else:
        line.said[f"{run.id}.1"] = Status("ended")
    assert now(run).state == end
    assert files_with_key(run) == []
    with pytest.raises(WorkbenchError, match="Expected none, as it has ended"):
        Post.take(RunFolder(here(), run.id).path / "away", 1)
    if end == "done":
        archive = archive_runs(here(), [run.id], tmp_path / "archive.tar")
        assert not [file.path for one in archive.runs for file in one.files if "away" in file.path]
        with pytest.raises(WorkbenchError, match="or that of a home"):
            check_path("away/order.json")


@pytest.mark.parametrize("when", ["before it was launched", "before it began"])
def test_a_ledger_that_was_put_back_hears_of_a_run_elsewhere(when: str, sent: Make, line: Line, tmp_path: Path) -> None:
    Ledger(here().ledger)
    run = None if when == "before it was launched" else sent("nonprivate")
    kept = tmp_path / "ledger"
    shutil.copy(here().ledger, kept)
    run = run or sent("nonprivate")
    here().ledger.unlink()
    shutil.copy(kept, here().ledger)
    assert line.do() == 0
    assert now(run).state == "done"
    assert counted(run) == run.steps


def test_a_refused_resume_changes_nothing(run: Run, line: Line, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert line.do() == 0
    assert now(run).state == "done"
    monkeypatch.setenv("WORKBENCH_SHARED", str(tmp_path / "shared"))
    with pytest.raises(WorkbenchError, match="is done"):
        runs.resume(here(), run.id, on="line")
    assert not RunFolder(here(), run.id).path.is_symlink()
    assert Ledger(here().ledger).entry(run.id).closed_at is not None


def test_a_shared_folder_that_is_there_is_not_moved_into(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WORKBENCH_SHARED", str(tmp_path / "shared"))
    (tmp_path / "shared" / "run").mkdir(parents=True)
    (tmp_path / "run").mkdir()
    with pytest.raises(WorkbenchError, match="Move one of them away"):
        share_folder(tmp_path / "run")
    (tmp_path / "run").rmdir()  # as after a crash between the move and the link
    share_folder(tmp_path / "run")
    assert (tmp_path / "run").resolve() == tmp_path / "shared" / "run"


def test_nobody_draws_while_the_folder_goes_to_another_disk(run: Run, line: Line, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    place = RunFolder(here(), run.id).path
    killed(line, monkeypatch)
    assert now(run).state == "lost"
    monkeypatch.setenv("WORKBENCH_SHARED", str(tmp_path / "shared"))
    rename, copytree, orphan = os.rename, shutil.copytree, Post(place / "away", 1, 1)
    key = RunFolder(here(), run.id).checkpoint.read_bytes()

    def refused(source: Any, target: Any) -> None:
        if Path(source) == place:
            raise OSError(18, "Invalid cross-device link")
        rename(source, target)

    def copies(*args: Any, **options: Any) -> Any:
        copied = copytree(*args, **options)
        if Path(args[0]) != place:
            return copied  # a folder in it, in whatever order the disk names them
        orphan.journal.charge("", "training", 3, 4)
        assert orphan.is_taken_over(), "so it does not draw"
        return copied

    monkeypatch.setattr(os, "rename", refused)
    monkeypatch.setattr(shutil, "copytree", copies)
    with (place / "checkpoint.pt").open("rb") as left:
        runs.resume(here(), run.id)
        assert left.read() == bytes(len(key)), "what stays on the first disk was overwritten"
    assert now(run).state == "pending"
    assert place.resolve() == tmp_path / "shared" / run.id
    assert line.do(line.waiting[-1]) == 0
    assert counted(run) == run.steps


@pytest.mark.parametrize("how", ["deleted", "moved"])
def test_what_never_began_counts_nothing(how: str, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    control.request_cancel(here(), run.id)
    assert now(run).state == "cancelled"
    if how == "deleted":
        runs.delete(here(), run.id)
        assert Ledger(here().ledger).entry(run.id).closed_at is not None
    else:
        here().home.rename(tmp_path / "moved")
        monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "moved"))
    assert counted(run) == 0


def test_processes_that_share_a_batch_are_another_environment(quick_plan: Callable[..., Plan], tmp_path: Path) -> None:
    performance = PerformanceSettings(device="cpu", num_threads=1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/group", rank=0, world_size=1)
    try:
        state = experiment.new_state(quick_plan("nonprivate"), performance, None, group=torch.distributed.group.WORLD)
        assert checkpoints.environment(state)["processes"] == "1"
        state.steps = {"training": 3}
        fitting.share_start(state)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("workbench.runs.fitting.shared_values", lambda *_: {"training": 2})
            with pytest.raises(WorkbenchError, match="got one of another step"):
                fitting.share_start(state)
            patched.setattr("workbench.training.checkpoints.rank_and_size", lambda _: (0, 2))
            assert checkpoints.environment(state)["processes"] == "2"
    finally:
        torch.distributed.destroy_process_group()


def test_processes_that_share_a_batch_split_it_by_one_size(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert RunFolder(here(), run.id).keep_size("training", 8) == 8
    sizes = list[int]()

    def fit(*args: Any) -> list[Any]:
        sizes.append(args[2].keep_size("training", 2))
        return []

    monkeypatch.setattr(experiment, "fit", fit)
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/group", rank=0, world_size=1)
    try:
        fitting.follow(here(), now(run))
    finally:
        torch.distributed.destroy_process_group()
    assert sizes == [8]


def test_a_report_that_cannot_be_written_is_tried_again(capsys: pytest.CaptureFixture[str]) -> None:
    def refused() -> None:
        raise OSError(116, "Stale file handle")

    stop = StopSignal()
    Heartbeat(refused, stop, 1.0).beat()
    assert not stop
    assert "Stale file handle" in capsys.readouterr().out
