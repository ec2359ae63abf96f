"""A private step and what may be wrong with one, all with the same canaries: for tests that an audit raises the alarm."""

import math
from collections.abc import Callable

import torch
from torch import nn

from workbench.privacy.accounting.gaussian import gdp_mu
from workbench.training.private_step import PrivateStep
from workbench.training.randomness import Randomness
from workbench.training.state import PerformanceSettings

STEPS, LENGTH, DELTA = 16, 20.0, 1e-5
MakeStep = Callable[[nn.Module, torch.optim.Optimizer], PrivateStep]


def step_of(noise_multiplier: float, seed: int, clipping: bool = True, batch: float = 50.0, division: str = "expected") -> MakeStep:
    """A step of clipping norm 1; without `clipping` the noise stays what it was."""

    def make(model: nn.Module, optimizer: torch.optim.Optimizer) -> PrivateStep:
        settings = {"noise_multiplier": noise_multiplier, "max_grad_norm": 1.0, "expected_batch_size": batch, "division": division}
        speed = PerformanceSettings(device="cpu", microbatch_size=100)
        step = PrivateStep(model, optimizer, randomness=Randomness.from_seed(seed), performance=speed, **settings)
        if not clipping:
            step.thresholds = (1e6,)
        return step

    return make


def noise_for(epsilon: float, delta: float = DELTA, steps: int = STEPS) -> float:
    """The noise multiplier at which so many steps on all records have the bound: they are sqrt(steps) / sigma GDP."""
    return math.sqrt(steps) / gdp_mu(epsilon, delta)


def steps_by_name(seed: int) -> dict[str, MakeStep]:
    """The intact step at bound 1, and broken ones that call themselves the same."""
    noise = noise_for(1.0)
    return {
        "intact": step_of(noise, seed),
        "no noise": step_of(0.0, seed),
        "noise divided by T": step_of(noise / STEPS, seed),
        "clipping left out": step_of(noise, seed, clipping=False),
    }
