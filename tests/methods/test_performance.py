"""Settings of speed change a fit by rounding alone."""

import numpy as np
import pytest
import torch
from support.quick import quick_dataset, quick_plan

from workbench import experiment
from workbench.training.state import PerformanceSettings, State

PLAIN = PerformanceSettings(device="cpu")


def fitted(method: str, performance: PerformanceSettings) -> tuple[State, np.ndarray]:
    """The state after all steps, seeded, and eight samples of it."""
    plan = quick_plan(method)
    state = experiment.new_state(plan, performance, seed=3)
    for _ in experiment.fit(plan, quick_dataset(method), state):
        pass
    return state, experiment.sample(plan, state, 8).records.astype(float)


def check(method: str, performance: PerformanceSettings, weights: float, grey_levels: float) -> None:
    """The averaged weights agree to a relative distance, samples to a mean distance in grey levels, and the setting has an effect."""
    (plain, images), (other, others) = fitted(method, PLAIN), fitted(method, performance)
    expected, actual = (torch.cat([value.flatten() for value in s.modules["ema"].state_dict().values()]) for s in (plain, other))
    distance = float((actual - expected).norm() / expected.norm())
    assert 0 < distance < weights
    assert np.abs(images - others).mean() < grey_levels


@pytest.mark.parametrize("method", ["nonprivate", "dp-promise"])
def test_bfloat16_passes_stay_close(method: str) -> None:
    check(method, PLAIN.model_copy(update={"precision": "bfloat16"}), 0.02, 4.0)


@pytest.mark.parametrize("method", ["nonprivate", "dp-promise"])
def test_channels_last_is_the_same_but_for_rounding(method: str) -> None:
    check(method, PLAIN.model_copy(update={"channels_last": True}), 1e-3, 0.5)


@pytest.mark.slow(depends=["workbench/models/*", "workbench/networks/unet.py", "workbench/training/state.py"])
def test_compiled_passes_are_the_same_but_for_rounding() -> None:
    check("dp-promise", PLAIN.model_copy(update={"compile": True}), 1e-3, 0.5)
