"""Every test has a workbench home of its own and no access to the user's."""

import fcntl
import gc
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

pytest_plugins = [
    "support.components_scanned_once",
    "support.drawn_once",
    "support.few_attacks",
    "support.sharing",
    "support.slow_tier",
    "support.trained_once",
    "support.warm_kernels",
    "support.warm_workers",
]

LONG = ("tests/browser/", "tests/test_notebooks", "tests/runs/", "tests/server/")


def pytest_configure() -> None:
    """Collect garbage rarely: torch, Streamlit and thousands of tests are many objects to look through each time."""
    gc.set_threshold(50_000, 20, 20)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files begin first: workers that take file after file then end together, and none waits for the others' last minutes."""
    items.sort(key=lambda item: not any(place in item.path.as_posix() for place in LONG))


@pytest.fixture(autouse=True)
def workbench_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty `WORKBENCH_HOME`, whose queue ends with the test; `WORKBENCH_DATA` is unset."""
    folder = tmp_path / "home"
    monkeypatch.setenv("WORKBENCH_HOME", str(folder))
    monkeypatch.delenv("WORKBENCH_DATA", raising=False)
    yield folder
    for lock in tmp_path.glob("*/queue.lock"):
        end_queue(holder(lock))


def holder(lock: Path) -> str:
    """The process that has the lock; one that is only just beginning writes its number down in a moment. "" where none has it."""
    with lock.open() as file:
        for _ in range(100):
            if pid := lock.read_text().strip():
                return pid
            with suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return ""
            time.sleep(0.1)
    return ""


def end_queue(pid: str) -> None:
    """End the queue's process of a test's home: what the test left waiting is not to begin after it."""
    with suppress(ValueError, psutil.Error):
        process = psutil.Process(int(pid))
        if "workbench.jobs.queue.process" in process.cmdline():
            process.kill()


@pytest.fixture(autouse=True)
def own_main_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that a test runs takes the place of `__main__`; processes started by later tests would run that page again."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
