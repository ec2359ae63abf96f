"""Cluster moments: what a record moves, that none depends on another, and that a class of several kinds is drawn as such."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from support.quick import quick_plan

from workbench.datasets import Dataset, load
from workbench.datasets.base import DatasetFacts
from workbench.experiment import fit, new_state, sample
from workbench.methods.cluster_moments import ClusterMoments, ClusterMomentsConfig, mixture, training
from workbench.methods.cluster_moments.method import CLUSTERS, SECOND_MOMENT, SPREADS, SUMS, replacement_factor
from workbench.methods.cluster_moments.mixture import coefficients_of, cosines, images_of
from workbench.models.frames import STANDARD, frames_of
from workbench.models.reframing import reframed
from workbench.plan import Plan
from workbench.planning import make_plan
from workbench.privacy.accounting.events import Distances
from workbench.privacy.accounting.gaussian import gdp_epsilon
from workbench.records import ImageKind, Records
from workbench.training.state import State

DIGITS = load("digits")
SILENT = 1e-3


def plan(noise_multiplier: float = 1.0, **settings: Any) -> Plan:
    return quick_plan("cluster-moments", epsilon=None, overrides={"noise_multiplier": noise_multiplier} | settings)


def fitted(made: Plan, data: Dataset = DIGITS) -> State:
    state = new_state(made, seed=0)
    for _ in fit(made, data, state):
        pass
    return state


def config_of(made: Plan) -> ClusterMomentsConfig:
    config = made.build().config
    assert isinstance(config, ClusterMomentsConfig)
    return config


def test_the_four_releases_are_one_gaussian_mechanism_whatever_the_rounds() -> None:
    for rounds in (1, 3):
        made = plan(2.0, rounds=rounds)
        assert made.bound.epsilon == pytest.approx(gdp_epsilon(1 / 2.0, made.delta), rel=1e-9)
    assert made.claim.status == "not_evaluated"


EVERY_STAGE = [(SUMS, 0), (SECOND_MOMENT, 0), (CLUSTERS, 0), (SPREADS, 0), (SPREADS, 2)]


@pytest.mark.parametrize(("stage", "groups"), EVERY_STAGE)
@pytest.mark.parametrize("share", [0.2, 0.9])
def test_one_record_moves_a_release_no_farther_than_stated(stage: str, groups: int, share: float) -> None:
    """Black, white and checked ones beside each other, in one class and in two: the farthest come close to what is stated."""
    nulled, moved, stated = farthest(stage, groups, share, moment_normalisation=False)
    squares = stage == SPREADS and not groups  # of norm 1 only where a difference lies in one direction
    assert 0.999 * stated.zero_out <= nulled <= stated.zero_out * 1.000001 or (squares and nulled <= stated.zero_out)
    least = {SUMS: 0.7, SECOND_MOMENT: 0.98, CLUSTERS: 0.8, SPREADS: 0.1 if squares else 0.98}[stage]
    assert least * stated.replace_one <= moved <= stated.replace_one * 1.000001


@pytest.mark.parametrize(("stage", "groups"), EVERY_STAGE)
def test_nor_does_one_that_is_brought_to_the_standard_frame(stage: str, groups: int) -> None:
    nulled, moved, stated = farthest(stage, groups, 0.2, moment_normalisation=True)
    assert 0.05 * stated.zero_out <= nulled <= stated.zero_out * 1.000001
    assert 0.1 * stated.replace_one <= moved <= stated.replace_one * 1.000001


def farthest(stage: str, groups: int, share: float, **settings: Any) -> tuple[float, float, Distances]:
    """How far making the first record null, and replacing it, moves a release, in deviations of its noise; and what is stated."""
    clusters = {"clusters": 3, "groups": groups, "group_directions": 20} if groups else {"clusters": 1}
    made = plan(max_difference=0.05, max_norm=0.2, reach=0.1, frequencies=8, directions=64, share_of_counts=share, **clusters, **settings)
    state, config = fitted(made), config_of(made)
    stated = next(planned for planned in made.stages if planned.name == stage).distances
    assert stated is not None
    tensor, release = training.RELEASES[stage]
    assert tensor in ClusterMoments.released
    unit = _unit(stage, config, state)
    checked = np.indices((8, 8)).sum(0)[None] % 2 == 0
    others = [np.zeros((1, 8, 8)), np.full((1, 8, 8), 255), 255 * checked, 255 * ~checked]

    def released(image: np.ndarray | None, label: int) -> np.ndarray:
        records, labels = DIGITS.train.records.copy(), np.asarray(DIGITS.train.labels).copy()
        labels[0] = label
        if image is None:
            return release(config, replace(DIGITS.train, labels=labels).without(0), state, 1)
        records[0] = image.astype(np.uint8)
        return release(config, replace(DIGITS.train, records=records, labels=labels), state, 1)

    releases = [released(image, label) for image in others for label in (0, 1)]
    nulled = max(float(np.linalg.norm(one - released(None, 0))) for one in releases) / unit
    return nulled, max(float(np.linalg.norm(one - other)) for one in releases for other in releases) / unit, stated


def _unit(stage: str, config: ClusterMomentsConfig, state: State) -> float:
    """The deviation of a release's noise."""
    from workbench.methods.cluster_moments.method import multiplier

    norm = mixture.norm_of_differences(config, state) if stage == SECOND_MOMENT else 1.0
    return multiplier(config, stage) * norm**2


