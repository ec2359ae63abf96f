"""The home is its owner's alone: what is made in it, and what was left open to others."""

import logging
import os
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.homes import here

from workbench import runs
from workbench.errors import WorkbenchError
from workbench.privacy.spending.ledger import Ledger
from workbench.runs import finished
from workbench.runs.verdicts import Verdicts
from workbench.training.state import PerformanceSettings
from workbench.workspace import close_to_others

METRICS = ["accuracy_logistic_regression", "inception_score"]


def open_to_others(folder: Path) -> list[str]:
    """Every file and folder of `folder`, itself included, on which other accounts have any right."""
    return sorted(str(path) for path in (folder, *folder.rglob("*")) if path.lstat().st_mode & (stat.S_IRWXG | stat.S_IRWXO))


@pytest.fixture(autouse=True)
def no_umask() -> Iterator[None]:
    """A process that leaves every right that it asks for."""
    before = os.umask(0)
    yield
    os.umask(before)


def test_everything_in_the_home_is_private_whatever_the_umask(quick_plan: Callable[..., Any], workbench_home: Path) -> None:
    run = runs.wait(
        here(),
        runs.launch(here(), quick_plan(), "digits", performance=PerformanceSettings(device="cpu", num_threads=1)).id,
    )
    assert run.state == "done", run.error
    finished.evaluate_run(here(), run.id, 40, metrics=METRICS)
    finished.neighbours_run(here(), run.id, num_samples=40)
    Verdicts(here().verdicts).judge(run.id, 0, "fine")
    with closing(sqlite3.connect(workbench_home / "runs.sqlite")) as connection:  # so that SQLite's logs are there
        connection.execute("BEGIN IMMEDIATE")
        names = {path.name for path in workbench_home.rglob("*")}
        assert {"runs.sqlite", "runs.sqlite-wal", "ledger.sqlite", "verdicts.sqlite", "installation.key", "evaluation.json"} <= names
        assert {"samples.npz", "latest.png", "log.txt", "metrics.jsonl", "plan.json", "model.pt", "lock", "worker.lock"} <= names
        assert open_to_others(workbench_home) == []


def test_a_home_that_was_open_is_closed_on_opening_and_one_sentence_says_so(workbench_home: Path, caplog: pytest.LogCaptureFixture) -> None:
    here()
    Ledger(here().ledger)
    workbench_home.chmod(0o755)
    (workbench_home / "ledger.sqlite").chmod(0o644)
    (workbench_home / "runs" / "abcdefgh").mkdir(parents=True)
    (workbench_home / "runs" / "abcdefgh" / "model.pt").write_text("weights")
    close_to_others.cache_clear()  # as a new process does
    with caplog.at_level(logging.WARNING):
        here()
        here()
    assert open_to_others(workbench_home) == []
    assert [record.getMessage() for record in caplog.records] == [
        f"Closed {workbench_home} to the other accounts of this machine: 5 of its files and folders gave them rights."
    ]


def test_a_home_behind_a_link_is_closed_too(workbench_home: Path, tmp_path: Path) -> None:
    (place := tmp_path / "place").mkdir(mode=0o755)
    workbench_home.parent.mkdir(parents=True, exist_ok=True)
    workbench_home.symlink_to(place)
    here()
    assert stat.S_IMODE(place.stat().st_mode) == 0o700


def test_the_key_is_private_from_its_first_moment(workbench_home: Path) -> None:
    bytes(here().key)
    assert open_to_others(workbench_home) == []


def test_a_new_home_says_nothing(workbench_home: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert stat.S_IMODE(here().home.stat().st_mode) == 0o700
    assert caplog.records == []


def test_a_folder_of_other_things_is_not_closed(workbench_home: Path) -> None:
    workbench_home.mkdir()
    (workbench_home / "thesis.tex").write_text("words")
    with pytest.raises(WorkbenchError, match=r"got one of other things\. Set WORKBENCH_HOME"):
        here()
    assert stat.S_IMODE(workbench_home.stat().st_mode) == 0o777
    assert stat.S_IMODE((workbench_home / "thesis.tex").stat().st_mode) == 0o666


def test_a_folder_that_all_share_is_no_home(workbench_home: Path) -> None:
    workbench_home.mkdir()
    workbench_home.chmod(0o1777)  # as /tmp is
    with pytest.raises(WorkbenchError, match=r"got one of other things\. Set WORKBENCH_HOME"):
        here()
    assert stat.S_IMODE(workbench_home.stat().st_mode) == 0o1777


def test_a_link_in_the_home_is_not_followed(workbench_home: Path, tmp_path: Path) -> None:
    (elsewhere := tmp_path / "elsewhere.npz").write_text("records")
    (workbench_home / "runs").mkdir(parents=True)
    (workbench_home / "runs" / "link.npz").symlink_to(elsewhere)
    here()
    assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o666
