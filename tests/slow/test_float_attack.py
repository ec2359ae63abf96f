"""An attack on the floating-point noise of DP-SGD (Mironov 2012): what the last bits of a release tell of the sum below the noise.

One full-batch step of the optimiser itself on 200 000 weights, the gradient known, sigma 10. Without the record the sum is zero, with it
a known vector of norm C. Whoever subtracts a candidate's sum from a release of floats sees whether a noise that the sampler can make is
left: of the noisy sum itself, or of the weights after one step of Adam. Against noise in integers, the same statistics tell nothing.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

from workbench.privacy.accounting.gaussian import gdp_epsilon
from workbench.training.grid import gradient_grid
from workbench.training.private_optimizer import PrivateOptimizer
from workbench.training.randomness import Randomness

WEIGHTS, SIGMA, DELTA, RUNS, DIVISOR = 200_000, 10.0, 1e-5, 400, 1000.0
RATE, NEAR, ULPS = 1e-3, 3e-7, 400  # Adam's learning rate, the largest gradient of which enough is left, floats to either side of it
Wrapped = Callable[[torch.nn.Parameter], torch.optim.Optimizer]
Statistic = Callable[[np.ndarray, np.ndarray], float]


class FloatOptimizer(PrivateOptimizer):
    """The noise as it was: a float64 normal, rounded to float32, scaled and added to the float32 sum."""

    def _release(self, sums: list[torch.Tensor]) -> None:
        stream = self.randomness.stream(self.purpose, self.noise_step)
        for value in sums:
            noise = torch.from_numpy(stream.standard_normal(tuple(value.shape)).astype(np.float32))
            value.add_(noise, alpha=self.noise_multiplier * self.max_grad_norm)


def descent(weights: torch.nn.Parameter) -> torch.optim.Optimizer:
    """Leaves in the weights what it is given."""
    return torch.optim.SGD([weights], lr=1.0)


def adam(weights: torch.nn.Parameter) -> torch.optim.Optimizer:
    """Leaves about the sign of what it is given, and more where that is near its own 1e-8."""
    return torch.optim.Adam([weights], lr=RATE)


def released(kind: type[PrivateOptimizer], seed: int, gradient: torch.Tensor, wrapped: Wrapped) -> np.ndarray:
    """The weights after one step from zero: `wrapped` is given the noisy sum, divided by the batch size."""
    weights = torch.nn.Parameter(torch.zeros(WEIGHTS))
    optimizer = kind(
        wrapped(weights),
        noise_multiplier=SIGMA,
        max_grad_norm=1.0,
        divisor=DIVISOR,
        expected_batch_size=DIVISOR,
        randomness=Randomness.from_seed(seed),
        purpose="attacked",
    )
    optimizer.noise_step = 1
    optimizer.add_clipped({weights: gradient.clone()})
    optimizer.step()
    return weights.detach().numpy()


def explained(quotient: np.ndarray, gradient: np.ndarray) -> np.ndarray:
    """Which numbers a float32 of noise can explain: those of which some neighboring float of it gives the quotient to the bit.

    The noise is fl32(n), n a float64 normal, and the quotient is fl(fl(g + fl(SIGMA n)) / 1000).
    """
    noise = ((quotient.astype(np.float64) * DIVISOR - gradient) / SIGMA).astype(np.float32)
    matches = np.zeros(quotient.shape, dtype=bool)
    for step in range(-3, 4):
        candidate = noise.copy()
        for _ in range(abs(step)):
            candidate = np.nextafter(candidate, np.float32(np.inf if step > 0 else -np.inf))
        total = torch.from_numpy(gradient.astype(np.float32)).add(torch.from_numpy(candidate), alpha=SIGMA)
        matches |= (total / DIVISOR).numpy() == quotient
    return matches


def tied(weights: np.ndarray, known: np.ndarray) -> float:
    """Of the weights that plain descent leaves: how many more of them the record's sum explains than no sum."""
    return float(explained(-weights, known).sum() - explained(-weights, np.zeros(WEIGHTS, np.float32)).sum())


