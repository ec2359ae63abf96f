"""Class moments with a public prior: what a record moves, whose prior it is, and that no more is believed than the noise allows."""

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from support.quick import quick_plan

from workbench.datasets import load
from workbench.errors import WorkbenchError
from workbench.experiment import fit, new_state, sample
from workbench.methods.class_moments import COUNTS, SECOND_MOMENT, SUMS, ClassMomentsConfig
from workbench.methods.class_moments import method as stages
from workbench.methods.class_moments.training import RELEASES, RecordTransform
from workbench.methods.prior_moments import PriorMoments, training
from workbench.plan import Plan
from workbench.privacy.accounting.gaussian import gdp_epsilon
from workbench.records import Records
from workbench.training.floored_normals import NOISE_BITS
from workbench.training.grid import rounding_share
from workbench.training.state import State
from workbench.training_data import pretraining_records
from workbench.workspace import Workspace

DIGITS = load("digits")
LABELS = DIGITS.train.labels


def plan(noise_multiplier: float = 1.0, **settings: Any) -> Plan:
    chosen = {"noise_multiplier": noise_multiplier, "pooling": 1, "records": 2_000} | settings
    return quick_plan("prior-moments", epsilon=None, overrides=chosen)


def fitted(noise_multiplier: float, **settings: Any) -> State:
    made = plan(noise_multiplier, **settings)
    state = new_state(made, seed=0)
    for _ in fit(made, DIGITS, state):
        pass
    return state


def moments(records: Records) -> tuple[np.ndarray, np.ndarray]:
    """Class means and the covariance within classes."""
    images, labels = records.records.reshape(len(records), -1) / 255, records.labels
    assert labels is not None
    means = np.stack([images[labels == label].mean(0) for label in range(10)])
    centred = images - means[labels]
    return means, centred.T @ centred / len(images)


def public() -> Records:
    records = pretraining_records(plan(), Workspace.default())
    assert records is not None
    return records


SHARES = {SUMS: 0.6, COUNTS: 0.05, SECOND_MOMENT: 0.35}


def test_the_three_are_one_gaussian_release_and_opposite_differences_count_twice_in_the_sums_alone() -> None:
    made = plan(2.0)
    assert [stage.name for stage in made.stages] == [prior_stage := "public prior", SUMS, COUNTS, SECOND_MOMENT]
    assert made.bound.epsilon == pytest.approx(gdp_epsilon(1 / 2.0, made.delta), rel=1e-9)
    assert made.replace_one is not None
    assert made.claim.status == "not_evaluated"
    assert "floor" not in made.claim.reason
    apart = math.sqrt(2 * 0.6 + 2 * 0.35 + 0.6**2 / (2 * 0.35))
    assert apart**2 == pytest.approx(2.414, abs=5e-4), "and not the 3.2 of each at its farthest"
    exact = gdp_epsilon(apart / 2.0, made.delta)
    assert exact < made.replace_one.epsilon <= exact * 1.001, "the little more is for rounding"
    assert next(stage for stage in made.stages if stage.name == prior_stage).spent == "free"


@pytest.mark.parametrize("shares", [(0.6, 0.35), (0.3, 0.3), (0.8, 0.15), (0.1, 0.85), (0.5, 0.25)])
def test_no_two_records_move_the_three_farther_than_the_joint_distance_and_some_as_far(shares: tuple[float, float]) -> None:
    """By pairs of differences of norm 1 or less at random, in one class and in two, and by a climb from the best of them."""
    sums, second = shares
    made = plan(2.0, share_of_sums=sums, share_of_counts=1.0 - sums - second)
    stated = stages.joint_distance(made.build().config, made.facts)  # pyright: ignore[reportArgumentType]
    draw = np.random.default_rng(0)

    def squared(one: np.ndarray, two: np.ndarray, same_class: bool) -> np.ndarray:
        inner, (first, other) = (one * two).sum(1), ((side**2).sum(1) for side in (one, two))
        moments = second * (first**2 + other**2 - 2 * inner**2)
        return sums * (first + other - 2 * inner * same_class) + 2 * (1.0 - sums - second) * (not same_class) + moments

    def in_ball(vectors: np.ndarray) -> np.ndarray:
        return vectors / np.maximum(1.0, np.linalg.norm(vectors, axis=1, keepdims=True))

    best = 0.0
    for same_class in (True, False):
        pairs = draw.normal(size=(2, 4_000, 3))
        for width in (1.0, *np.geomspace(0.5, 1e-4, 12)):
            tried = np.concatenate([pairs, pairs + width * draw.normal(size=pairs.shape)], axis=1)
            tried = np.stack([in_ball(side) for side in tried])
            distances = squared(*tried, same_class)
            pairs = tried[:, np.argsort(-distances)[:4_000]]
            best = max(best, float(distances.max()))
    assert best <= stated**2
    assert best == pytest.approx(stated**2, rel=1e-3)


