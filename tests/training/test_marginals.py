"""Counts of categories, and shares made of noisy counts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tables import toy_table

from workbench.training import marginals


def test_the_label_is_the_last_column_and_null_rows_count_nowhere() -> None:
    dataset = toy_table()
    sizes = marginals.sizes_of(dataset.facts)
    assert sizes == (3, 2, 4, 2)
    assert dataset.train.labels is not None
    rows = marginals.present_rows(dataset.train.without(np.arange(40)), dataset.facts)
    assert len(rows) == 200
    joint = marginals.counts_of(rows, sizes, (0, 3))
    assert joint.tolist() == [
        [int(((dataset.train.records[40:, 0] == value) & (dataset.train.labels[40:] == label)).sum()) for label in (0, 1)]
        for value in range(3)
    ]
    parts = marginals.split_parts(marginals.one_way(rows, sizes), sizes)
    assert parts[0].tolist() == joint.sum(axis=1).tolist()
    assert parts[3].tolist() == joint.sum(axis=0).tolist()
    assert len(marginals.all_pairs(dataset.facts)) == 6


@given(st.lists(st.floats(-50, 200), min_size=1, max_size=12))
def test_shares_are_the_nearest_ones(counts: list[float]) -> None:
    shares = marginals.shares(np.array(counts), 100.0)
    assert shares.min() >= 0
    assert shares.sum() == pytest.approx(1)
    kept = shares > 1e-9
    moved = shares - np.array(counts) / 100.0
    assert np.ptp(moved[kept]) < 1e-9, "all that is left moved alike"
    assert (moved[~kept] >= moved[kept].max() - 1e-9).all(), "and what was cut would have moved below 0"


def test_exact_counts_keep_their_shares() -> None:
    np.testing.assert_allclose(marginals.shares(np.array([[30, 0], [50, 20]]), 100), [[0.3, 0.0], [0.5, 0.2]], atol=1e-12)


def test_uniform_numbers_pick_categories_by_their_shares() -> None:
    shares = np.tile([0.25, 0.0, 0.75], (4, 1))
    assert marginals.drawn_categories(shares, np.array([0.0, 0.249, 0.25, 0.9999])).tolist() == [0, 0, 2, 2]
