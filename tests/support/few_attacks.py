"""The panel of the attacker with as many runs as the visitor sees; tests/teaching has all of them."""

from collections.abc import Iterator

import pytest

from workbench.teaching import attacking


@pytest.fixture
def few_attacks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What was attacked before is forgotten, and so is what the test attacks: the next test finds all runs."""
    monkeypatch.setattr(attacking, "RUNS", attacking.SHOWN)
    attacking.attack.cache_clear()
    yield
    attacking.attack.cache_clear()
