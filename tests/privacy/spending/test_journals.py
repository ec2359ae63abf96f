"""Journals count every step that any process may have drawn: in whatever order, and more where they cannot be read."""

import os
import shutil
import sqlite3
from pathlib import Path

import pytest
from dp_accounting import GaussianDpEvent
from support.homes import here
from support.launchers import KilledError, kill

from workbench.files import READ_ONLY
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.spending import journals
from workbench.privacy.spending.journals import Journal, journal_path, new_journal, read_journals, take_lease
from workbench.privacy.spending.ledger import Ledger

STEPS = 10
STAGES = [Stage("public", None, "free", 5), Stage("train", GaussianDpEvent(1.0), "per_step", STEPS)]


@pytest.fixture
def folder(workbench_home: Path) -> Path:
    """Where the journals of a run lie that has charged two steps, and one again, before there were any."""
    ledger = Ledger(here().ledger)
    ledger.open_run("run", "data", "digits", "dpdm", STAGES, 1e-5)
    ledger.charge("run", "train", 2)
    ledger.charge_again("run", "train", 1)
    made = here().runs / "run" / "away"
    made.mkdir(parents=True)
    ledger.send_away("run", made)
    return made


def taken(folder: Path) -> Journal:
    number = new_journal(folder)
    take_lease(folder, number)
    return Journal(journal_path(folder, number))


def counted() -> tuple[int, int]:
    stage = Ledger(here().ledger).spent("run")[1]
    return stage.charged, stage.charged_again


def test_steps_count_once_a_lineage(folder: Path) -> None:
    one, two, three = taken(folder), taken(folder), taken(folder)
    one.charge("", "train", 1, 4)
    assert counted() == (4, 1), "of the home's own lineage, which had two"
    two.charge("b", "train", 3, 5)
    assert counted() == (5, 2)
    one.charge("", "train", 1, 6)
    assert counted() == (6, 3)
    three.charge("b", "train", 4, 6)
    assert counted() == (6, 4)
    three.charge("b", "train", 4, 6)
    one.charge_again("train", 2)
    assert counted() == (6, 6)


def test_what_is_closed_is_read_on_until_the_home_says_so(folder: Path) -> None:
    one, two = taken(folder), taken(folder)
    one.charge("", "train", 0, STEPS)
    one.close()
    assert counted() == (STEPS, 1)
    two.charge("b", "train", 2, STEPS)
    assert counted() == (STEPS, 9)
    Ledger(here().ledger).close_run("run")
    shutil.rmtree(folder)
    assert counted() == (STEPS, 9)


def test_what_a_crash_cut_short_was_not_durable(folder: Path) -> None:
    journal = taken(folder)
    journal.charge("", "train", 0, 4)
    with journal.path.open("a") as file:
        file.write('{"lineage": "", "stage": "train", "start": 0, "step": 5} 1234')
    assert counted() == (4, 1)


@pytest.mark.parametrize(
    "damage", ['{"stage": "train", "st\0\0": 3}', "\0" * 30, "null", '{"step": 3}', '{"stage":"train","step":null}', "", "\xff"]
)
def test_a_journal_that_is_damaged_counts_as_all_until_it_is_mended(folder: Path, damage: str) -> None:
    taken(folder).charge("b", "train", 2, 3)
    journal = taken(folder)
    journal.charge("c", "train", 2, 4)
    whole = journal.path.read_bytes()
    journal.path.write_text(f"{damage}\n")
    assert counted() == (STEPS, 4), "two, one again, one of the other journal, and ten"
    journal.path.write_bytes(whole)
    assert counted() == (4, 2)


def test_every_flipped_bit_of_a_row_is_found(folder: Path) -> None:
    journal = taken(folder)
    journal.charge("c", "train", 2, 4)
    whole = journal.path.read_bytes()
    for place in range(8 * (len(whole) - 1)):
        flipped = bytearray(whole)
        flipped[place // 8] ^= 1 << place % 8
        journal.path.write_bytes(bytes(flipped))
        assert read_journals(folder).unread == 1, place


def charged_often(journal: Journal) -> None:
    for _ in range(20):
        journal.charge("b", "train", 2, 4)


def test_a_long_journal_is_written_shorter_and_says_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals, "LONG", 512)
    monkeypatch.setattr(os, "fsync", lambda _: None)
    one, two = taken(folder), taken(folder)
    for step in range(3, STEPS + 1):
        one.charge("", "train", 2, step)
        two.charge("b", "train", 2, step)
        two.charge("c", "train", 1, min(step, 5))
        two.charge_again("train", 1)
        two.charge_again("other", 1)
        assert read_journals(folder).counts == {"train": (step, 2 * (step - 2) + min(step, 5))}
    two.close()
    for _ in range(10):
        charged_often(two)
        assert two.path.stat().st_size < 2 * 512
    assert read_journals(folder).is_closed
    assert counted() == (STEPS, 2 * (STEPS - 2) + 5)


