"""Nearest neighbours against brute force, and measures of copying where the answer is known."""

import numpy as np
import pytest
from support.homes import here

from workbench.datasets.base import Dataset
from workbench.evaluation import feature_space, find_neighbours
from workbench.evaluation.nearest import nearest
from workbench.evaluation.neighbours import Neighbours, nearer_to_training, privacy_score
from workbench.records import Records


def brute_force(queries: np.ndarray, base: np.ndarray) -> np.ndarray:
    difference = queries[:, None].astype(np.float64) - base[None].astype(np.float64)
    return np.sqrt((difference**2).sum(axis=2))


def test_near_duplicates_far_from_the_origin_keep_their_order() -> None:
    generator = np.random.default_rng(1)
    base = generator.random((200, 64)) + 1_000.0
    queries = base[:5].copy()
    base[100:105], base[120:125] = queries + 2e-6, queries + 1e-6
    base[:5] = queries + 3e-6
    index, distance = nearest(queries, base, k=3)
    np.testing.assert_array_equal(index, np.stack([np.arange(120, 125), np.arange(100, 105), np.arange(5)], axis=1))
    np.testing.assert_allclose(distance, np.tile([8e-6, 16e-6, 24e-6], (5, 1)), rtol=1e-5)


def test_exact_copies_are_at_distance_zero_and_ties_go_to_the_smaller_index() -> None:
    base = np.tile(np.arange(4, dtype=np.float32)[:, None], (2, 3))
    index, distance = nearest(base[:4], base, k=2)
    np.testing.assert_array_equal(index, [[0, 4], [1, 5], [2, 6], [3, 7]])
    assert (distance == 0.0).all()


def test_neighbours_put_copies_first(small_digits: Dataset, fresh: Records) -> None:
    copies = small_digits.train.take(slice(10, 13))
    samples = fresh.take(slice(0, 40)).followed_by(copies)
    fractions: list[float] = []
    neighbours = find_neighbours(
        samples, small_digits, feature_space("pixels", small_digits, workspace=here()), k=3, progress=fractions.append
    )
    assert neighbours.features == "pixels"
    assert set(neighbours.order()[:3]) == {40, 41, 42}
    np.testing.assert_array_equal(neighbours.indices[40:, 0], [10, 11, 12])
    np.testing.assert_array_equal(neighbours.suspicion[40:], 1.0)
    expected = brute_force(samples.records.reshape(43, -1) / 255.0, small_digits.held_out.records.reshape(200, -1) / 255.0)
    np.testing.assert_allclose(neighbours.held_out_distances, expected.min(axis=1), rtol=1e-6)
    assert fractions[-1] == 1.0


def test_suspicion_of_a_record_in_both_splits_is_a_half() -> None:
    zero = np.zeros(1)
    assert Neighbours("pixels", np.zeros((1, 1), int), np.zeros((1, 1)), np.zeros(1, int), zero).suspicion[0] == 0.5


def test_fresh_records_are_nearer_to_training_half_the_time(digits: Dataset) -> None:
    pixels = feature_space("pixels", digits, workspace=here())
    features = pixels(digits.train)
    share = nearer_to_training(features[:400], features[400:800], features[800:1200], seed=0)
    assert share.interval[0] < 0.5 < share.interval[1]
    assert share.interval[1] - share.interval[0] < 0.25
    assert share.full == share.value
    assert share.full_expected == 0.5


def test_interval_covers_a_half_as_often_as_it_says() -> None:
    generator = np.random.default_rng(5)
    covered = []
    for _ in range(200):
        draws = generator.normal(size=(140, 3))
        low, high = nearer_to_training(draws[:100], draws[100:120], draws[120:]).interval
        covered.append(low <= 0.5 <= high)
    assert np.mean(covered) > 0.9


def test_copies_are_nearer_to_training_all_the_time(digits: Dataset) -> None:
    features = feature_space("pixels", digits, workspace=here())(digits.train)
    share = nearer_to_training(features[:300], features[:300], features[300:600])
    assert share.value == share.full == 1.0


def test_subsets_dilute_copies_and_the_full_share_does_not(digits: Dataset) -> None:
    pixels = feature_space("pixels", digits, workspace=here())
    train, held_out = pixels(digits.train), pixels(digits.held_out)
    share = nearer_to_training(train, train, held_out)
    assert share.full == 1.0
    assert share.full_expected == pytest.approx(1500 / 1797)
    assert share.value == pytest.approx(297 / 1500 + 0.5 * (1 - 297 / 1500), abs=0.1)


def test_a_tie_counts_half() -> None:
    records = np.arange(6.0)[:, None]
    assert nearer_to_training(records, records, records).value == 0.5


def test_privacy_score_of_copies_is_zero_and_of_swapped_classes_one() -> None:
    train = Records(np.arange(10, dtype=np.uint8).reshape(10, 1, 1, 1))

    def values(records: Records) -> np.ndarray:
        return records.records.reshape(-1, 1).astype(np.float32)

    def parity(records: Records) -> np.ndarray:
        return records.records.reshape(-1) % 2

    assert privacy_score(train, train, values(train), values(train), parity) == 0.0
    even, odd = train.take(slice(0, 10, 2)), train.take(slice(1, 10, 2))
    assert privacy_score(odd, even, values(odd) // 2, values(even) // 2, parity) == 1.0
    mixed = train.take(slice(0, 4))  # 0, 1, 2, 3 are nearest to 0, 0, 2, 2
    assert privacy_score(mixed, even, values(mixed) // 2, values(even) // 2, parity) == 0.5