def test_opposite_vectors_are_as_far_apart_as_is_stated() -> None:
    vector = np.array([[3.0, 4.0]])
    for share in (0.2, 0.9):
        config = ClusterMomentsConfig(noise_multiplier=1.0, share_of_counts=share)
        one, other = (training.with_ones(config, training.clipped_vectors(sign * vector, 1.0)) for sign in (1, -1))
        assert np.linalg.norm(one) == pytest.approx(1.0)
        elsewhere = np.sqrt((one**2).sum() + (other**2).sum())
        assert max(np.linalg.norm(one - other), elsewhere) == pytest.approx(replacement_factor(config, CLUSTERS))
    assert replacement_factor(config, SECOND_MOMENT) == replacement_factor(config, SPREADS) == pytest.approx(np.sqrt(2))


@pytest.mark.parametrize("normalised", [False, True])
def test_what_is_made_of_a_record_does_not_depend_on_the_others_to_the_bit(normalised: bool) -> None:
    made = plan(frequencies=8, directions=64, clusters=5, moment_normalisation=normalised)
    state, config = fitted(made), config_of(made)
    directions = mixture.directions(config, state)
    part = DIGITS.train.take(slice(100))
    others = part.records[::-1].copy()
    others[7] = part.records[7]
    alone = training.turned_differences(config, state, directions, part)[7]
    assert np.array_equal(alone, training.turned_differences(config, state, directions, replace(part, records=others))[7])


def test_without_noise_the_releases_are_what_they_say() -> None:
    made = plan(SILENT, frequencies=8, directions=64, clusters=3, max_norm=1.0, max_difference=1.0, reach=5.0)
    state, config = fitted(made), config_of(made)
    images, labels = coefficients_of(DIGITS.train.records / 255, 8, 8), np.asarray(DIGITS.train.labels)
    means = np.stack([images[labels == label].mean(0) for label in range(10)])
    directions = mixture.directions(config, state)
    assert np.allclose(directions.means, means, atol=0.02)
    centred = images - means[labels]
    assert np.allclose(directions.axes @ directions.covariance @ directions.axes.T, centred.T @ centred / len(images), atol=0.02)
    parted = mixture.clusters(config, state, directions)
    centres = state.tensors["centres"].numpy()
    turned = (images - directions.means[labels]) @ directions.axes
    nearest = ((turned[:, None] - centres[labels]) ** 2).sum(2).argmin(1)
    for label, cluster in ((0, 0), (3, 1), (9, 2)):
        chosen = (labels == label) & (nearest == cluster)
        assert parted.shares[label, cluster] == pytest.approx(chosen.sum() / (labels == label).sum(), abs=0.01)
        assert np.allclose(parted.means[label, cluster], turned[chosen].mean(0), atol=0.05)


def two_kinds(shared: int = 1_000) -> Dataset:
    """Two classes, each of images whose left or whose right half is bright, the second class the brighter one."""
    labels, left = np.arange(shared) % 2, np.random.default_rng(0).random(shared) < 0.5
    images = np.zeros((shared, 1, 8, 8), np.uint8)
    bright = np.where(labels == 1, 240, 120)[:, None, None, None]
    images[left, :, :, :4], images[~left, :, :, 4:] = 1, 1
    records = Records((images * bright).astype(np.uint8), labels.astype(np.int64))
    facts = DatasetFacts(name="halves", kind=ImageKind(size=(1, 8, 8)), num_records=shared, classes=("dim", "bright"))
    return Dataset(facts, records, records.take(slice(10)))