def test_a_journal_whose_process_is_killed_while_it_writes_it_shorter_is_whole(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals, "LONG", 512)
    journal = taken(folder)
    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", lambda *_: kill())
        with pytest.raises(KilledError):
            charged_often(journal)
    assert counted() == (4, 1)


def test_a_journal_that_cannot_be_written_shorter_stays_as_it_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journals, "LONG", 512)
    journal = taken(folder)

    def refused(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", refused)
        charged_often(journal)
    assert counted() == (4, 1)
    with journal.path.open("r+") as file:
        file.write("[")
    charged_often(journal)
    assert counted() == (STEPS, 3), "one that is damaged is not made whole by its process"


def test_a_journal_that_somebody_removed_counts_as_all(folder: Path) -> None:
    journal = taken(folder)
    journal.charge("b", "train", 2, 3)
    journal.path.unlink()
    assert counted() == (STEPS, 3)
    taken(folder)
    assert counted() == (STEPS, 3), "its number is not given again"


def test_a_folder_that_cannot_be_read_counts_as_all_until_it_can(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken(folder).charge("b", "train", 2, 4)
    assert counted() == (4, 1)

    def refused(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(os, "listdir", refused)
        patched.setattr(os, "scandir", refused)
        assert counted() == (STEPS, 1)
        spent = Ledger(here().ledger).epsilon_spent("run", 1e-5)
        assert (spent.status, "Journals of run cannot be read now" in spent.reason) == ("approximation", True)
        Ledger(here().ledger).close_run("run")
        assert counted() == (STEPS, 1)
    assert counted() == (4, 1)
    assert Ledger(here().ledger).total("digits").status == "proved"
    folder.rename(folder.with_name("elsewhere"))
    assert counted() == (STEPS, 1)
    folder.with_name("elsewhere").rename(folder)
    (folder / "account.json").write_text("null\n")
    assert counted() == (STEPS, 1)


def test_two_journals_that_are_damaged_count_as_two_processes(folder: Path) -> None:
    for lineage in "abc":
        taken(folder).charge(lineage, "train", 2, 4)
    for number in (1, 3):
        journal_path(folder, number).write_text("damaged\n")
    assert counted() == (STEPS, 2 + 1 + 2 + STEPS), "the home's, one again, those of one process, and all of two, less the first's"
    shutil.rmtree(folder)
    assert counted() == (STEPS, 2 + 1 + 2 + STEPS), "and no less once nothing can be read"


def test_what_a_process_charged_before_it_looked_is_read_when_the_run_is_closed(folder: Path) -> None:
    ledger = Ledger(here().ledger)
    taken(folder).charge("b", "train", 2, 5)
    ledger.close_run("run")
    assert not Ledger.knows_away(here().ledger, "run")
    assert counted() == (5, 1)


def test_a_run_that_is_sent_again_may_spend_again(folder: Path) -> None:
    ledger = Ledger(here().ledger)
    ledger.close_run("run")
    assert ledger.entry("run").closed_at is not None
    ledger.send_away("run", folder)
    assert ledger.entry("run").closed_at is None


def test_a_home_that_moves_takes_its_journals_along(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken(folder).charge("b", "train", 2, 4)
    here().home.rename(tmp_path / "moved")
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "moved"))
    assert counted() == (4, 1)


def test_a_ledger_that_was_put_back_learns_of_a_run_where_it_is_sent_again(folder: Path) -> None:
    taken(folder).charge("b", "train", 2, 4)
    here().ledger.unlink()
    sqlite3.connect(here().ledger).close()
    assert not Ledger.knows_away(here().ledger, "run")
    Ledger(here().ledger).send_away("run", folder)
    assert counted() == (4, 1)
    assert Ledger(here().ledger).entry("run").fingerprint == "data"


def test_a_home_that_is_closed_says_what_it_knew(folder: Path) -> None:
    (here().home / READ_ONLY).touch()
    taken(folder).charge("b", "train", 2, 4)
    assert counted() == (2, 1)
    assert Ledger(here().ledger).entry("run").closed_at is None, "it counts with all that it may spend"
