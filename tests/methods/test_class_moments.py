"""Class moments: the three releases without noise are the moments, one record moves each as far as stated, and samples follow them."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from support.quick import QUICK, quick_plan

from workbench.datasets import Dataset, load
from workbench.experiment import fit, make_plan, new_state, sample
from workbench.methods.class_moments import COUNTS, SECOND_MOMENT, SUMS, ClassMomentsConfig
from workbench.methods.class_moments.training import (
    RELEASES,
    RecordTransform,
    clipping_norm,
    gaussians,
    second_moment,
    share_of_noise,
    symmetric,
    triangle,
    vectors,
)
from workbench.plan import Plan
from workbench.privacy.accounting.gaussian import gdp_epsilon
from workbench.records import Records
from workbench.training.grid import ROUNDING, Grid, rounding_share, widened_deviation
from workbench.training.randomness import Randomness
from workbench.training.state import State

DIGITS = load("digits")
CONFIG = ClassMomentsConfig(noise_multiplier=1.0, max_norm=3.0)


def plan(noise_multiplier: float = 1.0) -> Plan:
    settings = {"noise_multiplier": noise_multiplier, "max_norm": 3.0, "pooling": 1}
    return quick_plan("class-moments", epsilon=None, overrides=settings)


def fitted(noise_multiplier: float) -> State:
    made = plan(noise_multiplier)
    state = new_state(made, seed=0)
    for _ in fit(made, DIGITS, state):
        pass
    return state


def test_of_noise_alone_all_varies_by_noise_and_of_what_was_released_whole_nothing() -> None:
    noise = np.random.default_rng(0).normal(size=(200, 200))
    assert share_of_noise(noise + noise.T) > 0.9
    assert share_of_noise(noise @ noise.T) == pytest.approx(0.0, abs=1e-9)
    assert share_of_noise(np.diag([3.0, 1.0, -1.0, 0.0])) == pytest.approx(0.25)
    assert share_of_noise(np.diag([3.0, 1.0, -1.0, 0.0]), kept=1) == pytest.approx(1 / 3)
    assert share_of_noise(np.diag([0.0, -1.0])) == 1.0


def test_a_fitted_state_tells_how_much_of_it_is_noise() -> None:
    method = plan().build()
    shares = [method.noise_share(fitted(noise)) for noise in (0.01, 3.0, 300.0)]
    assert shares[0] is not None
    assert shares == sorted(shares)
    assert shares[0] < 0.05 < 0.8 < (shares[-1] or 0.0)


def clipped(records: Records) -> np.ndarray:
    images = records.records.reshape(len(records), -1) / 255
    return images * np.minimum(1.0, 3.0 / np.linalg.norm(images, axis=1, keepdims=True))


def test_without_noise_the_releases_are_the_moments() -> None:
    state, images, labels = fitted(1e-2), clipped(DIGITS.train), DIGITS.train.labels
    assert labels is not None
    sums = np.stack([images[labels == label].sum(0) for label in range(10)])
    assert np.abs(state.tensors["sums"].numpy() - sums).max() < 6 * 0.03 / math.sqrt(0.45)
    assert np.abs(state.tensors["counts"].numpy() - np.bincount(labels)).max() < 6 * 0.01 / math.sqrt(0.05)
    second = symmetric(state.tensors["second_moment"].numpy(), 64)
    assert np.abs(second - images.T @ images).max() < 6 * 0.09 / math.sqrt(0.5)


def test_the_three_are_one_gaussian_release_of_the_configured_noise() -> None:
    made = plan(2.0)
    assert [stage.name for stage in made.stages] == [SUMS, COUNTS, SECOND_MOMENT] == list(RELEASES)
    assert made.bound.epsilon == pytest.approx(gdp_epsilon(1 / 2.0, made.delta), rel=1e-9)
    assert made.replace_one is not None
    assert made.replace_one.epsilon == pytest.approx(gdp_epsilon(math.sqrt(2) / 2.0, made.delta), rel=1e-9)
    assert made.claim.status == "not_evaluated"


@pytest.mark.parametrize("stage", [SUMS, COUNTS, SECOND_MOMENT])
def test_one_record_moves_a_release_as_far_as_stated(stage: str) -> None:
    """Records replaced at random, and by those that are the farthest: an image at the norm and one that has no pixel in common with it."""
    made, data, draw = plan(), DIGITS.train, np.random.default_rng(0)
    assert data.labels is not None
    stated = next(planned for planned in made.stages if planned.name == stage).distances
    assert stated is not None
    tensor, release = RELEASES[stage]
    deviation = {SUMS: 3.0 / math.sqrt(0.45), COUNTS: 1 / math.sqrt(0.05), SECOND_MOMENT: 9.0 / math.sqrt(0.5)}[stage]

    def released(records: Records) -> np.ndarray:
        return release(made.build().config, records, RecordTransform(3.0), new_state(made, seed=0))

    left, right = np.zeros((2, 1, 8, 8), np.uint8)
    left[..., :4], right[..., 4:] = 255, 255
    replaced, nulled = [0.0], [0.0]
    others = [left, right, *draw.integers(0, 256, (6, 1, 8, 8), dtype=np.uint8)]
    for position, (one, two) in enumerate(itertools.pairwise(others)):
        with_one, with_two = data.records.copy(), data.records.copy()
        with_one[position], with_two[position] = one, two
        labels = data.labels.copy()
        labels[position] = draw.integers(0, 10)
        first = released(replace(data, records=with_one))
        for to in (data.labels, labels):
            replaced.append(float(np.linalg.norm(first - released(replace(data, records=with_two, labels=to)))) / deviation)
        nulled.append(float(np.linalg.norm(first - released(replace(data, records=with_one).without(position)))) / deviation)
    assert made.facts.shape == (1, 8, 8)
    assert tensor in made.build().released
    assert max(replaced) == pytest.approx(stated.replace_one, rel=1e-5)
    assert max(nulled) == pytest.approx(stated.zero_out, rel=1e-5)


def test_a_second_moment_is_summed_exactly() -> None:
    """In whole numbers, whatever the order and whoever stands beside: held against sums of Python's integers."""
    data = DIGITS.train.take(slice(40))
    moment = second_moment(data, RecordTransform(3.0), 1500)
    bits = (52 - (1500).bit_length()) // 2
    steps = Grid(math.ldexp(3.0, 30 - bits), 3.0, 1500).truncated(vectors(data, 1)).tolist()
    exact = [[sum(row[i] * row[j] for row in steps) for j in range(64)] for i in range(64)]
    assert np.array_equal(np.rint(moment / (3.0 * 2.0**-bits) ** 2), np.array(exact, dtype=float))
    assert max(math.sqrt(sum(value**2 for value in row)) for row in steps) <= 2**bits
    assert 1500 * (2**bits) ** 2 <= 2**52


