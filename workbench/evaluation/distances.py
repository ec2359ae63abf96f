"""Distances between two sets of features, and the score of one set of class probabilities. All in float64."""

from collections.abc import Callable

import numpy as np

from workbench.errors import WorkbenchError

ENOUGH_FOR_FRECHET = 2048  # below it the sample bias of the Frechet distance is as large as the differences one looks for
_CHUNK = 2048
SPLITS = 10  # of the Inception Score


def frechet_distance(samples: np.ndarray, reference: np.ndarray) -> float:
    """Squared Frechet distance between Gaussians fitted to features (N, D) and (M, D); 0 for equal sets.

    Heusel et al. 2017, eq. 6. Biased upwards for small N and M, so only values at equal sizes compare. It may be called
    FID only with the standard Inception features, which this package does not ship.
    """
    return FrechetReference(reference).distance(samples)


class FrechetReference:
    """Mean and covariance of a reference set (M, D), or these themselves, so that many sets can be compared with it."""

    def __init__(self, reference: np.ndarray | tuple[np.ndarray, np.ndarray]) -> None:
        self.mean, self.covariance = reference if isinstance(reference, tuple) else moments(reference)
        values, vectors = np.linalg.eigh(self.covariance)
        self._root = (vectors * np.sqrt(np.clip(values, 0.0, None))) @ vectors.T

    def distance(self, samples: np.ndarray) -> float:
        """The Frechet distance of features (N, D) to the reference."""
        mean, covariance = moments(samples)
        product = np.linalg.eigvalsh(self._root @ covariance @ self._root)
        trace_of_root = np.sqrt(np.clip(product, 0.0, None)).sum()
        value = np.sum((mean - self.mean) ** 2) + np.trace(covariance) + np.trace(self.covariance) - 2.0 * trace_of_root
        return float(max(value, 0.0))


def kernel_distance(samples: np.ndarray, reference: np.ndarray) -> float:
    """Unbiased squared maximum mean discrepancy of features (N, D) and (M, D); may be slightly negative.

    Binkowski et al. 2018, section 4: the kernel is (x.y / D + 1)^3. Every pair is used, in chunks.
    """
    if min(len(samples), len(reference)) < 2:
        raise WorkbenchError(f"Expected at least 2 records on each side, got {len(samples)} and {len(reference)}.")
    x, y = samples.astype(np.float64), reference.astype(np.float64)
    within = [(_kernel_sum(z, z) - _kernel_diagonal_sum(z)) / (len(z) * (len(z) - 1)) for z in (x, y)]
    return float(within[0] + within[1] - 2.0 * _kernel_sum(x, y) / (len(x) * len(y)))


def kernel_distance_error(samples: np.ndarray, reference: np.ndarray, seed: int, blocks: int = 10) -> float | None:
    """Standard error of `kernel_distance` from `blocks` disjoint parts of both sets; None where a part has under 2 records.

    A U-statistic over all pairs varies no more than the mean over disjoint parts, so the error is on the safe side.
    """
    if min(len(samples), len(reference)) < 2 * blocks:
        return None
    generator = np.random.default_rng(seed)
    parts_x = np.array_split(generator.permutation(len(samples)), blocks)
    parts_y = np.array_split(generator.permutation(len(reference)), blocks)
    values = [kernel_distance(samples[i], reference[j]) for i, j in zip(parts_x, parts_y, strict=True)]
    return float(np.std(values, ddof=1) / np.sqrt(blocks))


def inception_style_score(probabilities: np.ndarray) -> float:
    """exp of the mean KL divergence between p(class | record) and p(class), from probabilities (N, C): between 1 and C.

    Salimans et al. 2016, with whatever classifier made the probabilities in Inception's place, and no splits.
    """
    p = np.clip(probabilities.astype(np.float64), 1e-16, None)
    divergence = np.sum(p * (np.log(p) - np.log(p.mean(axis=0, keepdims=True))), axis=1)
    return float(np.exp(divergence.mean()))


def inception_score(probabilities: np.ndarray) -> tuple[float, float]:
    """The Inception Score of the network's own probabilities: mean and deviation over ten splits in order (Salimans et al. 2016)."""
    scores = [inception_style_score(part) for part in np.array_split(probabilities, min(SPLITS, len(probabilities)))]
    return float(np.mean(scores)), float(np.std(scores))


def bootstrap_error(statistic: Callable[[np.ndarray], float], values: np.ndarray, seed: int, resamples: int = 20) -> float:
    """Standard deviation of `statistic` over resamples of the rows of `values` with replacement."""
    generator = np.random.default_rng(seed)
    draws = (generator.integers(0, len(values), len(values)) for _ in range(resamples))
    return float(np.std([statistic(values[draw]) for draw in draws], ddof=1))


def moments(features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean (D,) and covariance (D, D) of features (N, D), float64."""
    if len(features) < 2:
        raise WorkbenchError(f"Expected at least 2 records for a covariance, got {len(features)}.")
    features = features.astype(np.float64)
    return features.mean(axis=0), np.atleast_2d(np.cov(features, rowvar=False))


def _kernel_sum(x: np.ndarray, y: np.ndarray) -> float:
    return float(sum(np.sum((x[i : i + _CHUNK] @ y.T / x.shape[1] + 1.0) ** 3) for i in range(0, len(x), _CHUNK)))


def _kernel_diagonal_sum(x: np.ndarray) -> float:
    return float(np.sum((np.sum(x * x, axis=1) / x.shape[1] + 1.0) ** 3))
