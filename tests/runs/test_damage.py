"""Files of the workbench's own that cannot be read: one sentence that names the file, and no smaller number than was spent."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.homes import here

from workbench.cli import main
from workbench.errors import DamagedFileError, WorkbenchError
from workbench.privacy.spending.ledger import Ledger
from workbench.runs import finished
from workbench.runs.folder import RunFolder
from workbench.runs.run import Run
from workbench.runs.samples import sample_set
from workbench.runs.store import RunStore
from workbench.runs.verdicts import Verdicts
from workbench.training.state import load_saved

NOISE = bytes(range(256)) * 40


def damage(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(NOISE)


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("ledger.sqlite", lambda: Ledger(here().ledger)),
        ("runs.sqlite", lambda: RunStore(here()).list()),
        ("verdicts.sqlite", lambda: Verdicts(here().verdicts).of("abcdefgh")),
    ],
)
def test_random_bytes_are_one_sentence_that_names_the_file(workbench_home: Path, name: str, read: Callable[[], Any]) -> None:
    damage(workbench_home / name)
    with pytest.raises(DamagedFileError, match=rf"{name}, got a damaged one .*Put a copy of it back"):
        read()
    assert (workbench_home / name).read_bytes() == NOISE


@pytest.mark.parametrize("arguments", [("ledger",), ("runs",), ("train", "dp-merf", "--dataset", "digits", "--epsilon", "1")])
def test_the_command_line_ends_with_the_sentence(
    workbench_home: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    for name in ("ledger.sqlite", "runs.sqlite"):
        damage(workbench_home / name)
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    error = capsys.readouterr().err
    assert (ended.value.code, "damaged" in error, "Traceback" in error) == (2, True, False)


def test_an_overwritten_page_of_the_ledger_is_a_sentence(workbench_home: Path) -> None:
    path = Ledger(here().ledger).path
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()
    content = path.read_bytes()
    path.write_bytes(content[:100] + NOISE[: len(content) - 100])
    with pytest.raises(WorkbenchError, match=r"ledger\.sqlite"):
        Ledger(here().ledger).entries()


@pytest.mark.parametrize("content", [b"", b"short", bytes(33)])
def test_a_key_that_is_none_is_a_sentence(workbench_home: Path, content: bytes) -> None:
    workbench_home.mkdir(parents=True, exist_ok=True)
    (workbench_home / "installation.key").write_bytes(content)
    with pytest.raises(WorkbenchError, match=rf"Expected 32 bytes in .*installation.key, found {len(content)}\. Put a copy"):
        bytes(here().key)


def test_a_key_is_never_seen_half_made(workbench_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.link", lambda *_paths: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        bytes(here().key)
    assert list(workbench_home.glob("*key*")) == []


def test_a_lost_run_says_no_smaller_number_where_the_ledger_is_damaged(
    quick_plan: Callable[..., Any], queue: Callable[..., Run], workbench_home: Path
) -> None:
    run = queue(quick_plan("dp-merf"))
    RunStore(here()).change(run.id, {"starting"}, "aged", state="running", heartbeat=1.0)
    damage(workbench_home / "ledger.sqlite")
    with pytest.raises(DamagedFileError, match=r"ledger\.sqlite"):
        RunStore(here()).get(run.id)


@pytest.mark.parametrize("content", [NOISE, b"", b"PK" + NOISE, b"\x93NUMPY" + NOISE])
def test_damaged_samples_evaluations_and_weights_are_sentences(
    quick_plan: Callable[..., Any], queue: Callable[..., Run], content: bytes
) -> None:
    run = queue(quick_plan("dp-merf"))
    folder = RunFolder(here(), run.id)
    reads: dict[Path, Callable[[], Any]] = {
        folder.samples / "samples.npz": lambda: sample_set(here(), run.id).kept_records(),
        folder.evaluation: lambda: finished.kept_evaluation(here(), run.id),
        folder.model: lambda: load_saved(folder.model),
    }
    for path, read in reads.items():
        path.write_bytes(content)
        with pytest.raises(WorkbenchError, match=rf"{path.name}.* damaged"):
            read()


def test_a_damaged_row_of_the_registry_is_a_sentence(quick_plan: Callable[..., Any], queue: Callable[..., Run]) -> None:
    run = queue(quick_plan("dp-merf"))
    with sqlite3.connect(RunStore(here()).path) as connection:
        connection.execute("UPDATE runs SET plan = '{' WHERE id = ?", (run.id,))
    connection.close()
    with pytest.raises(DamagedFileError, match=r"damaged row"):
        RunStore(here()).get(run.id)