def drawn_halves(clusters: int) -> np.ndarray:
    """How much brighter the left half of the samples is than the right one, over the class's brightness: (500,)."""
    data, settings = two_kinds(), {"frequencies": 8, "directions": 3, "clusters": clusters, "rounds": 3, "max_difference": 0.6}
    made = make_plan("cluster-moments", data.facts, epsilon=10.0, settings=settings)
    images = sample(made, fitted(made, data), 500).records[:, 0].astype(float)
    labels = np.arange(500) % 2
    return (images[:, :, :4].mean((1, 2)) - images[:, :, 4:].mean((1, 2))) / np.where(labels == 1, 240, 120)


def test_a_class_of_two_kinds_is_drawn_as_two() -> None:
    """One Gaussian draws what is neither: the very thing that clusters are there for."""
    one, several = (np.abs(drawn_halves(clusters)) for clusters in (1, 8))
    assert (several < 0.5).mean() < 0.1 < 0.25 < (one < 0.5).mean()


def test_with_all_noise_images_are_about_the_class_means_and_finite() -> None:
    made = plan(1e3, clusters=3)
    state, config = fitted(made), config_of(made)
    state.tensors["cluster_sums"][...] = 0.0
    parted = mixture.clusters(config, state, mixture.directions(config, state))
    assert np.array_equal(parted.means, np.zeros_like(parted.means))
    assert np.allclose(parted.shares, 1 / 3)
    assert sample(made, state, 20).records.shape == (20, 1, 8, 8)


def test_a_mean_is_believed_as_far_as_the_noise_lets_it() -> None:
    made = plan(1.0, clusters=1)
    config, state = config_of(made), fitted(made)
    directions = mixture.directions(config, state)
    loud = ClusterMomentsConfig.model_validate(config.model_dump() | {"noise_multiplier": 12.0})
    centres = state.tensors["centres"].numpy()
    quiet, believed_less = (np.abs(mixture.clusters(one, state, directions).means - centres) for one in (config, loud))
    assert (believed_less <= quiet).all()
    assert believed_less.max() < quiet.max()


def test_the_next_centres_are_those_of_what_was_released() -> None:
    """A mixture of two far Gaussians of known means, in a third and two thirds, and of no width: these means and nothing about them."""
    made = plan(SILENT, clusters=2, rounds=2, directions=2, max_difference=1.0)
    state, config = fitted(made), config_of(made)
    spread, count = mixture.directions(config, state).covariance, 150.0
    means = np.sqrt(np.diag(spread)) * np.array([[1.0, 1.0], [-0.5, -0.5]])  # of mean zero, and half the variance in each direction
    of_vectors, of_ones = mixture.weights(config)
    state.tensors["centres"] = torch.zeros(10, 2, 2, dtype=torch.float64)
    counts = count * np.array([[1 / 3], [2 / 3]])
    sums = np.concatenate([of_vectors * counts * means / mixture.norm_about_centres(config, state), of_ones * counts], axis=1)
    state.tensors["cluster_sums"] = torch.from_numpy(np.repeat(sums[None], 10, axis=0))
    found = mixture.proposed_centres(config, state, 2)
    gap = np.linalg.norm(means[0] - means[1])
    for centres in found["centres"]:
        assert min(np.abs(centres - means).max(), np.abs(centres[::-1] - means).max()) < 0.25 * gap
    assert found["about"].sum() < np.trace(spread)


def test_a_class_s_spread_is_its_own() -> None:
    """Where the releases say that one class is twice as wide as another, its images are."""
    made = plan(SILENT, clusters=1, frequencies=8, directions=10, reach=2.5, max_norm=1.0, max_difference=1.0, widening=1.0)
    state, config = fitted(made), config_of(made)
    directions = mixture.directions(config, state)
    parted = mixture.clusters(config, state, directions)
    labels = np.asarray(DIGITS.train.labels)
    turned = training.turned_differences(config, state, directions, DIGITS.train)
    roots = mixture.roots(config, state, directions, parted)[:, 0]
    for label in range(10):
        own = (turned[labels == label] ** 2).mean(0)
        assert np.allclose((roots[label] ** 2).sum(1), np.clip(own, None, 4 * np.diag(directions.covariance)), rtol=0.1, atol=0.01)


