"""Every test has a workbench home of its own and no access to the user's."""

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
