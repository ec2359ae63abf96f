"""A clock that is set back while a run begins, trains and ends: nothing is lost, and nothing is counted less."""

import mmap
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from slow.test_faults import DEPENDS, Forked, counts, finished, forked, model, train

__all__ = ["forked"]  # the fixture that has workers as forks
MOMENTS = 24


class Clock:
    """The system's clock, set back two hours after `at` looks at it by this process and its forks."""

    def __init__(self, at: float) -> None:
        self.real, self.at, self.memory = time.time, at, mmap.mmap(-1, 8)  # which forks share

    @property
    def looks(self) -> int:
        return int.from_bytes(self.memory[:8], "little")

    def __call__(self) -> float:
        looks = self.looks + 1
        self.memory[:8] = looks.to_bytes(8, "little")
        return self.real() - 7200.0 * (looks > self.at)


@pytest.mark.slow(depends=[*DEPENDS, "tests/slow/test_faults.py"])
def test_a_clock_that_is_set_back_anywhere_in_a_run_loses_nothing(
    forked: Forked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, figures: dict[str, Any]
) -> None:
    del forked
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "alone"))
    train()
    alone = finished()
    weights, charged = model(alone), counts(alone.id)

    def looks_until_the_end(at: float) -> int:
        monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / str(at)))
        clock = Clock(at)
        with monkeypatch.context() as patched:
            patched.setattr(time, "time", clock)
            assert train() == 0
            run = finished()
        assert (run.state, run.attempt, counts(run.id)) == ("done", 1, charged), at
        assert all(torch.equal(model(run)[name], value) for name, value in weights.items()), at
        return clock.looks

    looks = looks_until_the_end(float("inf"))
    moments = [looks * number // MOMENTS for number in range(MOMENTS)]
    assert len(set(moments)) == MOMENTS, "each is another"
    assert all(looks_until_the_end(at) > at for at in moments), "it was set back within the run"
    figures |= {"looks at the clock in a run": looks, "of these, at which it was set back": MOMENTS}
