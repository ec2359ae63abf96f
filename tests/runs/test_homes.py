"""Homes as a whole: emptied without a key left behind or an epsilon forgotten, and read where nothing may be written."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from runs.test_fitting import crash
from support.homes import here

from workbench.cli.commands import run as command
from workbench.errors import ReadOnlyHomeError, WorkbenchError
from workbench.privacy.spending.ledger import Ledger
from workbench.runs import finished, homes
from workbench.runs.folder import RunFolder
from workbench.runs.run import Run
from workbench.runs.samples import sample_set
from workbench.runs.store import RunStore
from workbench.workspace import Workspace

PlanMaker = Callable[..., Any]
Make = Callable[..., Run]


def test_a_reset_keeps_what_was_spent_and_overwrites_keys(
    quick_plan: PlanMaker, train_here: Make, queue: Make, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done, lost = train_here(quick_plan()), queue(quick_plan())
    crash(lost, 2, monkeypatch)
    checkpoint = RunFolder(here(), lost.id).checkpoint
    blocks = here().home.parent / "blocks"
    blocks.hardlink_to(checkpoint)
    spent = Ledger(here().ledger).total("digits", delta=1e-5)
    monkeypatch.setattr("typer.confirm", lambda question, **_: print(question))
    assert command(["home", "reset"]) == 1
    assert "2 runs with their weights and samples" in capsys.readouterr().out
    assert [run.id for run in RunStore(here()).list()] == [lost.id, done.id], "nobody said yes"
    assert command(["home", "reset", "--yes"]) == 0
    assert {path.name for path in here().home.iterdir()} <= {
        "installation.key",
        "ledger.sqlite",
        "ledger.sqlite-shm",
        "ledger.sqlite-wal",
        "queue.lock",
    }
    assert not any(blocks.read_bytes())
    assert RunStore(here()).list() == []
    assert Ledger(here().ledger).total("digits", delta=1e-5) == spent
    assert all(entry.closed_at for entry in Ledger(here().ledger).entries())


def test_the_ledger_goes_only_where_somebody_says_that_its_spending_is_to_be_forgotten(quick_plan: PlanMaker, train_here: Make) -> None:
    train_here(quick_plan())
    with pytest.raises(WorkbenchError, match=r"knows of 1 runs on 'digits'\. Without it these records could be spent again unseen"):
        homes.reset(here(), with_ledger=True)
    assert len(RunStore(here()).list()) == 1
    homes.reset(here(), with_ledger=True, forget_spending=True)
    assert Ledger(here().ledger).entries() == []


def test_nothing_is_reset_while_something_waits(quick_plan: PlanMaker, queue: Make) -> None:
    run = queue(quick_plan())
    RunStore(here()).change(run.id, {"starting"}, "paused", state="paused", bytes_needed=2**60)
    with pytest.raises(WorkbenchError, match="nothing is at work and nothing waits"):
        homes.reset(here())
    assert RunStore(here()).get(run.id).state == "paused"


def test_the_command_shows_what_is_there(quick_plan: PlanMaker, train_here: Make, capsys: pytest.CaptureFixture[str]) -> None:
    train_here(quick_plan())
    capsys.readouterr()
    assert command(["home", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["runs"], shown["active_jobs"], shown["read_only"], shown["spent"]) == (1, 0, False, {"digits": 1})
    assert shown["home"] == str(here().home)


@pytest.fixture
def demonstration(quick_plan: PlanMaker, train_here: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """A finished, measured run in the home, which is written no more from now on; the reader has a cache of their own."""
    run = train_here(quick_plan())
    sample_set(here(), run.id).records(30)
    finished.evaluate_run(here(), run.id, 30, metrics=["inception_score"])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return run


@pytest.fixture(params=["marked", "mounted"])
def closed(request: pytest.FixtureRequest, demonstration: Run, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """The demonstration's home, closed by its mark, or on a file system that cannot be written."""
    home = here().home
    if request.param == "marked":
        homes.set_read_only(here(), closed=True)
        yield demonstration
        return
    place = home.parent / "mounted"
    place.mkdir()
    if subprocess.run(["mount", "--bind", home, place], capture_output=True, check=False).returncode:
        pytest.skip("mounting takes rights that this process has not")
    subprocess.run(["mount", "-o", "remount,ro,bind", place], check=True)
    monkeypatch.setenv("WORKBENCH_HOME", str(place))
    yield demonstration
    subprocess.run(["umount", "-l", place], check=True)


def files(home: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in home.rglob("*") if not path.name.endswith(("-shm", "-wal"))}


def test_a_read_only_home_is_read_by_commands_and_those_that_write_say_why_not(
    closed: Run, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    before = files(here().home)
    for reading in (["runs"], ["show", closed.id], ["jobs"], ["queue"], ["ledger"], ["home"], ["clean", "--dry-run"]):
        assert command(reading) == 0, reading
    assert command(["export", closed.id, str(tmp_path / "run.zip")]) == 0
    assert command(["archive", closed.id, "--to", str(tmp_path / "run.tar")]) == 0
    capsys.readouterr()
    train = ["train", "dp-merf", "--dataset", "digits", "--epsilon", "10", "--yes"]
    for writing in (
        train,
        ["delete", closed.id, "--yes"],
        ["label", closed.id, "--name", "x"],
        ["home", "reset", "--yes"],
        ["evaluate", closed.id],
    ):
        assert command(writing) == 2, writing
        assert "which is read-only: nothing can be started, changed or deleted in it" in capsys.readouterr().err, writing
    assert files(here().home) == before
    assert {run.id for run in RunStore(here()).list()} == {closed.id}


def test_a_closed_home_is_opened_again(demonstration: Run) -> None:
    assert command(["home", "close"]) == 0
    with pytest.raises(ReadOnlyHomeError):
        RunStore(here()).delete(demonstration.id)
    assert command(["home", "reopen"]) == 0
    RunStore(here()).delete(demonstration.id)


def test_a_read_only_home_that_is_empty_opens_too(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "read-only").touch()
    workspace = Workspace.open(tmp_path / "home")
    assert RunStore(workspace).list() == []
    assert Ledger(workspace.ledger).entries() == []
    assert os.listdir(workspace.home) == ["read-only"]
