"""SQLite files: every version takes the same steps to today's, all or none, and a newer one is left alone."""

import sqlite3
from pathlib import Path

import pytest

from workbench.errors import WorkbenchError
from workbench.sqlite import Database, Migration, statements, version_of

FIRST = statements("CREATE TABLE words (word TEXT)")
SECOND = statements("ALTER TABLE words ADD COLUMN length INTEGER NOT NULL DEFAULT 0", "UPDATE words SET length = length(word)")


def database(path: Path, *migrations: Migration) -> Database:
    """A database of words."""
    return Database(path / "words.sqlite", "list of words", migrations, "Write it anew.")


def test_an_old_file_takes_the_steps_that_it_lacks_and_keeps_its_rows(tmp_path: Path) -> None:
    old, new = database(tmp_path, FIRST), database(tmp_path, FIRST, SECOND)
    old.prepare()
    with old.transaction() as connection:
        connection.execute("INSERT INTO words VALUES ('seven')")
    new.prepare()
    new.prepare()
    with new.connected() as connection:
        assert version_of(connection) == 2
        assert [tuple(row) for row in connection.execute("SELECT * FROM words")] == [("seven", 5)]


def test_a_step_that_fails_takes_none(tmp_path: Path) -> None:
    database(tmp_path, FIRST).prepare()
    with pytest.raises(sqlite3.OperationalError):
        database(tmp_path, FIRST, SECOND, statements("SELECT nonsense")).prepare()
    with database(tmp_path).connected() as connection:
        assert version_of(connection) == 1
        assert len(connection.execute("SELECT * FROM words").description) == 1


def test_a_newer_file_is_refused(tmp_path: Path) -> None:
    database(tmp_path, FIRST, SECOND).prepare()
    with pytest.raises(WorkbenchError, match=r"Expected list of words version 1 in .*, got 2"):
        database(tmp_path, FIRST).prepare()


def test_a_damaged_file_is_a_sentence_with_its_remedy(tmp_path: Path) -> None:
    (tmp_path / "words.sqlite").write_bytes(b"no database" * 100)
    with pytest.raises(WorkbenchError, match="Write it anew"):
        database(tmp_path, FIRST).prepare()


def test_a_file_on_a_network_file_system_is_refused_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.sqlite.network_file_system", lambda _: "nfs4")
    with pytest.raises(WorkbenchError, match=r"got .* on a network file system \(nfs4\): .*WORKBENCH_HOME"):
        Database(tmp_path / "words.sqlite", "list of words", (statements("CREATE TABLE words (word TEXT)"),), "").prepare()
    assert not list(tmp_path.iterdir())