def by_groups(noise_multiplier: float, **settings: Any) -> tuple[State, ClusterMomentsConfig, mixture.Directions, mixture.Clusters]:
    """A state with two groups of four clusters a class, in eight of ten directions."""
    usual: dict[str, Any] = {"clusters": 4, "groups": 2, "group_directions": 8, "frequencies": 8, "directions": 10}
    state = fitted(made := plan(noise_multiplier, **usual | settings))
    directions = mixture.directions(config_of(made), state)
    return state, config_of(made), directions, mixture.clusters(config_of(made), state, directions)


def test_a_group_s_covariance_is_its_own() -> None:
    """That of its records about their clusters in the widest directions; in the two others it is as much wider as it is in those."""
    state, config, directions, parted = by_groups(SILENT, reach=4.0, max_norm=1.0, max_difference=1.0, widening=1.0)
    labels, in_groups = np.asarray(DIGITS.train.labels), mixture.groups(config, parted)
    turned = training.turned_differences(config, state, directions, DIGITS.train)
    cluster = training.nearest(turned, labels, parted.means, parted.shares > 0)
    about, roots = mixture.within(directions, parted), mixture.roots(config, state, directions, parted)
    assert roots.shape == (10, 2, 10, 10)
    for label, group in np.ndindex(10, 2):
        chosen = (labels == label) & (in_groups[labels, cluster] == group)
        apart = (turned - parted.means[labels, cluster])[chosen, 2:]
        drawn = roots[label, group] @ roots[label, group].T
        assert np.allclose(drawn[2:, 2:], apart.T @ apart / chosen.sum(), atol=0.02)
        assert np.allclose(drawn[:2, :2], about[:2, :2] * np.trace(drawn[2:, 2:]) / np.trace(about[2:, 2:]), atol=1e-6)
        assert not drawn[:2, 2:].any()


def test_clusters_of_a_group_are_near_one_another_and_those_left_out_have_none() -> None:
    means = np.array([[[0.0, 0.0], [5.0, 5.0], [0.1, 0.0], [5.0, 5.1], [9.0, 9.0]]])
    parted = mixture.Clusters(means, np.array([[0.3, 0.2, 0.3, 0.2, 0.0]]))
    found = mixture.groups(ClusterMomentsConfig(noise_multiplier=1.0, groups=2), parted)
    assert found[0, 0] == found[0, 2] != found[0, 1] == found[0, 3]
    assert set(found[0, :4]) == {0, 1}
    assert not mixture.groups(ClusterMomentsConfig(noise_multiplier=1.0), parted).any()


def test_samples_have_the_covariance_of_their_cluster_s_group() -> None:
    """With one cluster a group: where a group's matrix is emptied, its samples are its cluster's mean, and the other's are not."""
    data, settings = two_kinds(), {"frequencies": 8, "directions": 3, "clusters": 2, "groups": 2, "rounds": 3, "max_difference": 0.6}
    made = make_plan("cluster-moments", data.facts, epsilon=1e4, settings=settings)
    state, config = fitted(made, data), config_of(made)
    parted = mixture.clusters(config, state, mixture.directions(config, state))
    assert (parted.shares > 0.2).all()
    first = mixture.groups(config, parted)[0, 0]
    state.tensors["spreads"][0, first] = 0.0
    drawn = sample(made, state, 400)
    kinds = {image.tobytes() for image in drawn.records[np.asarray(drawn.labels) == 0]}
    assert 50 < len(kinds) < 150  # of 200: those of the emptied group are all alike


def test_a_group_that_is_all_noise_has_its_class_s_covariance() -> None:
    state, config, directions, parted = by_groups(1.0)
    config = config.model_copy(update={"noise_multiplier": 1e4})
    roots = mixture.roots(config, state, directions, parted)
    assert np.isfinite(roots).all()
    assert all(np.array_equal(of_class[0], of_class[1]) for of_class in roots)


def test_cosines_are_orthonormal_and_coarse_first() -> None:
    assert np.allclose(cosines(8, 8) @ cosines(8, 8).T, np.eye(8))
    assert np.array_equal(cosines(3, 8), cosines(8, 8)[:3])
    images = np.random.default_rng(0).random((2, 3, 8, 6))
    assert np.allclose(images_of(coefficients_of(images, 8, 6), (3, 8, 6), (8, 6)), images)
    flat = np.full((1, 1, 8, 8), 0.5)
    assert np.allclose(images_of(coefficients_of(flat, 2, 2), (1, 2, 2), (8, 8)), flat)


