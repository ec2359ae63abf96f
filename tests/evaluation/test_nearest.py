"""The k nearest by a fast pass and a proved margin against all pairs: copies, ties, points that single precision cannot tell apart."""

from typing import Any

import numpy as np
import pytest

from workbench.errors import WorkbenchError
from workbench.evaluation import nearest as module
from workbench.evaluation.nearest import nearest


def by_all_pairs(queries: np.ndarray, base: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    difference = base[None].astype(np.float64) - queries[:, None].astype(np.float64)
    distances = np.sqrt(np.einsum("nmd,nmd->nm", difference, difference))
    order = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(distances, order, 1)


def random_points(scale: float = 1.0, offset: float = 0.0, dtype: Any = np.float32) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    return tuple((scale * generator.standard_normal((count, 24)) + offset).astype(dtype) for count in (40, 150))


def with_copies() -> tuple[np.ndarray, np.ndarray]:
    queries, base = random_points()
    base[70:90], base[140:150], base[20] = base[0], queries[:10], base[139]
    return queries, base


def lattice() -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(1)
    return tuple(generator.integers(0, 3, (count, 3)).astype(np.float32) for count in (40, 150))


def one_apart() -> tuple[np.ndarray, np.ndarray]:
    """Clouds that are far apart and each narrower than what single precision tells of their squares."""
    generator = np.random.default_rng(2)
    base = 1e-4 * generator.standard_normal((150, 24)) + np.where(np.arange(150) % 2, 30.0, -30.0)[:, None]
    return base[::4] + 1e-5, base


CASES = {
    "plain": random_points(),
    "copies": with_copies(),
    "ties": lattice(),
    "narrow clouds": one_apart(),
    "far from the origin": random_points(1e-3, 1e3, np.float64),
    "too large for single precision": random_points(1e30, 0, np.float64),
    "too small for it": random_points(1e-30, 0, np.float64),
    "one point": (np.ones((5, 4), np.float32), np.ones((30, 4), np.float32)),
}


@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize("case", CASES)
def test_nearest_is_what_comparing_all_pairs_gives(case: str, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "QUERIES", 7)
    monkeypatch.setattr(module, "BASE", 11)
    monkeypatch.setattr(module, "PAIR_VALUES", 100)
    queries, base = CASES[case]
    shares: list[float] = []
    index, distance = nearest(queries, base, k, shares.append)
    expected = by_all_pairs(queries, base, k)
    np.testing.assert_array_equal(index, expected[0])
    np.testing.assert_array_equal(distance, expected[1])
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_the_margin_holds_what_single_precision_rounds_and_little_more() -> None:
    """The largest error among all pairs lies within the margin, for normal points (small) and aligned ones (as large as it gets)."""
    generator = np.random.default_rng(3)
    for points in (generator.standard_normal((300, 500)), np.abs(generator.standard_normal((300, 500)))):
        wide = points.astype(np.float32)
        lengths = np.linalg.norm(wide.astype(np.float64), axis=1)
        chunk = module._Points.of(wide, np.zeros(500), lengths, module.torch.float32)
        exact = lengths**2 - 2.0 * wide.astype(np.float64) @ wide.astype(np.float64).T
        single = (lengths**2).astype(np.float32) - np.float32(2) * (wide @ wide.T)
        error, margin = np.abs(single - exact).max(axis=1), module._rounding(chunk, chunk)
        assert (error <= margin).all()
        assert margin.max() < 1e-3 * float(lengths.max()) ** 2


def test_rows_with_enough_equal_ones_before_them_are_left_out() -> None:
    base = np.array([[1.0], [2.0], [1.0], [1.0], [2.0], [-0.0], [0.0]])
    assert module._without_spare_copies(base, 1).tolist() == [0, 1, 5, 6]
    assert module._without_spare_copies(base, 2).tolist() == [0, 1, 2, 4, 5, 6]


def test_k_outside_the_records_is_refused() -> None:
    with pytest.raises(WorkbenchError, match="between 1 and"):
        nearest(np.zeros((2, 3)), np.zeros((4, 3)), k=5)