def test_the_triangle_has_the_norm_of_the_matrix() -> None:
    matrix = np.random.default_rng(0).normal(size=(5, 5))
    matrix = matrix + matrix.T
    assert np.linalg.norm(triangle(matrix)) == pytest.approx(np.linalg.norm(matrix))
    assert np.allclose(symmetric(triangle(matrix), 5), matrix)


def test_rounding_a_sum_is_paid_by_wider_noise() -> None:
    """Neighbors at the full distance, rounded at will, are no farther apart than the noise multiplier says."""
    for noise_multiplier, count in ((0.5, 10), (5.0, 300_000), (1e4, 2_000)):
        grid = Grid(widened_deviation(noise_multiplier * 2.0, noise_multiplier, count), 2.0, 1000)
        apart = 2.0 / grid.spacing + ROUNDING * math.sqrt(count)
        assert noise_multiplier * apart <= 2**30 * (1 + 1e-12)
    grid = Grid(1.0, 2.0, 1000)
    sums = np.random.default_rng(0).normal(size=1000)
    assert np.abs(grid.rounded(sums) - sums / grid.spacing).max() <= 0.51


@pytest.mark.parametrize("method", ["class-moments", "prior-moments", "cluster-moments"])
def test_the_second_moment_is_released_with_the_wider_noise(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over its grid's norm, the noise is the stated multiplier and what makes up for the rounding of its sums."""
    grids: dict[str, tuple[Grid, int]] = {}
    usual = Randomness.release

    def watched(self: Randomness, purpose: str, step: int, total: np.ndarray, grid: Grid) -> np.ndarray:
        grids[purpose] = grid, total.size
        return usual(self, purpose, step, total, grid)

    monkeypatch.setattr(Randomness, "release", watched)
    made = quick_plan(method, epsilon=None, overrides={"noise_multiplier": 200.0})
    for _ in fit(made, DIGITS, new_state(made, seed=0)):
        pass
    (stage,) = [stage for stage in made.stages if stage.name == SECOND_MOMENT]
    assert stage.distances is not None
    (grid, count), multiplier = grids[SECOND_MOMENT], 1 / stage.distances.zero_out
    assert rounding_share(multiplier, count) > 1e-6
    assert grid.deviation * (1 - rounding_share(multiplier, count)) == pytest.approx(multiplier * grid.max_norm, rel=1e-12)


def test_the_clipping_norm_comes_from_public_images_alone() -> None:
    public = Records(np.stack([np.full((1, 8, 8), value, np.uint8) for value in range(256)]))
    from_public = ClassMomentsConfig(noise_multiplier=1.0)
    assert clipping_norm(from_public, public) == pytest.approx(8 * np.quantile(np.arange(256) / 255, 0.95))
    assert clipping_norm(from_public, public.take(slice(3))) == 1.0
    assert clipping_norm(CONFIG, None) == 3.0


def test_samples_have_the_released_moments() -> None:
    made, state = plan(1e-2), fitted(1e-2)
    means, deviations = gaussians(state)
    images = clipped(DIGITS.train)
    assert DIGITS.train.labels is not None
    exact = np.stack([images[DIGITS.train.labels == label].mean(0) for label in range(10)])
    within = sum(np.cov(images[DIGITS.train.labels == label].T, bias=True) * (DIGITS.train.labels == label).mean() for label in range(10))
    assert np.allclose(means, exact, atol=2e-3)
    assert np.allclose(deviations @ deviations.T, within, atol=2e-3)
    samples = sample(made, state, 4000, labels=np.full(4000, 3))
    assert np.abs(samples.records.reshape(4000, -1).mean(0) / 255 - exact[3]).max() < 0.1, "clamped at black and white"


def test_large_images_are_pooled_and_drawn_as_large() -> None:
    made = quick_plan("class-moments", overrides={"pooling": 3})
    state = new_state(made, seed=0)
    assert state.tensors["second_moment"].shape == (9 * 10 // 2,)
    assert torch.count_nonzero(state.tensors["sums"]) == 0
    for _ in fit(made, DIGITS, state):
        pass
    assert sample(made, state, 7).records.shape == (7, 1, 8, 8)


@pytest.mark.parametrize("method", ["class-moments", "prior-moments", "cluster-moments", "private-evolution"])
def test_classes_are_drawn_in_their_noisy_shares_where_that_is_asked_for_and_cost_nothing(method: str) -> None:
    """A third of the digits is left of class 0, none of the others lost: it is drawn a third as often, and evenly by default."""
    assert DIGITS.train.labels is not None
    kept = np.flatnonzero((DIGITS.train.labels != 0) | (np.arange(len(DIGITS.train)) % 3 == 0))
    few = Dataset(DIGITS.facts.model_copy(update={"num_records": len(kept)}), DIGITS.train.take(kept), DIGITS.held_out)
    settings = QUICK[method] | {"labels.shares": "released"}
    made = make_plan(method, few.facts, epsilon=10.0, settings=settings)
    assert made.bound.epsilon == make_plan(method, few.facts, epsilon=10.0, settings=QUICK[method]).bound.epsilon
    state = new_state(made, seed=0)
    for _ in fit(made, few, state):
        pass
    drawn, evenly = sample(made, state, 3_000).labels, sample(made, state, 3_000, balanced=True).labels
    assert drawn is not None
    assert evenly is not None
    assert np.bincount(drawn, minlength=10)[0] < 200 < 270 < np.bincount(drawn, minlength=10)[1:].mean()
    assert np.bincount(evenly).tolist() == [300] * 10
    if made.build().has_public_model:
        public = sample(made, state, 30, source="public").labels
        assert public is not None
        assert np.bincount(public).tolist() == [3] * 10, "what saw no private record follows none of their counts"


@pytest.mark.filterwarnings("error")
def test_records_that_cannot_be_written_are_read_without_a_word() -> None:
    """As those of a folder that was decoded before are."""
    images = DIGITS.train.records[:3].copy()
    images.flags.writeable = False
    assert vectors(Records(images, DIGITS.train.labels[:3]), 1) == pytest.approx(images.reshape(3, -1) / 255.0)
