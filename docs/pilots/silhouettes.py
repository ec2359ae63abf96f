"""Mixtures of Gaussians of silhouette and appearance beside those of pixels, no noise anywhere: what a CNN learns of their draws.

`python -m docs.pilots.silhouettes` prints a table. A silhouette is the signed distance of each pixel to its edge, and the appearance is
carried on outside it from the nearest pixel inside, so that draws have sharp edges. The mixtures are not private, so no line of it may be
released. Nothing here looks at test records. It needs Fashion-MNIST's IDX files in the folder that WORKBENCH_DATA names, and half an hour
of a core.

Source: Cootes et al. 2001, active appearance models, with a distance in the place of landmarks.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import ndimage
from sklearn.cluster import KMeans

from docs.pilots.asked import Asked
from docs.pilots.labels_on_draws import SAMPLES, accuracy

CNN_SEEDS = (0, 1)
DARK, FAR, SOFT = 0.06, 6.0, 0.5  # of [0, 1], what is background; pixels that a distance is cut to, and of an edge's width
WEIGHT = 0.05  # of a distance beside appearance
DIRECTIONS, CLUSTERS, ROUNDS = 100, (50, 200), 15


def split(images: np.ndarray) -> np.ndarray:
    """Distances, weighted, and appearance (N, 2 H W) of images (N, H, W) in [0, 1]."""
    distances, appearance = np.full(images.shape, -FAR), np.zeros(images.shape)
    for row, image in enumerate(images):
        inside = image > DARK
        if inside.any():
            nearest = np.asarray(ndimage.distance_transform_edt(~inside, return_distances=False, return_indices=True))  # type: ignore[arg-type]
            signed = distance_to(~inside) - distance_to(inside)
            distances[row], appearance[row] = signed.clip(-FAR, FAR), image[tuple(nearest)]
    return np.concatenate([flat(distances) * WEIGHT, flat(appearance)], axis=1).astype(np.float32)


def distance_to(pixels: np.ndarray) -> np.ndarray:
    """How far each pixel is from the nearest one of `pixels` (H, W)."""
    return np.maximum(np.asarray(ndimage.distance_transform_edt(~pixels)) - 0.5, 0.0)  # type: ignore[arg-type]


def joined(vectors: np.ndarray) -> np.ndarray:
    """The images (N, H W) of distances and appearance."""
    distances, appearance = np.split(vectors, 2, axis=1)
    return appearance.clip(0, 1) / (1 + np.exp(-distances / WEIGHT / SOFT))


def flat(images: np.ndarray) -> np.ndarray:
    """(N, H W)."""
    return images.reshape(len(images), -1)


@dataclass(frozen=True)
class Directions:
    """The mean (D,) and the widest directions (D, k) of vectors, and these as coefficients (N, k)."""

    mean: np.ndarray
    axes: np.ndarray
    coefficients: np.ndarray

    @classmethod
    def of(cls, vectors: np.ndarray) -> "Directions":
        """Those of vectors (N, D)."""
        mean = vectors.mean(0)
        axes = np.linalg.eigh(np.cov(vectors, rowvar=False))[1][:, -DIRECTIONS:]
        return cls(mean, axes, (vectors - mean) @ axes)

    def vectors(self, coefficients: np.ndarray) -> np.ndarray:
        """Vectors (N, D) of coefficients."""
        return coefficients @ self.axes.T + self.mean

    def mixture(self, labels: np.ndarray, clusters: int, wanted: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draws (M, D) of the wanted labels (M,): clusters by class, one covariance about them, scaled to each class's variances."""
        rests, parted = np.zeros_like(self.coefficients), {}
        for label in np.unique(labels):
            own = self.coefficients[labels == label]
            found = KMeans(clusters, init="random", n_init=1, max_iter=ROUNDS, random_state=0)  # type: ignore[arg-type]
            nearest = found.fit_predict(own)
            parted[label] = found.cluster_centers_, np.bincount(nearest, minlength=clusters) / len(own)
            rests[labels == label] = own - found.cluster_centers_[nearest]
        covariance = np.cov(rests, rowvar=False)
        root, drawn = np.linalg.cholesky(covariance), np.zeros((len(wanted), DIRECTIONS))
        for label, (centres, shares) in parted.items():
            places = np.flatnonzero(wanted == label)
            wide = np.sqrt((rests[labels == label] ** 2).mean(0) / np.diag(covariance))
            noise = rng.standard_normal((len(places), DIRECTIONS)) @ (root * wide[:, None]).T
            drawn[places] = centres[rng.choice(clusters, len(places), p=shares)] + noise
        return self.vectors(drawn)


def main() -> None:
    """The table, a row at a time."""
    asked = Asked.of_command_line(__doc__, bound=10.0)
    data, held_out, rng = asked.dataset.train, asked.dataset.held_out, np.random.default_rng(asked.seed)
    assert data.labels is not None
    classes, shape = asked.dataset.facts.num_classes, data.records.shape[1:]
    pixels, some = data.records[:, 0] / 255.0, rng.permutation(len(data))[:SAMPLES]
    wanted = np.arange(SAMPLES) % classes

    def show(what: str, images: np.ndarray, labels: np.ndarray) -> None:
        pictures = (2 * images.clip(0, 1) - 1).astype(np.float32).reshape(-1, *shape)
        found = [accuracy(pictures, np.eye(classes)[labels], np.ones(len(labels)), held_out, seed) for seed in CNN_SEEDS]
        print(f"| {what} | {found[0]:.3f} | {found[1]:.3f} |", flush=True)

    print(f"{asked.dataset.facts.name}, no noise\n\n| what is taught | CNN of seed 0 | CNN of seed 1 |\n|---|---|---|")
    show("records", pixels[some], data.labels[some])
    ways: dict[str, tuple[Callable[[np.ndarray], np.ndarray], Callable[[np.ndarray], np.ndarray]]] = {
        "pixels": (flat, np.asarray),
        "silhouette and appearance": (split, joined),
    }
    for name, (there, back) in ways.items():
        vectors = there(pixels)
        show(f"records by {name}", back(vectors[some]), data.labels[some])
        directions = Directions.of(vectors)
        show(f"records in {DIRECTIONS} directions of {name}", back(directions.vectors(directions.coefficients[some])), data.labels[some])
        for clusters in CLUSTERS:
            show(f"{clusters} Gaussians a class in these", back(directions.mixture(data.labels, clusters, wanted, rng)), wanted)


if __name__ == "__main__":
    main()
