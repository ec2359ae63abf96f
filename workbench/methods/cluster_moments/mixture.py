"""What follows from the noisy releases: directions, clusters and spreads. Post-processing, made anew wherever it is needed."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.cluster import KMeans

from workbench.datasets.base import DatasetFacts
from workbench.methods.class_moments.training import root, symmetric
from workbench.methods.cluster_moments.method import CLUSTERS, SPREADS, SUMS, Mixtures, multiplier
from workbench.models import frames
from workbench.models.reframing import in_standard_frame, reframed
from workbench.training.state import State


def cosines(count: int, pixels: int) -> np.ndarray:
    """The `count` coarsest of `pixels` orthonormal cosines, (count, pixels)."""
    frequencies, places = np.arange(count)[:, None], np.arange(pixels) + 0.5
    return np.cos(math.pi * frequencies * places / pixels) * np.where(frequencies == 0, 1.0, math.sqrt(2)) / math.sqrt(pixels)


def coefficients_of(images: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """Coefficients (N, C * rows * columns) of images (N, C, H, W): each image by products of its own, whatever stands beside it."""
    coefficients = cosines(rows, images.shape[2]) @ images @ cosines(columns, images.shape[3]).T
    return coefficients.reshape(len(images), -1)


def images_of(coefficients: np.ndarray, coarse: tuple[int, int, int], size: tuple[int, int]) -> np.ndarray:
    """Images (N, C, H, W) of coefficients (N, C * rows * columns), `coarse` being (C, rows, columns) and `size` (H, W)."""
    grids = coefficients.reshape(-1, *coarse)
    return cosines(coarse[1], size[0]).T @ grids @ cosines(coarse[2], size[1])


FRAME_WEIGHT = 0.2  # of the norm of a white image: what a frame's numbers are multiplied by, so that they weigh as much as pixels


def vectors_of(config: Mixtures, facts: DatasetFacts, images: np.ndarray) -> np.ndarray:
    """uint8 images (N, C, H, W) as they are looked at (N, D): coarse cosines of pixels in [0, 1], and the frame that each had."""
    _, rows, columns = config.coarse_shape(facts)
    if not config.moment_normalisation:
        return coefficients_of(images / 255.0, rows, columns)
    pixels, found = in_standard_frame(images)
    apart = FRAME_WEIGHT * math.sqrt(facts.dimensions) * (found - frames.STANDARD)
    return np.concatenate([coefficients_of(pixels.astype(np.float64), rows, columns), apart], axis=1)


def of_vectors(config: Mixtures, facts: DatasetFacts, vectors: np.ndarray) -> np.ndarray:
    """Images float (N, C, H, W) of vectors (N, D), in the frames that these say."""
    coarse, size = config.coarse_shape(facts), (facts.shape[1], facts.shape[2])
    if not config.moment_normalisation:
        return images_of(vectors, coarse, size)
    pixels = images_of(vectors[:, : -frames.NUMBERS], coarse, size)
    return reframed(np.clip(pixels, 0.0, 1.0), frames.STANDARD, frames_in(config, facts, vectors))


def frames_in(config: Mixtures, facts: DatasetFacts, vectors: np.ndarray) -> np.ndarray:
    """The frames (N, 5) that vectors (N, D) say."""
    said = vectors[:, -frames.NUMBERS :] / (FRAME_WEIGHT * math.sqrt(facts.dimensions)) + frames.STANDARD
    return np.clip(said, frames.LOWEST, frames.HIGHEST)


LEAST_COUNT = 0.1  # of an even share of the records: what a noisy count is taken to be at least
SURE = 1.5  # deviations of its noise that a cluster's count has to have
DOUBT = 2.0  # deviations of a noisy spread's ratio, as which half of what it says is believed
OF_COUNT = 0.02  # of the squared norm of what a record adds to its group, that is for a one
WEIGHTS_OF_GROUPS = math.sqrt(1 - OF_COUNT), math.sqrt(OF_COUNT)  # of an outer product of norm 1, and of the one beside it
NARROWEST, WIDEST = 0.1, 4.0  # of a class's variance over that of all classes


@dataclass(frozen=True)
class Directions:
    """Class means (classes, D), principal directions (D, k) of differences from them, and the covariance (k, k) in these."""

    means: np.ndarray
    axes: np.ndarray
    covariance: np.ndarray
    shares: np.ndarray  # of the records, by class


@dataclass(frozen=True)
class Clusters:
    """Means (classes, K, k) in the directions, and shares (classes, K) of their class; of those left out 0."""

    means: np.ndarray
    shares: np.ndarray


def reach(config: Mixtures, variances: np.ndarray) -> float:
    """The norm that vectors of these variances (k,) are clipped to."""
    return config.reach * math.sqrt(max(float(variances.sum()), 1e-12))


def norm_of_images(config: Mixtures, state: State) -> float:
    """What images are clipped to for the sums by class."""
    return config.max_norm * math.sqrt(state.facts.dimensions)


def norm_of_differences(config: Mixtures, state: State) -> float:
    """What differences from class means are clipped to for the second moment."""
    return config.max_difference * math.sqrt(state.facts.dimensions)


def weights(config: Mixtures) -> tuple[float, float]:
    """What a vector of norm 1 and a one are multiplied by in a sum, so that both have norm 1 together."""
    return math.sqrt(1 - config.share_of_counts), math.sqrt(config.share_of_counts)


def class_means(config: Mixtures, state: State) -> tuple[np.ndarray, np.ndarray]:
    """Means (classes, D) and counts (classes,) by the noisy sums, no count next to nothing."""
    of_images, _ = weights(config)
    sums = state.tensors["class_sums"].cpu().numpy()
    counts = np.maximum(noisy_counts(config, state), LEAST_COUNT * state.facts.num_records / len(sums))
    return sums[:, :-1] * norm_of_images(config, state) / of_images / counts[:, None], counts


def noisy_counts(config: Mixtures, state: State) -> np.ndarray:
    """Records by class (classes,), as they were released."""
    return state.tensors["class_sums"].cpu().numpy()[:, -1] / weights(config)[1]


def second_moment(config: Mixtures, state: State) -> np.ndarray:
    """The noisy mean (D, D) of outer products of differences from class means; it may have negative eigenvalues."""
    return symmetric(state.tensors["second_moment"].cpu().numpy(), config.dimensions(state.facts)) / state.facts.num_records


def directions(config: Mixtures, state: State) -> Directions:
    """The directions in which the noisy second moment is widest."""
    means, counts = class_means(config, state)
    values, axes = np.linalg.eigh(second_moment(config, state))
    kept = slice(len(values) - config.used_directions(state.facts), None)
    return Directions(means, axes[:, kept], np.diag(np.maximum(values[kept], 0.0)), counts / counts.sum())


DRAWS, DRAWS_OF_A_CLUSTER, ITERATIONS = 6_000, 20, 10


def proposed_centres(config: Mixtures, state: State, round_: int) -> dict[str, np.ndarray]:
    """Where round `round_` looks for clusters: "centres" (classes, K, k), and "about" (k,), the variances that are expected about them.

    Centres are those that k-means finds among draws of the mixture that was released so far: before the first round one Gaussian for all.
    """
    parted_in = directions(config, state)
    classes, size = len(parted_in.means), len(parted_in.covariance)
    if round_ == 1:
        found, root_of = Clusters(np.zeros((classes, 1, size)), np.ones((classes, 1))), np.sqrt(parted_in.covariance)
    else:
        found = clusters(config, state, parted_in)
        root_of = root(within(parted_in, found))
    count = max(DRAWS, DRAWS_OF_A_CLUSTER * config.clusters)
    rng = np.random.default_rng(round_)  # known to all: what it draws hides nothing, and centres are a function of what was released
    centres, about = np.zeros((classes, config.clusters, size)), np.zeros(size)
    for label in range(classes):
        chosen = rng.choice(len(found.shares[label]), count, p=found.shares[label])
        draws = found.means[label, chosen] + rng.standard_normal((count, size)) @ root_of.T
        fitted = KMeans(config.clusters, max_iter=ITERATIONS, random_state=0).fit(draws)
        centres[label] = fitted.cluster_centers_
        about += parted_in.shares[label] * ((draws - centres[label][fitted.predict(draws)]) ** 2).mean(0)
    return {"centres": centres, "about": about}


def norm_about_centres(config: Mixtures, state: State) -> float:
    """What differences from a round's centres are clipped to, in pixels of [0, 1]."""
    return reach(config, state.tensors["about"].cpu().numpy())


