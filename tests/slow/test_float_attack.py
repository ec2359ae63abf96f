"""An attack on the floating-point noise of DP-SGD (Mironov 2012): what the last bits of a release tell of the sum below the noise.

One full-batch step of the optimiser itself on 200 000 weights, the gradient known, sigma 10. Without the record the sum is zero, with it
a known vector of norm C. Whoever subtracts a candidate's sum from a release of floats sees whether a noise that the sampler can make is
left. Against noise in integers, the same statistic tells nothing.
"""

import math
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


class FloatOptimizer(PrivateOptimizer):
    """The noise as it was: a float64 normal, rounded to float32, scaled and added to the float32 sum."""

    def _release(self, sums: list[torch.Tensor]) -> None:
        stream = self.randomness.stream(self.purpose, self.noise_step)
        for value in sums:
            noise = torch.from_numpy(stream.standard_normal(tuple(value.shape)).astype(np.float32))
            value.add_(noise, alpha=self.noise_multiplier * self.max_grad_norm)


def released(kind: type[PrivateOptimizer], seed: int, gradient: torch.Tensor) -> np.ndarray:
    """The noisy sum of one step, divided by the batch size: what the wrapped optimiser is given."""
    weights = torch.nn.Parameter(torch.zeros(WEIGHTS))
    optimizer = kind(
        torch.optim.SGD([weights], lr=1.0),
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


def tied(release: np.ndarray, gradient: np.ndarray) -> int:
    """How many coordinates a float32 of noise can explain: those of which some neighboring float of it gives the release to the bit.

    The noise is fl32(n), n a float64 normal, and the release is fl(fl(g + fl(SIGMA n)) / 1000).
    """
    quotient = -release.astype(np.float64) * DIVISOR
    noise = ((quotient - gradient) / SIGMA).astype(np.float32)
    found = np.zeros(len(release), dtype=bool)
    for step in range(-3, 4):
        candidate = noise.copy()
        for _ in range(abs(step)):
            candidate = np.nextafter(candidate, np.float32(np.inf if step > 0 else -np.inf))
        total = torch.from_numpy(gradient.astype(np.float32)).add(torch.from_numpy(candidate), alpha=SIGMA)
        found |= (-(total / DIVISOR)).numpy() == release
    return int(found.sum())


def measured(kind: type[PrivateOptimizer]) -> tuple[float, float]:
    """The lower bound on epsilon with 95 % confidence at DELTA, and the share of right guesses, of a threshold fixed on other runs."""
    draw = np.random.default_rng(0).standard_normal(WEIGHTS)
    known = (draw / np.linalg.norm(draw)).astype(np.float32)
    nothing = torch.zeros(WEIGHTS)

    def score(seed: int, joined: bool) -> float:
        release = released(kind, seed, torch.from_numpy(known) if joined else nothing)
        return tied(release, known) - tied(release, np.zeros(WEIGHTS, np.float32))

    tries = {joined: np.array([score(10_000 + seed + 5_000 * joined, joined) for seed in range(40)]) for joined in (False, True)}
    bar = (tries[True].mean() + tries[False].mean()) / 2
    flipped = 1.0 if tries[True].mean() >= tries[False].mean() else -1.0
    right = {j: sum(flipped * (score(seed + 5_000 * j, j) - bar) > 0 for seed in range(RUNS)) for j in (False, True)}
    true_positive, false_positive = (
        stats.beta.ppf(0.025, right[True], RUNS - right[True] + 1) if right[True] else 0.0,
        stats.beta.ppf(0.975, right[False] + 1, RUNS - right[False]) if right[False] < RUNS else 1.0,
    )
    lower = math.log((true_positive - DELTA) / false_positive) if true_positive > max(false_positive, DELTA) else 0.0
    return max(0.0, lower), (right[True] + RUNS - right[False]) / (2 * RUNS)


@pytest.mark.slow(
    depends=["workbench/training/grid.py", "workbench/training/floored_normals.py", "workbench/training/private_optimizer.py"]
)
def test_the_last_bits_tell_of_a_sum_of_floats_and_not_of_one_on_the_grid(figures: dict[str, Any]) -> None:
    bound = gdp_epsilon(1 / SIGMA, DELTA)
    before, share_before = measured(FloatOptimizer)
    after, share_after = measured(PrivateOptimizer)
    grid = gradient_grid(SIGMA, 1.0, DIVISOR, WEIGHTS)
    figures |= {"weights": WEIGHTS, "noise multiplier": SIGMA, "bound": round(bound, 4), "runs of each kind": RUNS}
    figures |= {"epsilon at least, noise in floats": round(before, 3), "epsilon at least, noise in integers": round(after, 3)}
    figures |= {"right guesses, floats": share_before, "right guesses, integers": share_after}
    figures |= {"noise widened by, %": round(100 * (grid.deviation / SIGMA - 1), 4)}
    assert before > 3 > bound > after
