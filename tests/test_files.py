"""Files are written whole or not at all, and of a secret one nothing is left."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from workbench.files import PRIVATE_FILE, partial_of, remove_unfinished, written_atomically


def cut_short(path: Path, secret: bool, seen: Path | None = None) -> None:
    """Write half of a file; what is written has the second name `seen`."""
    with written_atomically(path, secret=secret) as file:
        file.write("half")
        file.flush()
        if seen is not None:
            os.link(partial_of(path), seen)
        raise KeyboardInterrupt


@pytest.mark.parametrize("secret", [False, True])
def test_a_file_is_the_old_one_until_the_new_one_is_whole(tmp_path: Path, secret: bool) -> None:
    path = tmp_path / "file"
    for text in ("old", "new"):
        before = path.read_text() if path.exists() else None
        with written_atomically(path, durable=True, secret=secret) as file:
            file.write(text)
            assert (path.read_text() if path.exists() else None) == before
        assert path.read_text() == text
    assert path.stat().st_mode & 0o777 == PRIVATE_FILE
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("secret", [False, True])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path, secret: bool) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        cut_short(path, secret=secret)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_crash_or_a_failure_left_of_a_secret_is_overwritten(tmp_path: Path) -> None:
    """Seen through a second name of the same blocks."""
    path, seen = tmp_path / "file", tmp_path / "blocks"
    partial_of(path).write_text("left by a crash")
    seen.hardlink_to(partial_of(path))
    with written_atomically(path, secret=True) as file:
        file.write("whole")
    assert seen.read_bytes() == bytes(len("left by a crash"))
    seen.unlink()
    with pytest.raises(KeyboardInterrupt):
        cut_short(path, secret=True, seen=seen)
    assert seen.read_bytes() == bytes(len("half"))
    assert path.read_text() == "whole"


def test_two_may_write_a_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with written_atomically(path) as first:
        with written_atomically(path) as second:
            second.write("second")
        first.write("first")
    assert path.read_text() == "first"


def test_what_a_killed_writer_left_is_removed_by_the_next_and_what_one_at_work_has_stays(tmp_path: Path) -> None:
    """A process that is killed half way leaves its unfinished file, without the lock on it."""
    path = tmp_path / "run.zip"
    code = f"""
import os
import subprocess
import sys
from pathlib import Path
from workbench.files import written_atomically
with written_atomically(Path({str(path)!r})) as file:
    file.write("half")
    file.flush()
    os.kill(os.getpid(), 9)
"""
    for _ in range(2):
        subprocess.run([sys.executable, "-c", code], check=False)
        assert len(list(tmp_path.iterdir())) == 1, "the second one removed what the first one left"
    (left,) = tmp_path.iterdir()
    assert remove_unfinished(tmp_path, "other.zip") == []
    with written_atomically(tmp_path / "other.zip") as file:
        file.write("at work")
        file.flush()
        assert remove_unfinished(tmp_path) == [left]
    assert [found.name for found in tmp_path.iterdir()] == ["other.zip"]
