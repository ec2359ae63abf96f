"""Finished runs from one home to another: whole, private, without a key, and charged where they arrive."""

import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from runs.test_fitting import crash
from support.homes import here

from workbench.cli.commands import run as command
from workbench.errors import WorkbenchError
from workbench.privacy.spending.ledger import Ledger
from workbench.runs import finished
from workbench.runs.archiving.contents import LIST, SEAL
from workbench.runs.archiving.pack import archive_runs
from workbench.runs.archiving.unpack import restore_runs
from workbench.runs.folder import RunFolder
from workbench.runs.labels import label
from workbench.runs.paid import paid_stages
from workbench.runs.release.archive import digest
from workbench.runs.run import Run
from workbench.runs.samples import sample_set
from workbench.runs.store import RunStore
from workbench.runs.verdicts import Verdicts
from workbench.workspace import Workspace

PlanMaker = Callable[..., Any]
Make = Callable[..., Run]


@pytest.fixture
def other(tmp_path: Path) -> Workspace:
    return Workspace.open(tmp_path / "another home ü")


@pytest.fixture
def packed(quick_plan: PlanMaker, train_here: Make, tmp_path: Path) -> tuple[Run, Path]:
    """A finished run with samples, a verdict and labels, in an archive."""
    run = train_here(quick_plan())
    sample_set(here(), run.id).records(30)
    Verdicts(here().verdicts).judge(run.id, 3, "copied", "the same")
    label(here(), run.id, name="Good", tags=["paper"])
    archive_runs(here(), [run.id, run.id], tmp_path / "runs.tar")
    return RunStore(here()).get(run.id), tmp_path / "runs.tar"


def test_it_arrives_whole_and_is_charged_there(packed: tuple[Run, Path], other: Workspace) -> None:
    run, path = packed
    (restored,) = restore_runs(other, path)
    arrived = RunStore(other).get(run.id)
    assert restored.records_found
    assert arrived.fingerprint != run.fingerprint, "each home has its own key"
    same = {"fingerprint", "process", "heartbeat"}
    assert arrived.model_dump(exclude=same) == run.model_dump(exclude=same)
    assert arrived.may_be_released
    mine, there = (Ledger(home.ledger) for home in (here(), other))
    assert there.epsilon_spent(run.id, run.delta) == mine.epsilon_spent(run.id, run.delta)
    assert mine.epsilon_spent(run.id, run.delta).epsilon == run.bound.epsilon, "and it stays spent where it came from"
    assert paid_stages(arrived, there)
    assert Verdicts(other.verdicts).of(run.id) == Verdicts(here().verdicts).of(run.id)
    assert RunFolder(other, run.id).model.read_bytes() == RunFolder(here(), run.id).model.read_bytes()
    assert sample_set(other, run.id).kept_records() is not None
    (measured,) = finished.evaluate_run(other, run.id, 20, metrics=["inception_score"])["results"]
    assert measured["releasable"]


def test_a_home_that_knows_of_more_keeps_it(packed: tuple[Run, Path], other: Workspace) -> None:
    """The same run again, after it was deleted: what was counted stays, and nothing is counted twice."""
    run, path = packed
    restore_runs(other, path)
    Ledger(other.ledger).charge_again(run.id, "release", 2)
    RunStore(other).delete(run.id)
    restore_runs(other, path)
    (stage,) = [stage for stage in Ledger(other.ledger).spent(run.id) if stage.stage == "release"]
    assert (stage.charged, stage.charged_again) == (stage.steps, 2)


def test_a_run_that_is_here_is_refused(packed: tuple[Run, Path]) -> None:
    run, path = packed
    before = RunStore(here()).get(run.id).model_dump()
    with pytest.raises(WorkbenchError, match=f"got {run.id}, which is here. Nothing was restored"):
        restore_runs(here(), path)
    assert RunStore(here()).get(run.id).model_dump() == before


