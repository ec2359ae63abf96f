"""Class means: without noise the releases are sums and counts, and samples follow their quotients."""

import math

import numpy as np
import pytest
from support.quick import quick_plan

from workbench.datasets import load
from workbench.experiment import fit, new_state, sample
from workbench.methods.class_means import ClassMeansConfig
from workbench.methods.class_means.training import clipping_norm, means_of
from workbench.methods.class_moments import COUNTS, SUMS
from workbench.plan import Plan
from workbench.privacy.accounting.gaussian import gdp_epsilon
from workbench.records import Records
from workbench.training.state import State

DIGITS = load("digits")


def fitted(noise_multiplier: float, **settings: object) -> tuple[Plan, State]:
    plan = quick_plan("class-means", epsilon=None, overrides={"noise_multiplier": noise_multiplier, "max_norm": 10.0, **settings})
    state = new_state(plan, seed=0)
    for _ in fit(plan, DIGITS, state):
        pass
    return plan, state


def test_both_are_one_gaussian_release_of_the_configured_noise() -> None:
    plan, _ = fitted(2.0)
    assert [stage.name for stage in plan.stages] == [SUMS, COUNTS]
    assert plan.bound.epsilon == pytest.approx(gdp_epsilon(1 / 2.0, plan.delta), rel=1e-9)
    assert plan.replace_one is not None
    assert plan.replace_one.epsilon == pytest.approx(gdp_epsilon(math.sqrt(2) / 2.0, plan.delta), rel=1e-9)
    assert plan.claim.status == "not_evaluated"


def test_without_noise_samples_are_around_the_means() -> None:
    plan, state = fitted(1e-2, spread=0.0)
    labels = DIGITS.train.labels
    assert labels is not None
    exact = np.stack([DIGITS.train.records[labels == label].reshape(-1, 64).mean(0) / 255 for label in range(10)])
    means, counts = means_of(state)
    assert np.abs(means - exact).max() < 5e-3
    assert np.abs(counts - np.bincount(labels)).max() < 0.2
    drawn = sample(plan, state, 10)
    assert drawn.labels is not None
    assert np.abs(drawn.records.reshape(10, 64) / 255 - exact[drawn.labels]).max() < 1e-2


def test_noise_shares_grow_with_the_noise() -> None:
    shares = [plan.build().noise_share(state) or 0.0 for plan, state in (fitted(0.01), fitted(1.0), fitted(100.0))]
    assert shares == sorted(shares)
    assert 0.0 < shares[0] < 0.01 < 0.9 < shares[-1]


def test_the_clipping_norm_comes_from_public_images_alone() -> None:
    public = Records(np.stack([np.full((1, 8, 8), value, np.uint8) for value in range(256)]))
    config = ClassMeansConfig(noise_multiplier=1.0)
    assert clipping_norm(config, public) == pytest.approx(8 * np.quantile(np.arange(256) / 255, 0.95))
    assert clipping_norm(config, public.take(slice(3))) == 1.0
    assert clipping_norm(ClassMeansConfig(noise_multiplier=1.0, max_norm=3.0), None) == 3.0
