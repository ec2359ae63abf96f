"""Formulas of papers that are not built."""

import pytest

from workbench.privacy.accounting.formulas import poisson_gaussian_rdp


@pytest.mark.parametrize(("sigma", "target"), [(18.13, 1.0), (2.487, 10.0)])
def test_noise_of_the_published_dpdm(sigma: float, target: float) -> None:
    value = poisson_gaussian_rdp(noise_multiplier=sigma, sample_rate=1 / 15, steps=4500, delta=1e-5, source="Dockhorn et al. 2023")
    assert value.epsilon == pytest.approx(target, rel=2e-4)