def test_the_joint_distance_makes_up_for_all_rounding() -> None:
    """A second moment that moves less than its norm has more of its own rounding than its noise was widened for."""
    made = plan(1e4)
    config = made.build().config
    assert isinstance(config, ClassMomentsConfig)
    exact = 2 * 0.6 + 2 * 0.35 + 0.6**2 / (2 * 0.35)
    apart = 4 * 0.6 * math.sqrt(64) * max(2.0 ** -stages.pixel_bits(made.facts.num_records), 1e4 / math.sqrt(0.6) * 2.0**-NOISE_BITS)
    own = 0.35 * rounding_share(1e4 / math.sqrt(0.35), 64 * 65 // 2)
    assert own > 1e-4
    assert stages.joint_distance(config, made.facts) ** 2 == pytest.approx(exact + apart + own, rel=1e-9)


def test_real_releases_are_no_farther_apart_together() -> None:
    """Differences at the worst angle, measured in the noiseless releases themselves: more than two thirds of what adding up allows."""
    made = plan(1e-2, max_norm=1.0)
    config = made.build().config
    assert isinstance(config, ClassMomentsConfig)
    reading = RecordTransform(1.0, 1, np.full((10, 64), 0.5))
    cosine = -0.6 / 0.7
    one, two = np.zeros(64), np.zeros(64)
    one[:32], two[:32], two[32:] = 1.0, cosine, math.sqrt(1 - cosine**2)
    images = [np.rint(127.5 + 127.5 * vector).astype(np.uint8).reshape(1, 8, 8) for vector in (one, two)]
    squares = 0.0
    for name, share in SHARES.items():
        pair = []
        for image in images:
            records = DIGITS.train.records.copy()
            records[0] = image
            pair.append(RELEASES[name][1](config, replace(DIGITS.train, records=records), reading, new_state(made, seed=0)))
        squares += share * float(((pair[0] - pair[1]) ** 2).sum())
    assert 2.41 < squares <= stages.joint_distance(config, made.facts) ** 2


@pytest.mark.parametrize("stage", [SUMS, COUNTS, SECOND_MOMENT])
def test_one_record_moves_a_release_as_far_as_stated(stage: str) -> None:
    """By records replaced at random, made null, and by the farthest: opposite differences from the public mean, beyond the norm."""
    made, draw = plan(max_norm=0.5), np.random.default_rng(0)
    stated = next(entry for entry in made.stages if entry.name == stage).distances
    assert stated is not None
    assert LABELS is not None
    state = new_state(made, seed=0)
    state.tensors["public_means"] = torch.full((10, 64), 0.5, dtype=torch.float64)
    state.tensors["norm"] = torch.tensor(0.5, dtype=torch.float64)
    config = made.build().config
    assert isinstance(config, ClassMomentsConfig)
    reading = training.record_transform(config, state)
    deviation = {SUMS: 0.5 / math.sqrt(0.6), COUNTS: 1 / math.sqrt(0.05), SECOND_MOMENT: 0.25 / math.sqrt(0.35)}[stage]

    def released(records: Records) -> np.ndarray:
        return RELEASES[stage][1](config, records, reading, new_state(made, seed=0))

    black, half = np.zeros((1, 8, 8), np.uint8), np.zeros((1, 8, 8), np.uint8)
    half[:, ::2], white = 255, np.full((1, 8, 8), 255, np.uint8)
    replaced, nulled = [0.0], [0.0]
    others = [black, white, half, *draw.integers(0, 256, (4, 1, 8, 8), dtype=np.uint8)]
    for position, (one, two) in enumerate(itertools.pairwise(others)):
        with_one, with_two = DIGITS.train.records.copy(), DIGITS.train.records.copy()
        with_one[position], with_two[position] = one, two
        labels = LABELS.copy()
        labels[position] = (labels[position] + 1) % 10
        first = released(replace(DIGITS.train, records=with_one))
        for to in (LABELS, labels):
            replaced.append(float(np.linalg.norm(first - released(replace(DIGITS.train, records=with_two, labels=to)))) / deviation)
        nulled.append(float(np.linalg.norm(first - released(replace(DIGITS.train, records=with_one).without(position)))) / deviation)
    assert stated.replace_one * 0.9999 < max(replaced) <= stated.replace_one
    assert stated.zero_out * 0.9999 < max(nulled) <= stated.zero_out


def test_the_prior_is_of_public_images_alone() -> None:
    state, glyphs = fitted(1.0), public()
    means, covariance = moments(glyphs)
    found_means, found_covariance = training.prior(state)
    assert np.allclose(found_means, means)
    assert np.allclose(found_covariance, covariance)
    images = glyphs.records.reshape(len(glyphs), -1) / 255
    assert glyphs.labels is not None
    norms = np.linalg.norm(images - means[glyphs.labels], axis=1)
    assert float(state.tensors["norm"]) == pytest.approx(np.quantile(norms, 0.99))


def test_images_without_labels_give_every_class_one_mean() -> None:
    made, glyphs = plan(), public()
    config = made.build().config
    assert isinstance(config, ClassMomentsConfig)
    means = training.means_of(Records(glyphs.records), 10, config)
    assert np.allclose(means, glyphs.records.reshape(len(glyphs), -1).mean(0) / 255)
    with pytest.raises(WorkbenchError, match="dataset: Expected a text of at least 1 letters"):
        plan(dataset="")
    with pytest.raises(WorkbenchError, match="every class"):
        training.means_of(glyphs.take(slice(3)), 10, config)


def test_without_noise_the_records_own_moments_are_believed() -> None:
    made = plan(1e-2, max_norm=8.0)
    config = made.build().config
    assert isinstance(config, ClassMomentsConfig)
    means, covariance = training.posterior(config, fitted(1e-2, max_norm=8.0))
    own_means, own_covariance = moments(DIGITS.train)
    assert np.abs(means - own_means).max() < 0.02
    assert np.abs(covariance - own_covariance).max() < 0.02


def test_with_all_noise_nothing_but_the_prior_is_believed() -> None:
    """And what is not believed is no noise that is drawn: at a noise of 1 000 the samples are the prior's."""
    made, state = plan(1e3), fitted(1e3)
    config = made.build().config
    assert isinstance(config, ClassMomentsConfig)
    means, covariance = training.posterior(config, state)
    public_means, public_covariance = training.prior(state)
    assert np.abs(means - public_means).mean() < 0.1, "a noisy mean alone is off by tens"
    assert np.array_equal(covariance, public_covariance)


def test_public_samples_are_the_prior_s_whatever_was_released() -> None:
    made, state, fours = plan(1e-2, max_norm=8.0), fitted(1e-2, max_norm=8.0), np.full(2_000, 4)
    expected = {"public": training.prior(state)[0][4], "model": moments(DIGITS.train)[0][4]}
    for source, mean in expected.items():
        drawn = sample(made, state, 2_000, labels=fours, source=source).records.reshape(2_000, -1) / 255
        assert np.abs(drawn.mean(0) - mean).max() < 0.12, "clamped at black and white"
    assert np.abs(expected["public"] - expected["model"]).max() > 0.3


@pytest.mark.parametrize(("along", "alike"), [(3.0, 0.0), (0.0, 0.2), (1.0, 0.1)])
def test_the_widths_that_made_the_differences_are_found(along: float, alike: float) -> None:
    draw, variances = np.random.default_rng(0), np.geomspace(1e-3, 1, 64)
    noise = np.full((200, 1), 0.05)
    differences = draw.normal(size=(200, 64)) * np.sqrt(along * variances + alike + noise)
    assert training.likeliest(differences, noise, variances) == pytest.approx((along, alike), rel=0.15, abs=0.02)


def test_a_difference_is_believed_as_normal_laws_say() -> None:
    """With one direction, noise v and width w: w / (w + v) of what was found, wherever the width is the likeliest."""
    differences = np.array([[2.0], [-2.0]])
    believed = training.posterior_mean(differences, np.full((2, 1), 1.0), np.eye(1))
    assert believed == pytest.approx(differences * 0.75, rel=1e-3), "4 = 3 + 1: the likeliest width is 3"
    assert np.abs(training.posterior_mean(differences / 4, np.full((2, 1), 1.0), np.eye(1))).max() < 1e-4, "less than the noise alone"


def test_a_change_that_is_all_noise_is_not_believed() -> None:
    draw, believed = np.random.default_rng(0), 0
    for _ in range(200):
        change = draw.normal(size=(40, 40))
        believed += training.shrinkage(change, 1.0, 1_600) > 0
        assert training.shrinkage(change * 10, 1.0, 1_600) == pytest.approx(0.99, abs=0.005)
    assert 0 < believed <= 15, "one in forty: 5 of 200"


def test_an_interrupted_run_goes_on_with_its_prior() -> None:
    """What was released relies on the first prior: a later step never takes another."""
    made, whole = plan(), fitted(1.0)
    state = new_state(made, seed=0)
    steps = fit(made, DIGITS, state)
    assert next(steps).stage == "public prior"
    next(steps)
    steps.close()
    resumed = new_state(made, seed=0)
    resumed.restore(state.checkpoint())
    rest = list(fit(made, DIGITS, resumed))
    assert [step.stage for step in rest] == [COUNTS, SECOND_MOMENT]
    for name in PriorMoments.released:
        assert torch.equal(resumed.tensors[name], whole.tensors[name]), name
