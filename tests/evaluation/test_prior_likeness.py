"""The likeness of samples to a prior: by the covariance within classes, whatever the classes' means and the scale."""

import numpy as np
import pytest

from workbench.datasets.base import DatasetFacts
from workbench.evaluation.prior_likeness import ALIKE, centred_by_class, inner, prior_likeness
from workbench.records import ImageKind, Records

FACTS = DatasetFacts(name="own", kind=ImageKind(size=(1, 4, 4)), num_records=300, classes=("a", "b"))


def drawn(seed: int, root: np.ndarray, shift: float = 0.0, scale: float = 1.0) -> Records:
    """Images of a Gaussian of this root, the second class lighter by `shift`."""
    draw = np.random.default_rng(seed)
    labels = np.arange(300) % 2
    vectors = 90 + shift * labels[:, None] + scale * draw.normal(size=(300, root.shape[1])) @ root.T
    return Records(np.clip(vectors, 0, 255).astype(np.uint8).reshape(-1, 1, 4, 4), labels.astype(np.int64))


def roots() -> tuple[np.ndarray, np.ndarray]:
    """Two covariances' roots that share no direction."""
    basis, _ = np.linalg.qr(np.random.default_rng(9).normal(size=(16, 16)))
    return 20 * basis[:, :4], 20 * basis[:, 4:8]


def test_the_same_covariance_is_alike_under_other_means_and_scales_and_another_is_not() -> None:
    mine, other = roots()
    prior = drawn(1, mine)
    assert prior_likeness(drawn(2, mine), prior, FACTS) == pytest.approx(1.0, abs=0.06)
    assert prior_likeness(drawn(3, mine, shift=60.0, scale=0.7), prior, FACTS) > ALIKE, "coloured digits are digits"
    assert abs(prior_likeness(drawn(4, other), prior, FACTS)) < 0.1
    half = (mine + other) / np.sqrt(2)
    assert prior_likeness(drawn(5, half), prior, FACTS) < ALIKE


def test_what_does_not_vary_cannot_be_told_from_the_prior() -> None:
    mine, _ = roots()
    still = Records(np.full((300, 1, 4, 4), 90, np.uint8), np.arange(300) % 2)
    assert prior_likeness(still, drawn(1, mine), FACTS) == 1.0


def test_the_inner_product_is_that_of_the_covariances() -> None:
    one, other = np.random.default_rng(0).normal(size=(7, 3)), np.random.default_rng(1).normal(size=(5, 3))
    assert inner(one, other) == pytest.approx(float(((one.T @ one / 7) * (other.T @ other / 5)).sum()))
    assert centred_by_class(one, np.array([0, 0, 1, 1, 1, 0, 1]))[[0, 1, 5]].sum() == pytest.approx(0.0)
