"""The exponential mechanism draws with the weights it states, from exact integers."""

import math
from collections.abc import Callable
from decimal import Decimal, localcontext

import numpy as np
import pytest

from workbench.errors import WorkbenchError
from workbench.training.exponential import PRECISION, choice_distance, weighted_choice, weights
from workbench.training.randomness import Randomness


def always(byte: int) -> Callable[[int], bytes]:
    return lambda count: bytes([byte]) * count


def test_weights_are_the_exponentials_to_within_one_part_in_2_to_the_255() -> None:
    scores, rate = [3.25, -1.0, 3.0, 0.1], 0.7
    with localcontext() as exact:
        exact.prec = 150
        for weight, score in zip(weights(scores, rate), scores, strict=True):
            true = (Decimal(rate) * (Decimal(score) - Decimal("3.25"))).exp() * 2**PRECISION
            assert 0 <= true - weight < 2
    assert weights([0.0, -1e9], 1.0) == [2**PRECISION, 0]


def test_the_smallest_and_the_largest_number_pick_the_ends() -> None:
    scores = np.array([1.0, 2.0, 0.0])
    assert weighted_choice(always(0), scores, 1.0) == 0
    assert weighted_choice(always(255), scores, 1.0) == 2
    assert weighted_choice(always(255), np.array([1.0, -1e9]), 1.0) == 0, "what has no weight is never drawn"


def test_each_is_drawn_as_often_as_its_weight() -> None:
    scores, rate, count = np.array([0.0, 1.0, 2.5]), 0.8, 4_000
    randomness = Randomness.from_seed(0)
    drawn = [randomness.choose("choice", step, scores, rate) for step in range(count)]
    shares = np.exp(rate * scores) / np.exp(rate * scores).sum()
    np.testing.assert_allclose(np.bincount(drawn) / count, shares, atol=4 * math.sqrt(0.25 / count))
    assert drawn[:50] == [Randomness.from_seed(0).choose("choice", step, scores, rate) for step in range(50)]


@pytest.mark.parametrize(("scores", "rate"), [([], 1.0), ([math.nan, 1.0], 1.0), ([1.0], math.inf)])
def test_what_has_no_weights_is_refused(scores: list[float], rate: float) -> None:
    with pytest.raises(WorkbenchError, match="Expected finite scores"):
        weighted_choice(always(0), np.array(scores), rate)


def test_the_distance_grows_with_the_candidates() -> None:
    assert choice_distance(10) == 10 * choice_distance(1) < 1e-70
