"""PAC noise: the determinations against independent formulas, and labels that say what does not hold."""

import json
import math
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.errors import WorkbenchError
from workbench.privacy.not_dp import pac

VECTORS = json.loads((Path(__file__).parents[2] / "vectors_audit.json").read_text())
PRINTED_TABLE = {
    0.5: [0.5882, 0.6749, 0.8379, 0.9518, 1, 1],
    0.1: [0.1569, 0.2207, 0.3643, 0.4951, 0.5775, 0.6892],
    0.01: [0.0321, 0.0620, 0.1406, 0.2218, 0.2771, 0.3573],
}


@pytest.fixture
def outputs() -> np.ndarray:
    """400 outputs of 4 values with well separated variances."""
    return np.random.default_rng(0).standard_normal((400, 4)) * np.array([8.0, 4.0, 1.0, 0.2])


@pytest.mark.parametrize(("prior", "information", "expected"), VECTORS["success_probability"])
def test_success_probability(prior: float, information: float, expected: float) -> None:
    assert pac.success_probability(information, prior) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("prior", PRINTED_TABLE)
def test_success_probability_to_the_printed_digits(prior: float) -> None:
    informations = [1 / 64, 1 / 16, 0.25, 0.5, math.log(2), 1]
    assert [round(pac.success_probability(value, prior), 4) for value in informations] == PRINTED_TABLE[prior]


@given(st.floats(0.001, 0.999), st.floats(0, 5), st.floats(0, 5))
@settings(max_examples=50, deadline=None)
def test_success_probability_rises_with_information_from_the_prior(prior: float, one: float, more: float) -> None:
    values = [pac.success_probability(value, prior) for value in (0.0, one, one + more)]
    assert values[0] == pytest.approx(prior, abs=1e-7)
    assert values[0] <= values[1] <= values[2] <= 1


def test_without_confidence_the_noise_is_the_closed_form_and_keeps_the_information(outputs: np.ndarray) -> None:
    noise = pac.deterministic_noise(outputs, v=0.5, beta=0.5, c=0.0)
    covariance = np.cov(outputs.T, bias=True)
    roots = np.sqrt(np.linalg.eigvalsh(covariance))
    assert noise.form == "anisotropic"
    assert noise.variances.sum() == pytest.approx(roots.sum() ** 2 / (2 * 0.5))
    gaussian_information = np.linalg.slogdet(np.eye(4) + covariance @ np.linalg.inv(noise.covariance()))[1] / 2
    assert 0 < gaussian_information <= 0.5
    assert pac.NO_CONFIDENCE in noise.labels
    assert not noise.holds


def test_no_noise_where_all_outputs_agree_is_no_bound() -> None:
    alike = np.ones((8, 3))
    none = pac.deterministic_noise(alike, c=0.0, radius=2.0)
    assert (none.mean_norm, none.holds) == (0.0, False)
    assert "does not follow" in " ".join(none.labels)
    some = pac.deterministic_noise(alike, radius=2.0)
    assert some.mean_norm > 0
    assert some.holds


def test_the_isotropic_form_where_eigenvalues_are_close(outputs: np.ndarray) -> None:
    noise = pac.deterministic_noise(outputs, v=0.25, beta=0.5, c=0.01, radius=40.0)
    total = np.trace(np.cov(outputs.T, bias=True))
    assert noise.form == "isotropic"
    assert noise.holds
    np.testing.assert_allclose(noise.covariance(), (total + 4 * 0.01 * 40.0**2) / (2 * 0.25) * np.eye(4), rtol=1e-10)


def test_the_anisotropic_form_adds_ten_c_v_over_beta(outputs: np.ndarray) -> None:
    c, v, beta = 1e-9, 0.5, 0.25
    noise = pac.deterministic_noise(outputs, v=v, beta=beta, c=c, radius=40.0)
    eigenvalues = np.sort(np.linalg.eigvalsh(np.cov(outputs.T, bias=True)))[::-1] / 40.0**2
    roots = np.sqrt(eigenvalues + 10 * c * v / beta)
    assert noise.form == "anisotropic"
    np.testing.assert_allclose(noise.noise_variances, 40.0**2 * roots * roots.sum() / (2 * v), rtol=1e-9)
    assert noise.mutual_information == 0.75