def untied(weights: np.ndarray, known: np.ndarray) -> float:
    """Of the weights that Adam leaves: how many come from no float that the record's sum explains.

    Adam's first step is g / (|g| + 1e-8), from which a g near 1e-8 can be had back, to within some neighboring floats: each is tried.
    """
    near = np.flatnonzero(np.abs(weights) < RATE * NEAR / (NEAR + 1e-8))
    ratio = np.abs(weights[near].astype(np.float64)) / RATE
    middle = (-np.sign(weights[near]) * 1e-8 * ratio / (1 - ratio)).astype(np.float32)
    floats = (middle.view(np.int32)[:, None] + np.arange(-ULPS, ULPS + 1, dtype=np.int32)).view(np.float32)
    parameter = torch.nn.Parameter(torch.zeros(floats.shape))
    parameter.grad = torch.from_numpy(floats.copy())
    adam(parameter).step()
    possible = parameter.detach().numpy() == weights[near][:, None]
    assert not possible[:, [0, -1]].any(), "every float that gives the weight is tried"
    return float((~(possible & explained(floats, known[near][:, None].repeat(floats.shape[1], 1))).any(axis=1)).sum())


def measured(kind: type[PrivateOptimizer], wrapped: Wrapped, statistic: Statistic) -> tuple[float, float]:
    """The lower bound on epsilon with 95 % confidence at DELTA, and the share of right guesses, of a rule fixed on other runs."""
    draw = np.random.default_rng(0).standard_normal(WEIGHTS)
    known = (draw / np.linalg.norm(draw)).astype(np.float32)
    nothing = torch.zeros(WEIGHTS)

    def score(seed: int, joined: bool) -> float:
        return statistic(released(kind, seed + 5_000 * joined, torch.from_numpy(known) if joined else nothing, wrapped), known)

    tries = {joined: np.array([score(10_000 + seed, joined) for seed in range(40)]) for joined in (False, True)}
    bar, higher = (tries[True].mean() + tries[False].mean()) / 2, bool(tries[True].mean() >= tries[False].mean())
    above = {joined: sum(score(seed, joined) > bar for seed in range(RUNS)) for joined in (False, True)}
    right, wrong = above[higher], above[not higher]
    true_positive = stats.beta.ppf(0.025, right, RUNS - right + 1) if right else 0.0
    false_positive = stats.beta.ppf(0.975, wrong + 1, RUNS - wrong) if wrong < RUNS else 1.0
    lower = math.log((true_positive - DELTA) / false_positive) if true_positive > max(false_positive, DELTA) else 0.0
    return max(0.0, lower), (right + RUNS - wrong) / (2 * RUNS)


@pytest.mark.slow(
    depends=["workbench/training/grid.py", "workbench/training/floored_normals.py", "workbench/training/private_optimizer.py"]
)
def test_the_last_bits_tell_of_a_sum_of_floats_and_not_of_one_on_the_grid(figures: dict[str, Any]) -> None:
    bound = gdp_epsilon(1 / SIGMA, DELTA)
    grid = gradient_grid(SIGMA, 1.0, DIVISOR, WEIGHTS)
    figures |= {"weights": WEIGHTS, "noise multiplier": SIGMA, "bound": round(bound, 4), "runs of each kind": RUNS}
    for wrapped, statistic in ((descent, tied), (adam, untied)):
        before, share_before = measured(FloatOptimizer, wrapped, statistic)
        after, share_after = measured(PrivateOptimizer, wrapped, statistic)
        seen = "the noisy sum" if wrapped is descent else "the weights after one step of Adam"
        figures |= {f"epsilon at least by {seen}, noise in floats": round(before, 3)}
        figures |= {f"epsilon at least by {seen}, noise in integers": round(after, 3)}
        figures |= {f"right guesses by {seen}, floats": share_before, f"right guesses by {seen}, integers": share_after}
        assert before > 3 > bound > after
    figures |= {"noise widened by, %": round(100 * (grid.deviation / SIGMA - 1), 4)}