def test_colour_has_fewer_frequencies_and_few_records_fewer_clusters() -> None:
    colour = DatasetFacts(name="photos", kind=ImageKind(size=(3, 32, 32)), num_records=50_000, classes=tuple("abcdefghij"))
    config = ClusterMomentsConfig.model_validate(ClusterMoments.defaults(colour))
    assert config.dimensions(colour) == 588
    assert (ClusterMoments.defaults(DIGITS.facts)["clusters"], ClusterMoments.defaults(DIGITS.facts)["rounds"]) == (1, 1)
    assert make_plan("cluster-moments", colour, epsilon=10.0).config["frequencies"] == 20
    assert config.used_directions(DIGITS.facts) == 64


def test_a_plan_is_finer_where_there_is_little_noise_and_says_so() -> None:
    """What a person gives stays, and the bound is met either way."""
    clothes = DatasetFacts(name="clothes", kind=ImageKind(size=(1, 28, 28)), num_records=60_000, classes=tuple("abcdefghij"))
    coarse, fine = (make_plan("cluster-moments", clothes, epsilon=epsilon) for epsilon in (1.0, 10.0))
    given = make_plan("cluster-moments", clothes, epsilon=10.0, settings={"clusters": 7})
    assert [one.config["clusters"] for one in (coarse, fine, given)] == [60, 100, 7]
    assert [one.config["groups"] for one in (coarse, fine, given)] == [0, 10, 10]
    assert not any("Finer" in warning for warning in coarse.warnings)
    assert any("clusters 100" in warning for warning in fine.warnings)
    assert not any("clusters 100" in warning for warning in given.warnings)
    shares = make_plan("cluster-moments", clothes, epsilon=10.0, settings={"share_of_sums": 0.4}).config
    assert (shares["share_of_sums"], shares["share_of_spreads"]) == (0.4, 0.1)
    assert 9.95 <= fine.bound.epsilon <= 10.0


def test_an_interrupted_run_goes_on_from_its_last_release() -> None:
    made = plan(rounds=2)
    whole, state = fitted(made), new_state(made, seed=0)
    steps = fit(made, DIGITS, state)
    for _ in range(3):
        next(steps)
    resumed = new_state(made, seed=0)
    resumed.restore(state.checkpoint())
    assert [(step.stage, step.step) for step in fit(made, DIGITS, resumed)] == [(CLUSTERS, 2), (SPREADS, 1)]
    for name in ClusterMoments.released:
        assert torch.equal(resumed.tensors[name], whole.tensors[name]), name


def test_images_of_one_shape_in_many_frames_are_one_shape_to_the_mixture() -> None:
    """Slanted and widened bars: in the standard frame they differ by less, and draws have the frames of the records."""
    drawn = np.random.default_rng(0)
    given = STANDARD + drawn.normal(0, [0.1, 0.1, 0.3, 0.15, 0.1], (400, 5))
    bar = np.zeros((1, 1, 28, 28), np.float32)
    bar[..., 8:20, 12:16] = bar[..., 17:20, 10:19] = 1.0
    bars = np.broadcast_to(bar, (400, 1, 28, 28))
    images = (reframed(bars, STANDARD, given) * 255).round().astype(np.uint8)
    facts = DatasetFacts(name="bars", kind=ImageKind(size=(1, 28, 28)), num_records=400, classes=("bar",))
    data = Dataset(facts, Records(images, np.zeros(400, np.int64)), Records(images[:10], np.zeros(10, np.int64)))
    spreads = {}
    for normalised in (False, True):
        settings = {"noise_multiplier": SILENT, "moment_normalisation": normalised, "clusters": 1, "rounds": 1}
        made = make_plan("cluster-moments", facts, settings=settings)
        state = fitted(made, data)
        config = config_of(made)
        second = mixture.second_moment(config, state)
        spreads[normalised] = float(np.trace(second[: 18 * 18, : 18 * 18]))
        if normalised:
            frames = frames_of(sample(made, state, 400).records)
            seen = frames_of(images)
            assert frames.mean(axis=0) == pytest.approx(seen.mean(axis=0), abs=0.05)
            assert frames[:, 2].std() == pytest.approx(seen[:, 2].std(), rel=0.25), "slants vary as the records' do"
    assert spreads[True] < 0.5 * spreads[False]
