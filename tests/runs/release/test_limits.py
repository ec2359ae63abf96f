"""What a check of a stranger's export may take of this machine's memory."""

import resource

import numpy as np
import pytest

from workbench.runs.release.weights import memory_at_most

SMALL, LARGE = 2**26, 2**31


def limit() -> tuple[int, int]:
    return resource.getrlimit(resource.RLIMIT_AS)


def test_memory_is_limited_within_the_block_and_as_before_after_it() -> None:
    before = limit()
    with memory_at_most(SMALL):
        assert limit()[0] != resource.RLIM_INFINITY
        with pytest.raises(MemoryError):
            np.empty(LARGE, np.uint8)
    assert limit() == before
    assert np.empty(LARGE, np.uint8).nbytes == LARGE, "room, though nothing of it is touched"


def test_a_limit_that_was_there_is_never_raised() -> None:
    before = limit()
    with memory_at_most(SMALL):
        own = limit()
        with memory_at_most(2 * LARGE), pytest.raises(MemoryError):
            np.empty(LARGE, np.uint8)
        assert limit() == own
    assert limit() == before


def test_the_limit_goes_though_what_it_is_for_fails() -> None:
    before = limit()
    with pytest.raises(ZeroDivisionError), memory_at_most(SMALL):
        _ = 1 / 0
    assert limit() == before
