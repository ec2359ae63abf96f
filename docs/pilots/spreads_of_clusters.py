"""Mixtures of Gaussians whose clusters have covariances of their own, with and without noise: what a CNN learns of their draws.

`python -m docs.pilots.spreads_of_clusters --bound 10` prints a table. `cluster-moments` releases one row of variances for each class. A
matrix for each cluster would know more and have more noise; here both are made in numpy, with noise of the right size that a seed draws,
so that no line may be released. Where there is noise, directions, centres and spreads have a twentieth, a tenth and the rest of mu^2;
clusters and class means are found without any. Nothing here looks at test records. It needs Fashion-MNIST's IDX files in the folder
that WORKBENCH_DATA names, and a quarter of an hour of a core.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.cluster import KMeans

from docs.pilots.asked import Asked
from docs.pilots.labels_on_draws import SAMPLES, accuracy
from workbench.records import Records

CNN_SEEDS = (0, 1)
DIRECTIONS, ROUNDS = 100, 15
LONGEST, WITHIN = 10.0, 0.95  # what differences from class means are clipped to, and the share of those from centres that is not
FOR_DIRECTIONS, FOR_CENTRES = 0.05, 0.1  # of mu^2


@dataclass(frozen=True)
class Spreads:
    """Second moments of differences from a class's centres: of each cluster (K, d, d), and of all together (d, d)."""

    of_clusters: np.ndarray
    of_class: np.ndarray


WAYS: dict[str, Callable[[Spreads, int], np.ndarray]] = {
    "variances of the class": lambda spreads, _: np.diag(np.diag(spreads.of_class)),
    "covariance of the class": lambda spreads, _: spreads.of_class,
    "variances of the cluster": lambda spreads, cluster: np.diag(np.diag(spreads.of_clusters[cluster])),
    "covariance of the cluster": lambda spreads, cluster: spreads.of_clusters[cluster],
    "half variances of the class, half covariance of the cluster": lambda spreads, cluster: (
        (np.diag(np.diag(spreads.of_class)) + spreads.of_clusters[cluster]) / 2
    ),
}


@dataclass(frozen=True)
class Mixture:
    """Class means (classes, D), axes (D, d), and by class the centres (K, d), their shares (K,) and the spreads about them."""

    means: np.ndarray
    axes: np.ndarray
    centres: list[np.ndarray]
    shares: list[np.ndarray]
    spreads: list[Spreads]

    @classmethod
    def of(cls, data: Records, clusters: int, mu: float, rng: np.random.Generator) -> "Mixture":
        """Of records with pixels in [0, 1], with noise for a Gaussian bound of mu; an infinite one has none."""
        assert data.labels is not None
        pixels, labels = data.records.reshape(len(data), -1) / 255.0, data.labels
        means = np.stack([pixels[labels == label].mean(0) for label in np.unique(labels)])
        apart = pixels - means[labels]
        short = clipped(apart, LONGEST)
        moment = short.T @ short + symmetric(rng, apart.shape[1], LONGEST**2 / (mu * math.sqrt(FOR_DIRECTIONS)))
        axes = np.linalg.eigh(moment)[1][:, -DIRECTIONS:]
        found = cls(means, axes, [], [], [])
        for label in range(len(means)):
            own = clipped(apart[labels == label] @ axes, LONGEST)
            nearest = KMeans(clusters, n_init=1, max_iter=ROUNDS, random_state=0).fit_predict(own)  # type: ignore[arg-type]
            counts = np.bincount(nearest, minlength=clusters)
            centres = np.stack([own[nearest == cluster].mean(0) for cluster in range(clusters)])
            centres += rng.standard_normal(centres.shape) * LONGEST / (mu * math.sqrt(FOR_CENTRES)) / counts[:, None]
            found.centres.append(centres)
            found.shares.append(counts / counts.sum())
            found.spreads.append(spreads_about(own - centres[nearest], nearest, counts, mu, rng))
        return found

    def drawn(self, wanted: np.ndarray, way: Callable[[Spreads, int], np.ndarray], rng: np.random.Generator) -> np.ndarray:
        """Images (M, D) of the wanted classes (M,)."""
        images = self.means[wanted]
        for label, (centres, shares, spreads) in enumerate(zip(self.centres, self.shares, self.spreads, strict=True)):
            places = np.flatnonzero(wanted == label)
            chosen = rng.choice(len(centres), len(places), p=shares)
            vectors, noise = centres[chosen], rng.standard_normal((len(places), DIRECTIONS))
            for cluster in range(len(centres)):
                values, turned = np.linalg.eigh(way(spreads, cluster))
                vectors[chosen == cluster] += noise[chosen == cluster] * np.sqrt(values.clip(0)) @ turned.T
            images[places] += vectors @ self.axes.T
        return images


def spreads_about(differences: np.ndarray, nearest: np.ndarray, counts: np.ndarray, mu: float, rng: np.random.Generator) -> Spreads:
    """Second moments of differences (N, d), each clipped to what all but one of twenty are within, and made up for what that took."""
    longest = float(np.quantile(np.linalg.norm(differences, axis=1), WITHIN))
    short = clipped(differences, longest)
    lost = float((differences**2).sum() / (short**2).sum())
    deviation = longest**2 / (mu * math.sqrt(1 - FOR_DIRECTIONS - FOR_CENTRES))
    sums = np.stack(
        [short[nearest == cluster].T @ short[nearest == cluster] + symmetric(rng, DIRECTIONS, deviation) for cluster in range(len(counts))]
    )
    return Spreads(lost * sums / counts[:, None, None], lost * sums.sum(0) / counts.sum())


def clipped(vectors: np.ndarray, longest: float) -> np.ndarray:
    """Vectors (N, d), those that are longer shortened to this."""
    return vectors * np.minimum(1.0, longest / np.linalg.norm(vectors, axis=1, keepdims=True).clip(1e-12))


def symmetric(rng: np.random.Generator, size: int, deviation: float) -> np.ndarray:
    """Noise for a symmetric matrix (size, size): of this deviation on the diagonal, and of it over sqrt 2 beside it."""
    noise = np.triu(rng.standard_normal((size, size)), 1) / math.sqrt(2)
    return deviation * (noise + noise.T + np.diag(rng.standard_normal(size)))


def main() -> None:
    """The table, a row at a time."""
    asked = Asked.of_command_line(__doc__, bound=10.0)
    data, held_out, classes = asked.dataset.train, asked.dataset.held_out, asked.dataset.facts.num_classes
    wanted = np.arange(SAMPLES) % classes
    print(f"{asked}\n\n| noise | clusters of a class | spreads | CNN of seed 0 | CNN of seed 1 |\n|---|---|---|---|---|")
    for noise, mu, clusters in (("none", math.inf, 50), ("none", math.inf, 10), (f"bound {asked.bound:g}", asked.mu, 10)):
        rng = np.random.default_rng(asked.seed)
        mixture = Mixture.of(data, clusters, mu, rng)
        for what, way in WAYS.items():
            images = (2 * mixture.drawn(wanted, way, rng).clip(0, 1) - 1).astype(np.float32).reshape(-1, *data.records.shape[1:])
            found = [accuracy(images, np.eye(classes)[wanted], np.ones(len(wanted)), held_out, seed) for seed in CNN_SEEDS]
            print(f"| {noise} | {clusters} | {what} | {found[0]:.3f} | {found[1]:.3f} |", flush=True)


if __name__ == "__main__":
    main()
