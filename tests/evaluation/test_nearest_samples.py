"""The samples nearest to a record, and how near that is beside records that took no part."""

import math
from dataclasses import replace

import numpy as np
import pytest

from workbench.datasets import load
from workbench.evaluation.features import pixels
from workbench.evaluation.nearest_samples import NearestSamples, find_nearest_samples


@pytest.fixture
def nearest() -> NearestSamples:
    """Distances by hand: held-out records at 1, 2, 2 and 4."""
    held_out = np.array([[1.0], [2.0], [2.0], [4.0]])
    return NearestSamples("pixels", np.array([[7], [8]]), np.array([[2.0], [0.0]]), np.array([[0], [1], [2], [3]]), held_out)


def test_a_planted_copy_is_found_and_nearer_than_every_held_out_record() -> None:
    digits = load("digits")
    samples = digits.train.take(np.array([5, 9])).followed_by(digits.train.take(np.arange(20, 30)))
    near = find_nearest_samples(samples, digits, pixels(digits), 3)
    assert near.indices.shape == (len(digits.train), 3)
    assert near.held_out_distances.shape == (len(digits.held_out), 3)
    indices, distances = near.of("training", 9)
    assert (indices[0], distances[0]) == (1, 0.0)
    assert (np.diff(distances) >= 0).all()
    assert near.nearer_than("training", 9) == 1.0
    direct = np.linalg.norm((samples.records / 255.0 - digits.held_out.records[3] / 255.0).reshape(len(samples), -1), axis=1)
    assert near.of("held-out", 3)[1][0] == pytest.approx(direct.min())
    assert near.of("held-out", 3)[0][0] == int(direct.argmin())


def test_a_tie_counts_half_and_a_held_out_record_is_held_against_the_others(nearest: NearestSamples) -> None:
    assert nearest.nearer_than("training", 0) == (0 + 0.5 + 0.5 + 1) / 4
    assert nearest.nearer_than("training", 1) == 1.0
    assert nearest.nearer_than("held-out", 1) == (0 + 0.5 + 1) / 3
    assert nearest.nearer_than("held-out", 3) == 0.0


@pytest.mark.filterwarnings("error")
def test_one_held_out_record_has_nothing_to_be_held_against(nearest: NearestSamples) -> None:
    alone = replace(nearest, held_out_indices=nearest.held_out_indices[:1], held_out_distances=nearest.held_out_distances[:1])
    assert math.isnan(alone.nearer_than("held-out", 0))


def test_fewer_samples_than_are_kept_of_a_record_are_all_kept() -> None:
    digits = load("digits")
    assert find_nearest_samples(digits.train.take(np.arange(2)), digits, pixels(digits), 5).indices.shape[1] == 2