def clusters(config: Mixtures, state: State, directions: Directions) -> Clusters:
    """The clusters of the last round: its centres, moved by the noisy sums as far as noise lets these be believed.

    One of too few records has no share. Where a class has no cluster left, all its records are about its mean.
    """
    sums = released_sums(config, state)
    shares = np.where(sums.kept, sums.counts, 0.0)
    totals = shares.sum(1, keepdims=True)
    shares = np.where(totals > 0, shares / np.where(totals > 0, totals, 1.0), 1.0 / shares.shape[1])
    means = state.tensors["centres"].cpu().numpy() + sums.means * sums.believed
    return Clusters(np.where(sums.kept[..., None], means, 0.0), shares)


@dataclass(frozen=True)
class ClusterSums:
    """Noisy means (classes, K, k) of differences from centres, the variance (classes, K, 1) of the noise on their numbers, counts
    (classes, K), which of these are kept, and what is believed of the means (classes, K, k), 0..1.
    """

    means: np.ndarray
    noise: np.ndarray
    counts: np.ndarray
    kept: np.ndarray
    believed: np.ndarray


def released_sums(config: Mixtures, state: State) -> ClusterSums:
    """The sums by cluster as they were released, over their noisy counts."""
    of_vectors, of_ones = weights(config)
    deviation = multiplier(config, CLUSTERS)
    sums = state.tensors["cluster_sums"].cpu().numpy()
    counts = sums[..., -1] / of_ones
    kept = counts > SURE * deviation / of_ones
    scale = norm_about_centres(config, state) / of_vectors / np.where(kept, counts, 1.0)[..., None]
    noise, variances = (deviation * scale) ** 2, state.tensors["about"].cpu().numpy()
    return ClusterSums(sums[..., :-1] * scale, noise, counts, kept, variances / np.maximum(variances + noise, 1e-300))


