"""Formulas of papers that are not built."""

import math

import pytest

from workbench.claims.unbuilt import ddm
from workbench.privacy.accounting.formulas import poisson_gaussian_rdp


@pytest.mark.parametrize(("sigma", "target"), [(18.13, 1.0), (2.487, 10.0)])
def test_noise_of_the_published_dpdm(sigma: float, target: float) -> None:
    value = poisson_gaussian_rdp(noise_multiplier=sigma, sample_rate=1 / 15, steps=4500, delta=1e-5, source="Dockhorn et al. 2023")
    assert value.epsilon == pytest.approx(target, rel=2e-4)


def test_ddm_theorem_falls_with_records() -> None:
    def delta(s: int) -> float:
        return ddm.theorem_1(
            epsilon=1.0, num_samples=1, num_columns=5, num_records=s,
            neighbour_counts=[1, 1], decays=[0.5, 1.0], ratios_before=[3.0, 2.0], errors=[0.0, 0.0],
        )  # fmt: skip

    assert delta(10_000) < delta(1000) < delta(10) == 1.0
    steps = (4 / 1000 * 5 / 1000**0.5 + 5 * (1 - 1 / 3) / 1000**2) + (4 / 1000 * 5 / 1000 + 5 * (1 - 1 / 2) / 1000**2)
    assert delta(1000) == pytest.approx(steps / (1 - math.exp(-1)), rel=1e-12)
