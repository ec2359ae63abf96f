"""What can go of a home: nothing that somebody made or spent, nothing in use, and the noise key of what nobody knows overwritten."""

import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.homes import here

from workbench.cli.commands import run as command
from workbench.files import open_private
from workbench.plan import Plan
from workbench.runs import housekeeping
from workbench.runs.run import Run

LATER = 7200.0
HEX = "0123456789abcdef"


def written(path: Path, size: int = 10) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(size))
    return path


def paths() -> set[Path]:
    return {one.path for one in housekeeping.removable(here(), time.time() + LATER)}


def test_only_what_is_made_again_or_was_left_behind_can_go(quick_plan: Callable[..., Plan], queue: Callable[..., Run]) -> None:
    run, home = queue(quick_plan()), here().home
    cached, pace = written(here().cache / "evaluation" / "ceiling.json"), written(here().cache / "pace" / "a.json")
    left, orphan = (
        written(home / "runs" / run.id / f".model.pt.{HEX}.partial"),
        written(home / "runs" / "aaaabbbb" / "checkpoint.pt").parent,
    )
    half = written(home / "runs" / ".restoring.0" / "abcdefgh" / "model.pt").parents[1]
    strange = written(home / "runs" / "My notes" / "a.txt")
    assert paths() == {cached, left, orphan, half}
    assert {one.path for one in housekeeping.removable(here())} == {left}, "what is young may be in use"
    freed = housekeeping.clean(here(), housekeeping.removable(here(), time.time() + LATER))
    assert freed == 40
    assert [path.exists() for path in (cached, left, orphan, half)] == [False] * 4
    assert [path.exists() for path in (pace, strange, home / "runs" / run.id / "plan.json", here().registry, here().ledger)] == [True] * 5


def test_a_file_that_somebody_is_writing_stays() -> None:
    path = written(here().home / "runs" / f".a.{HEX}.partial")
    with open_private(path, "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert paths() == set()
        housekeeping.clean(here(), [housekeeping.Removable(path, 10, housekeeping.LEFT)])
        assert path.exists()
    assert paths() == {path}


def test_what_was_read_lately_stays() -> None:
    path = written(here().cache / "a.npy")
    os.utime(path, (time.time(), time.time() - LATER))
    assert housekeeping.removable(here()) == []
    os.utime(path, (time.time() - LATER, time.time() - LATER))
    assert [one.path for one in housekeeping.removable(here())] == [path]


def test_the_command_lists_asks_and_removes(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(here().cache / "a.npy", 3 * 2**20)
    os.utime(path, (0, 0))
    assert command(["clean", "--dry-run"]) == 0
    printed = capsys.readouterr().out
    assert "3 MiB" in printed
    assert "3145728" in printed
    assert path.exists()
    assert command(["clean", "--yes"]) == 0
    assert "Freed 3 MiB" in capsys.readouterr().out
    assert not path.exists()