def noise_in_classes(config: Mixtures, state: State) -> np.ndarray:
    """The squared norm (classes,) of the noise that is expected in where a class's samples lie.

    A cluster is measured from its class's noisy mean, so what is believed of it takes as much of the mean's noise away and brings noise of
    its own. An estimate: that long differences are clipped is left out, and what centres keep of the noise of earlier rounds; directions
    without any variance count as if they had noise.
    """
    means, counts = class_means(config, state)
    of_mean = (multiplier(config, SUMS) * norm_of_images(config, state) / weights(config)[0] / counts) ** 2
    parted = directions(config, state)
    sums, shares = released_sums(config, state), clusters(config, state, parted).shares
    believed = np.where(sums.kept[..., None], sums.believed, 0.0)
    in_clusters = of_mean[:, None, None] * (1.0 - believed) ** 2 + believed**2 * sums.noise
    beside = means.shape[1] - believed.shape[2]
    return (shares[..., None] * in_clusters).sum((1, 2)) + beside * of_mean


def within(directions: Directions, parted: Clusters) -> np.ndarray:
    """The covariance (k, k) about the clusters: what their means leave of that about the classes'; it may have negative eigenvalues."""
    spread = np.einsum("c,cj,cjk,cjl->kl", directions.shares, parted.shares, parted.means, parted.means, optimize=True)
    return directions.covariance - spread


