"""What every test of the methods does without."""

from collections.abc import Callable

import pytest


@pytest.fixture(autouse=True)
def memory_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """These networks fit at any size, and counting tensor by tensor takes a tenth of the time; tests/training holds the counting."""

    def run_uncounted(run: Callable[[], object]) -> int:
        run()
        return 1

    monkeypatch.setattr("workbench.training.private_step.peak_of", run_uncounted)
