"""Our numpy in place of the library's loops: the same distributions, and the same epsilon or one above it by no more than rounding."""

import math

import numpy as np
import pytest
from dp_accounting.pld import pld_pmf

from workbench.privacy.accounting import gaussian
from workbench.privacy.accounting.accountants import pld
from workbench.privacy.accounting.accountants.mechanisms import (
    ExactGaussian,
    FixedBatchGaussian,
    Mechanism,
    SampledGaussian,
    VisibleGaussian,
)
from workbench.privacy.accounting.accountants.pmf import Pmf

CASES: list[tuple[Mechanism, int, float]] = [
    (FixedBatchGaussian(1437, 16, 2.5), 60, 5e-3),
    (SampledGaussian(0.3, 3.0), 200, 2e-3),
    (SampledGaussian(1e-3, 0.6), 1000, 1e-2),
    (VisibleGaussian(0.01, 1.0), 50, 2e-3),
    (ExactGaussian(0.3), 1, 1e-3),
    (ExactGaussian(60.0), 1, 50.0),
]
DELTAS = (1e-10, 1e-7, 3.48e-4, 0.02, 0.5, 0.99)


def sides(mechanism: Mechanism, interval: float) -> list[Pmf]:
    pair = pld._single(mechanism, interval)
    return [Pmf.of(pair._pmf_remove)] if pair._symmetric else [Pmf.of(pair._pmf_remove), Pmf.of(pair._pmf_add)]


def library(pmf: Pmf) -> pld_pmf.DensePLDPmf:
    """The same distribution, by the library's own methods."""
    return pld_pmf.DensePLDPmf(pmf._discretization, pmf._lower_loss, pmf._probs.copy(), pmf._infinity_mass, True)


def assert_same(ours: pld_pmf.PLDPmf, theirs: pld_pmf.PLDPmf) -> None:
    ours, theirs = ours.to_dense_pmf(), theirs.to_dense_pmf()
    assert ours._lower_loss == theirs._lower_loss
    assert ours.size == theirs.size
    assert ours._infinity_mass == pytest.approx(theirs._infinity_mass, abs=1e-18)
    np.testing.assert_allclose(ours._probs, theirs._probs, rtol=0, atol=1e-14)


@pytest.mark.parametrize(("mechanism", "count", "interval"), CASES)
def test_compositions_are_the_librarys(mechanism: Mechanism, count: int, interval: float) -> None:
    for single in sides(mechanism, interval):
        powered = single.self_compose(count)
        assert_same(powered, library(single).self_compose(count))
        for tail in (0.0, 1e-15, 1e-3, 1.5):
            assert_same(powered.compose(single, tail), library(powered).compose(library(single), tail))


@pytest.mark.parametrize(("mechanism", "count", "interval"), CASES)
def test_epsilons_and_deltas_are_the_librarys(mechanism: Mechanism, count: int, interval: float) -> None:
    for single in sides(mechanism, interval):
        for pmf in (single, single.self_compose(count), single.compose(single, 0.01)):
            for delta in DELTAS:
                assert pmf.get_epsilon_for_delta(delta) == pytest.approx(library(pmf).get_epsilon_for_delta(delta), rel=1e-9, abs=1e-12)
            epsilons = np.linspace(0.0, 20.0, 50)
            theirs = np.array([library(pmf).get_delta_for_epsilon(float(value)) for value in epsilons])
            np.testing.assert_allclose(pmf.get_delta_for_epsilon(epsilons.tolist()), theirs, rtol=1e-9, atol=1e-15)
            assert pmf.get_delta_for_epsilon(1.0) == library(pmf).get_delta_for_epsilon(1.0)


def test_connecting_the_dots_is_the_librarys() -> None:
    deltas = np.clip(gaussian.gdp_delta(0.7, np.arange(-3000, 3001) * 1e-3), 0.0, 1.0)
    theirs = pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(1e-3, -3000, 3000, deltas)
    assert_same(Pmf.of_profile(deltas, -3000, 1e-3), theirs)
    np.testing.assert_array_equal(Pmf.of_profile(deltas, -3000, 1e-3)._probs, theirs.to_dense_pmf()._probs)


def test_epsilon_holds_at_its_delta_on_random_distributions() -> None:
    """And no smaller one does: by the definition, a sum over all losses, with a mass at infinity and gaps between the losses."""
    draw = np.random.default_rng(0)
    for _ in range(200):
        size, lower = int(draw.integers(1, 60)), int(draw.integers(-40, 20))
        probs = draw.dirichlet(np.full(size + 1, 0.1))
        pmf = Pmf(0.25, lower, probs[1:], float(probs[0]), True)
        delta = float(10 ** draw.uniform(-6, 0))
        epsilon = pmf.get_epsilon_for_delta(delta)
        losses = (lower + np.arange(size)) * 0.25

        def exact(epsilon: float, losses: np.ndarray = losses, probs: np.ndarray = probs) -> float:
            return float(probs[0] + np.sum(np.maximum(0.0, -np.expm1(epsilon - losses)) * probs[1:]))

        assert (epsilon == math.inf) == (probs[0] > delta)
        if epsilon < math.inf:
            assert exact(epsilon) <= delta + 1e-15
            assert epsilon == 0.0 or exact(epsilon - 1e-9) > delta - 1e-12
        assert epsilon == pytest.approx(library(pmf).get_epsilon_for_delta(delta), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("top", [700, 800, 5000])
def test_losses_whose_exponential_underflows(top: int) -> None:
    """All of the mass at one loss: epsilon is where 1 - e^(epsilon - loss) is delta, or the loss where e^-loss is 0."""
    pmf = Pmf(1.0, top - 2, np.array([0.0, 0.0, 1.0]), 0.0, True)
    assert top - 1 <= pmf.get_epsilon_for_delta(0.5) <= top
    assert pmf.get_epsilon_for_delta(0.5) >= library(pmf).get_epsilon_for_delta(0.5) - 1e-9