def groups(config: Mixtures, parted: Clusters) -> np.ndarray:
    """The group (classes, K) of each cluster: those of its class that are near one another, by Ward's method on their means."""
    found = np.zeros(parted.shares.shape, np.int64)
    if config.groups > 1:
        for label, (means, shares) in enumerate(zip(parted.means, parted.shares, strict=True)):
            kept = np.flatnonzero(shares > 0)
            if len(kept) > 1:
                found[label, kept] = fcluster(linkage(means[kept], "ward"), config.groups, "maxclust") - 1
    return found


def norm_of_spreads(config: Mixtures, state: State, about: np.ndarray) -> float:
    """What differences from clusters are clipped to, in the directions whose spread is released; `about` is the covariance in all."""
    if config.groups:
        widest = slice(len(about) - config.directions_of_groups(state.facts), None)
        return reach(config, np.diag(about)[widest])
    return reach(config, np.diag(about))


def roots(config: Mixtures, state: State, directions: Directions, parted: Clusters) -> np.ndarray:
    """Roots of covariances about clusters: (classes, 1, k, k), one of each class, or (classes, groups, k, k), one of each group."""
    if config.groups:
        return roots_of_groups(config, state, directions, parted)
    return roots_of_classes(config, state, directions, parted)[:, None]


def roots_of_classes(config: Mixtures, state: State, directions: Directions, parted: Clusters) -> np.ndarray:
    """Roots (classes, k, k) of each class's covariance about its clusters: the common one's, wider or narrower in each direction."""
    common = root(within(directions, parted))
    variances = (common**2).sum(1)
    norm = norm_of_spreads(config, state, within(directions, parted))
    counts = directions.shares * state.facts.num_records
    seen = state.tensors["spreads"].cpu().numpy() * norm**2 / counts[:, None]
    noise = (DOUBT * multiplier(config, SPREADS) * norm**2 / counts[:, None]) ** 2
    least = max(float(variances.max()), 1e-12) * 1e-9
    believed = variances**2 / (variances**2 + noise)
    ratios = np.clip(1.0 + believed * (config.widening * seen / np.maximum(variances, least) - 1.0), NARROWEST, WIDEST)
    return np.sqrt(ratios)[..., None] * common


def roots_of_groups(config: Mixtures, state: State, directions: Directions, parted: Clusters) -> np.ndarray:
    """Roots (classes, groups, k, k): a group's own covariance in the widest directions, and in the others that of all records.

    What noise adds to a covariance stays: it is variety. One whose noise alone would be wider than its class is anywhere is not believed:
    the group has its class's. Other directions are as much wider or narrower as the group is in the widest ones.
    """
    about, size = within(directions, parted), config.directions_of_groups(state.facts)
    norm, widest, others = norm_of_spreads(config, state, about), slice(len(about) - size, None), slice(0, len(about) - size)
    common = root(about[others, others])
    usual = max(float(np.trace(about[widest, widest])), 1e-12)
    released, (of_products, of_ones) = state.tensors["spreads"].cpu().numpy(), WEIGHTS_OF_GROUPS
    sums, counts = released[..., :-1] * norm**2 / of_products, np.maximum(released[..., -1] / of_ones, 1.0)
    found = np.zeros((*sums.shape[:2], len(about), len(about)))
    for label, group in np.ndindex(sums.shape[:2]):
        of_class = symmetric(sums[label].sum(0), size) / counts[label].sum()
        noise = multiplier(config, SPREADS) * norm**2 / counts[label, group] * math.sqrt(2 * size)  # as wide as a matrix of it alone is
        believed = noise < np.linalg.eigvalsh(of_class)[-1]
        own = config.widening * (symmetric(sums[label, group], size) / counts[label, group] if believed else of_class)
        found[label, group][widest, widest] = root(own)
        found[label, group][others, others] = math.sqrt(max(float(np.trace(own)), 0.0) / usual) * common
    return found
