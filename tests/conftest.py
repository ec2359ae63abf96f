"""Every test has a workbench home of its own and no access to the user's."""

import sys
from pathlib import Path

import pytest

pytest_plugins = ["support.slow_tier"]


@pytest.fixture(autouse=True)
def workbench_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty `WORKBENCH_HOME`; `WORKBENCH_DATA` is unset."""
    folder = tmp_path / "home"
    monkeypatch.setenv("WORKBENCH_HOME", str(folder))
    monkeypatch.delenv("WORKBENCH_DATA", raising=False)
    return folder


@pytest.fixture(autouse=True)
def own_main_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that a test runs takes the place of `__main__`; processes started by later tests would run that page again."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
