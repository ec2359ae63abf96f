"""Files are written whole or not at all."""

import subprocess
import sys
from pathlib import Path

import pytest

from workbench.files import PRIVATE_FILE, network_file_system, remove_unfinished, written_atomically


def test_a_file_is_the_old_one_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for text in ("old", "new"):
        before = path.read_text() if path.exists() else None
        with written_atomically(path, durable=True) as file:
            file.write(text)
            assert (path.read_text() if path.exists() else None) == before
        assert path.read_text() == text
    assert path.stat().st_mode & 0o777 == PRIVATE_FILE
    assert list(tmp_path.iterdir()) == [path]


def write_half(path: Path) -> None:
    with written_atomically(path) as file:
        file.write("half")
        file.flush()
        raise KeyboardInterrupt


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        write_half(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


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
    assert [entry.name for entry in tmp_path.iterdir()] == ["other.zip"]


MOUNTS = """/dev/vda / ext4 rw 0 0
server:/home /home nfs4 rw 0 0
/dev/vdb /home/local ext4 rw 0 0
me@host: /mnt/with\\040space fuse.sshfs rw 0 0
overlay /merged fuse.fuse-overlayfs rw 0 0
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/data/x", ""), ("/home/me/x", "nfs4"), ("/home/local/me", ""), ("/mnt/with space/x", "fuse.sshfs"), ("/merged/x", "")],
)
def test_a_network_file_system_is_known_by_its_mount(path: str, kind: str) -> None:
    assert network_file_system(Path(path), MOUNTS) == kind