def test_only_finished_runs_are_archived_as_others_rest_on_their_key(
    quick_plan: PlanMaker, queue: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run = queue(quick_plan())
    crash(run, 2, monkeypatch)
    with pytest.raises(WorkbenchError, match=f"got {run.id}, which is lost"):
        archive_runs(here(), [run.id], tmp_path / "runs.tar")
    assert not (tmp_path / "runs.tar").exists()


def test_no_file_that_may_hold_a_key_goes_along(quick_plan: PlanMaker, train_here: Make, tmp_path: Path) -> None:
    run = train_here(quick_plan())
    folder = RunFolder(here(), run.id).path
    for name in ("checkpoint.pt", "checkpoint.pt.previous", "checkpoint.pt.written", "checkpoint.pt.erasing"):
        (folder / name).write_bytes(b"the noise key")
    archive_runs(here(), [run.id], tmp_path / "runs.tar")
    assert b"the noise key" not in (tmp_path / "runs.tar").read_bytes()
    assert here().key not in (tmp_path / "runs.tar").read_bytes()
    assert here().key.hex().encode() not in (tmp_path / "runs.tar").read_bytes()


def rewritten(path: Path, change: Callable[[str, bytes], tuple[str, bytes] | None], *more: tuple[str, bytes]) -> Path:
    """A copy of an archive with its members changed (None leaves one out), and more of them at the end."""
    target = path.with_name("changed.tar")
    with tarfile.open(path) as source, tarfile.open(target, "w") as tar:
        contents = [(member.name, source.extractfile(member).read()) for member in source.getmembers()]  # type: ignore[union-attr]
        for name, content in [*filter(None, (change(*one) for one in contents)), *more]:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return target


def relisted(path: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """A copy of an archive whose list says something else, under a seal that fits."""
    with tarfile.open(path) as source:
        text = source.extractfile(LIST).read()  # type: ignore[union-attr]
    values = json.loads(text)
    change(values)
    new = json.dumps(values).encode()
    return rewritten(path, lambda name, content: (name, {LIST: new, SEAL: digest(new).encode()}.get(name, content)))


def flip(name: str) -> Callable[[str, bytes], tuple[str, bytes]]:
    return lambda member, content: (member, content if not member.endswith(name) else content[:-1] + bytes([content[-1] ^ 1]))


HARM: dict[str, tuple[Callable[[Path], Path], str]] = {
    "a flipped bit of the weights": (lambda path: rewritten(path, flip("model.pt")), "model.pt as it was archived, but its checksum"),
    "a flipped bit of the list": (lambda path: rewritten(path, flip(LIST)), "the file is damaged"),
    "a file that is missing": (lambda path: rewritten(path, lambda *one: None if one[0].endswith("model.pt") else one), "ends before it"),
    "a file too many": (lambda path: rewritten(path, lambda *one: one, ("runs/x", b"")), "that the archive lists, got 'runs/x'"),
    "no list": (lambda path: rewritten(path, lambda *one: None if one[0] == LIST else one), "has no archive.json at its beginning"),
    "a way out": (lambda path: relisted(path, lambda all_: all_["runs"][0]["files"][0].update(path="../../x")), "in the folder of a run"),
    "a key": (lambda path: relisted(path, lambda all_: all_["runs"][0]["files"][0].update(path="checkpoint.pt")), "hold a noise key"),
    "nothing spent": (lambda path: relisted(path, lambda all_: all_["runs"][0].update(ledger=[])), "has spent in the archive, got nothing"),
    "another version": (lambda path: relisted(path, lambda all_: all_.update(format="2")), "Update the workbench"),
    "no tar": (lambda path: path.with_name("no.tar"), "cannot be read"),
    "cut short": (lambda path: path.with_name("cut.tar"), r"cannot be read|ends before it|checksum"),
}


@pytest.mark.parametrize("harm", HARM)
def test_what_is_damaged_or_forged_changes_nothing(harm: str, packed: tuple[Run, Path], other: Workspace) -> None:
    run, path = packed
    path.with_name("no.tar").write_bytes(b"no tar at all" * 100)
    path.with_name("cut.tar").write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    make, said = HARM[harm]
    with pytest.raises(WorkbenchError, match=said):
        restore_runs(other, make(path))
    assert RunStore(other).list() == []
    assert not RunFolder(other, run.id).path.exists()
    assert list(other.runs.glob("*") if other.runs.exists() else ()) == []
    assert not (other.home.parent / "x").exists()


def test_an_archive_that_says_too_little_was_spent_is_charged_for_its_plan(packed: tuple[Run, Path], other: Workspace) -> None:
    run, path = packed

    def less(values: dict[str, Any]) -> None:
        for stage in values["runs"][0]["ledger"][0]["stages"]:
            stage["charged"] = 0

    restore_runs(other, relisted(path, less))
    assert Ledger(other.ledger).epsilon_spent(run.id, run.delta).epsilon == run.bound.epsilon


def test_records_that_are_not_there_are_said_and_the_account_has_the_run_all_the_same(
    packed: tuple[Run, Path], other: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, path = packed
    monkeypatch.setattr("workbench.datasets.reference.DatasetRef.load", lambda *_: (_ for _ in ()).throw(WorkbenchError("gone")))
    monkeypatch.setenv("WORKBENCH_HOME", str(other.home))
    assert command(["restore", str(path)]) == 0
    said = capsys.readouterr()
    assert f"The records of run {run.id} are not here" in said.err
    assert run.id in said.out
    assert [entry.run_id for entry in Ledger(other.ledger).entries(run.plan.facts.name)] == [run.id]


def test_the_command_says_that_an_archive_is_private(packed: tuple[Run, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, _ = packed
    assert command(["archive", run.id, "--to", str(tmp_path / "again.tar")]) == 0
    assert "This archive is private; do not share it." in capsys.readouterr().out
    assert (tmp_path / "again.tar").stat().st_mode & 0o777 == 0o600
    assert command(["archive", run.id, "--to", str(tmp_path / "again.zip")]) == 2
