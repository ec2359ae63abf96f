"""Distances against closed forms and an independent implementation."""

import numpy as np
import pytest
import torch
from torch import nn

from workbench.errors import WorkbenchError
from workbench.evaluation import distances


class AsGiven(nn.Module):
    """Hands on features that were put in as images of one pixel a feature."""

    num_features = 6

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.flatten(1)


def two_sets(count: int = 60) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(3)
    mix = generator.normal(size=(6, 6))
    return generator.normal(size=(count, 6)), generator.normal(size=(count, 6)) @ mix + 0.5


def as_images(features: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(features).reshape(len(features), 6, 1, 1)


def test_frechet_of_equal_sets_is_zero() -> None:
    x, _ = two_sets()
    assert distances.frechet_distance(x, x[::-1]) == pytest.approx(0.0, abs=1e-9)


def test_frechet_of_shifted_sets_is_the_squared_shift() -> None:
    x, _ = two_sets()
    assert distances.frechet_distance(x + np.arange(6.0), x) == pytest.approx(55.0, abs=1e-6)


def test_frechet_of_scaled_sets_is_bures() -> None:
    x, _ = two_sets()
    x = x - x.mean(axis=0)
    assert distances.frechet_distance(3.0 * x, x) == pytest.approx(4.0 * np.trace(np.cov(x, rowvar=False)), rel=1e-9)


def test_frechet_of_singular_features_is_finite_and_symmetric() -> None:
    x, y = two_sets()
    x, y = np.c_[x, x[:, :2], np.zeros(len(x))], np.c_[y, y[:, :2], np.zeros(len(y))]
    assert distances.frechet_distance(x, y) == pytest.approx(distances.frechet_distance(y, x), rel=1e-6)


def test_frechet_agrees_with_torchmetrics() -> None:
    image = pytest.importorskip("torchmetrics.image.fid")
    x, y = two_sets()
    metric = image.FrechetInceptionDistance(feature=AsGiven(), normalize=True, input_img_size=(6, 1, 1)).set_dtype(torch.float64)
    metric.update(as_images(y), real=True)
    metric.update(as_images(x), real=False)
    assert distances.frechet_distance(x, y) == pytest.approx(float(metric.compute()), rel=1e-4)


def test_kernel_distance_is_the_sum_over_pairs() -> None:
    x, y = (z[:7] for z in two_sets())

    def kernel(a: np.ndarray, b: np.ndarray) -> float:
        return (float(a @ b) / 6 + 1) ** 3

    within = [np.mean([kernel(z[i], z[j]) for i in range(7) for j in range(7) if i != j]) for z in (x, y)]
    across = np.mean([kernel(a, b) for a in x for b in y])
    assert distances.kernel_distance(x, y) == pytest.approx(within[0] + within[1] - 2 * across, rel=1e-10)


def test_kernel_distance_agrees_with_torchmetrics() -> None:
    image = pytest.importorskip("torchmetrics.image.kid")
    x, y = two_sets()
    metric = image.KernelInceptionDistance(feature=AsGiven(), subsets=2, subset_size=len(x), normalize=True).set_dtype(torch.float64)
    metric.update(as_images(y), real=True)
    metric.update(as_images(x), real=False)
    assert distances.kernel_distance(x, y) == pytest.approx(float(metric.compute()[0]), rel=1e-4)


def test_kernel_distance_is_unbiased() -> None:
    generator = np.random.default_rng(0)
    values = [distances.kernel_distance(*generator.normal(size=(2, 20, 4))) for _ in range(300)]
    assert abs(np.mean(values)) < 4 * np.std(values) / np.sqrt(300)
    assert min(values) < 0


def test_kernel_error_covers_what_repetition_shows() -> None:
    generator = np.random.default_rng(1)
    draws = generator.normal(size=(40, 2, 100, 4))
    errors = [distances.kernel_distance_error(x, y, seed=0) for x, y in draws]
    assert np.mean(errors) > np.std([distances.kernel_distance(x, y) for x, y in draws])
    assert distances.kernel_distance_error(draws[0, 0, :19], draws[0, 1], seed=0) is None


def test_inception_style_score_has_known_ends() -> None:
    assert distances.inception_style_score(np.tile(np.eye(5), (3, 1))) == pytest.approx(5.0)
    assert distances.inception_style_score(np.full((8, 5), 0.2)) == pytest.approx(1.0)


def test_inception_style_score_agrees_with_torchmetrics() -> None:
    image = pytest.importorskip("torchmetrics.image.inception")
    x, _ = two_sets()
    metric = image.InceptionScore(feature=AsGiven(), splits=1)
    metric.update(as_images(x))
    probabilities = torch.from_numpy(x).softmax(dim=1).numpy()
    assert distances.inception_style_score(probabilities) == pytest.approx(float(metric.compute()[0]), rel=1e-4)


def test_too_few_records_are_refused() -> None:
    with pytest.raises(WorkbenchError, match="at least 2"):
        distances.frechet_distance(np.zeros((1, 3)), np.zeros((5, 3)))
    with pytest.raises(WorkbenchError, match="at least 2"):
        distances.kernel_distance(np.zeros((5, 3)), np.zeros((1, 3)))
