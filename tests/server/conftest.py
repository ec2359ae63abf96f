"""The app as `workbench app` starts it, on a home in a place that other accounts of the machine can reach."""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OPEN_SECONDS = 60.0


@dataclass(frozen=True)
class Served:
    """An app that is open: what it printed, the address it is at without and with its token, and its process."""

    printed: str
    base: str
    address: str
    home: Path
    process: subprocess.Popen[bytes]

    @property
    def token(self) -> str:
        """The token of the printed address."""
        return self.address.partition("token=")[2]


@pytest.fixture(scope="session")
def reachable() -> Iterator[Path]:
    """A folder that every account may enter, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp(prefix="workbench-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def serve(reachable: Path) -> Callable[..., AbstractContextManager[Served]]:
    """`serve(*options, command=None)`: an open app, within the context."""
    return partial(served, reachable)


@pytest.fixture(scope="session")
def app(serve: Callable[..., AbstractContextManager[Served]]) -> Iterator[Served]:
    """One open app for all tests."""
    with serve() as opened:
        yield opened


@contextmanager
def served(folder: Path, *options: str, command: tuple[str, ...] | None = None) -> Iterator[Served]:
    """Start the app on a free port (`{port}` in `command` is replaced by it) and end it afterwards."""
    port, home = free_port(), folder / "home"
    words = command or (sys.executable, "-m", "workbench.cli", "app", "--port", "{port}", *options)
    environment = {**os.environ, "WORKBENCH_HOME": str(home), "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    log = folder / f"log-{port}.txt"
    with log.open("w") as file:
        started = [word.format(port=port) for word in words]
        process = subprocess.Popen(started, cwd=ROOT, env=environment, stdout=file, stderr=file, start_new_session=True)
    try:
        printed = wait_until_open(log, process)
        addresses = re.findall(r"http://\S+", printed)
        yield Served(printed, f"http://127.0.0.1:{port}", addresses[-1], home, process)
    finally:
        os.killpg(process.pid, 15)
        process.wait(timeout=30)


def wait_until_open(log: Path, process: subprocess.Popen[bytes]) -> str:
    """What the app printed, once it is open."""
    deadline = time.monotonic() + OPEN_SECONDS
    while "http://" not in (text := log.read_text()):
        assert process.poll() is None, f"The app ended:\n{text}"
        assert time.monotonic() < deadline, f"The app did not open:\n{text}"
        time.sleep(0.1)
    return text


def free_port() -> int:
    """A port nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