def test_directions_without_outputs_get_the_rest_of_the_noise() -> None:
    outputs = np.random.default_rng(0).standard_normal((50, 2)) * [3.0, 1.0] @ np.eye(2, 5)
    c, v, beta, radius = 1e-6, 0.5, 0.25, 12.0
    noise = pac.deterministic_noise(outputs, v=v, beta=beta, c=c, radius=radius, form="anisotropic")
    root = math.sqrt(10 * c * v / beta)
    total = np.sqrt(noise.signal_variances / radius**2 + root**2).sum() + 3 * root
    assert noise.rest_variance == pytest.approx(radius**2 * root * total / (2 * v), rel=1e-12)
    np.testing.assert_allclose(noise.variances[2:], noise.rest_variance)


def test_an_eigenvalue_equal_to_c_needs_no_gap() -> None:
    assert pac.has_gap(np.array([10.0, 1.0]), 3, 1.0)
    assert not pac.has_gap(np.array([10.0, 1.001]), 3, 1.0)


def test_printed_variants_are_marked(outputs: np.ndarray) -> None:
    printed = pac.deterministic_noise(outputs, c=1e-9, radius=40.0, variant="printed", form="anisotropic")
    correct = pac.deterministic_noise(outputs, c=1e-9, radius=40.0)
    np.testing.assert_allclose(printed.noise_variances / 40.0**2, 40.0**2 / correct.noise_variances)  # the missing inverse
    assert pac.deterministic_noise(outputs, c=1e-9, radius=40.0, variant="printed").form == "isotropic"
    assert pac.PRINTED in printed.labels
    assert not printed.holds
    assert correct.holds


def test_labels_name_what_does_not_hold(outputs: np.ndarray) -> None:
    labels = pac.deterministic_noise(outputs, redrawn=False, form="anisotropic").labels
    assert labels == (pac.NOT_REDRAWN, pac.NO_GAP, pac.CONDITIONAL, pac.OBSERVED_RADIUS)


def test_confidence_parameter() -> None:
    m, d, gamma = 100, 30, 0.05
    a = (d + math.log(4 / gamma)) / m
    expected = 2.0 * (math.sqrt(a) + math.sqrt(d * math.log(4 / gamma) / m))
    assert pac.confidence_parameter(m, d, gamma, kappa=2.0) == pytest.approx(expected)
    assert pac.confidence_parameter(10 * m, d, gamma) < pac.confidence_parameter(m, d, gamma)


def test_randomised_mechanism_takes_the_best_matching() -> None:
    generator = np.random.default_rng(1)
    first, second = generator.standard_normal((2, 5, 4, 3)) / 10
    best = [
        min(((a - b[list(order)]) ** 2).sum(axis=1).mean() for order in permutations(range(4))) for a, b in zip(first, second, strict=True)
    ]
    noise = pac.randomised_noise(first, second, v=0.5, gamma=0.05, radius=1.0)
    c = 4 * math.sqrt(math.log(20) / 10)
    np.testing.assert_allclose(noise.covariance(), (np.mean(best) + c) * np.eye(3))
    assert noise.labels == ()
    assert pac.NOT_REDRAWN in pac.randomised_noise(first, second, redrawn=False).labels


def test_fewer_outputs_than_dimensions() -> None:
    outputs = np.random.default_rng(2).standard_normal((6, 50))
    noise = pac.deterministic_noise(outputs, c=1e-6, form="anisotropic")
    assert len(noise.noise_variances) == 5
    np.testing.assert_allclose(np.sort(np.linalg.eigvalsh(noise.covariance())), np.sort(noise.variances), rtol=1e-8)
    draws = noise.sample(20_000, np.random.default_rng(3))
    assert np.linalg.norm(draws, axis=1).mean() == pytest.approx(noise.mean_norm, rel=0.02)


@pytest.mark.parametrize("dimensions", [1, 2, 3, 100, 3072])
def test_mean_norm_of_the_standard_gaussian(dimensions: int) -> None:
    expected = math.sqrt(2) * math.exp(math.lgamma((dimensions + 1) / 2) - math.lgamma(dimensions / 2))
    assert pac.mean_gaussian_norm(np.ones(dimensions)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("bad", [{"v": 0.0}, {"beta": -1.0}, {"c": -0.1}, {"gamma": 1.5}, {"radius": 1.0}])
def test_bad_settings_are_refused(outputs: np.ndarray, bad: dict[str, float]) -> None:
    with pytest.raises(WorkbenchError, match="Expected"):
        pac.deterministic_noise(outputs, **bad)  # type: ignore[arg-type]
