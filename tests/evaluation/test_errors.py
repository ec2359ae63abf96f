"""The errors and intervals that stand beside measures, by hand: each is shown, and a wrong one looks like a right one."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from workbench.evaluation import distances, metrics, tables, uneven
from workbench.evaluation.intervals import Z95, normal, wilson
from workbench.records import Records


def counting(seen: list[np.ndarray]) -> Callable[..., float]:
    """A statistic that is 0, 1, 2, ... whatever it is of, and keeps what that was."""

    def statistic(*values: np.ndarray) -> float:
        seen.append(values[0])
        return float(len(seen) - 1)

    return statistic


def test_the_bootstrap_s_error_is_the_deviation_over_twenty_draws_of_all_rows_with_replacement() -> None:
    seen: list[np.ndarray] = []
    assert distances.bootstrap_error(counting(seen), np.arange(7), seed=0) == pytest.approx(np.sqrt(35), rel=1e-12)
    assert [len(rows) for rows in seen] == [7] * 20
    assert set(np.concatenate(seen)) == set(range(7)), "the first and the last row too"
    assert any(len(set(rows)) < 7 for rows in seen), "with replacement"
    assert len({tuple(rows) for rows in seen}) > 15
    again: list[np.ndarray] = []
    distances.bootstrap_error(counting(again), np.arange(7), seed=0)
    assert np.array_equal(seen, again), "by the seed"


def test_the_error_of_the_kernel_distance_is_that_of_a_mean_over_ten_disjoint_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = np.arange(23.0)[:, None], 100 + np.arange(31.0)[:, None]
    seen: list[tuple[np.ndarray, np.ndarray]] = []

    def numbered(a: np.ndarray, b: np.ndarray) -> float:
        seen.append((a.ravel(), b.ravel()))
        return float(len(seen) - 1)

    monkeypatch.setattr(distances, "kernel_distance", numbered)
    assert distances.kernel_distance_error(x, y, seed=0) == pytest.approx(np.sqrt(55 / 6 / 10), rel=1e-12), "of 0 to 9"
    for side, whole in enumerate((x, y)):
        parts = [pair[side] for pair in seen]
        assert len(parts) == 10
        assert sorted(np.concatenate(parts)) == sorted(whole.ravel()), "each record in one part"
        assert min(map(len, parts)) >= 2
        assert not np.array_equal(np.concatenate(parts), whole.ravel()), "in another order"
    assert distances.kernel_distance_error(x[:20], y[:20], seed=0) is not None, "two records a part are enough"
    assert distances.kernel_distance_error(x, y[:19], seed=0) is None


def test_kernel_sums_do_not_depend_on_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 7, 3))
    whole = distances.kernel_distance(x, y)
    monkeypatch.setattr(distances, "_CHUNK", 3)
    assert distances.kernel_distance(x, y) == pytest.approx(whole, rel=1e-12)
    assert np.isfinite(distances.kernel_distance(x[:2], y[:2]))


def test_the_error_of_an_area_is_hanley_and_mcneil_s() -> None:
    assert tables.area_error(0.75, 10) == pytest.approx(np.sqrt(3 / 16 + 9 * (3 / 5 + 9 / 14 - 9 / 8)) / 10, rel=1e-12)
    assert tables.area_error(0.5, 1) == 0.5, "one coin"
    assert tables.area_error(1.0, 10) == 0.0


def test_f1_is_of_the_rarer_of_two_classes_and_of_more_the_mean() -> None:
    assert uneven.f1(np.array([0, 0, 0, 0, 1, 1, 1]), np.eye(2)[[0, 0, 0, 1, 1, 1, 0]]) == pytest.approx(2 / 3, rel=1e-12)  # 2 of 3 and 3
    two = np.eye(2)[[0, 1, 0, 1, 0]]
    assert uneven.f1(np.array([0, 0, 0, 1, 1]), two) == 0.5  # one right of two said and two true
    assert uneven.f1(np.array([1, 1, 1, 0, 0]), two[:, ::-1]) == 0.5, "whichever that is"
    assert uneven.f1(np.array([0, 0, 1, 2]), np.eye(3)[[0, 1, 1, 2]]) == pytest.approx((2 / 3 + 2 / 3 + 1) / 3, rel=1e-12)


def test_the_interval_of_a_score_is_its_bootstrap_s_within_0_and_1() -> None:
    seen: list[np.ndarray] = []
    score = uneven.NamedScore(lambda truth, _chances: counting(seen)(truth) / 40, "A", "B", lambda _facts: None)
    held_out = Records(np.zeros((6, 1), dtype=np.int64), np.array([0, 1, 0, 1, 0, 1]))
    dataset: Any = SimpleNamespace(held_out=held_out, facts=SimpleNamespace(num_classes=2, kind=SimpleNamespace(feature_label="columns")))
    context: Any = SimpleNamespace(dataset=dataset, seed=0, chances={})

    def chances(_train: Records, test: Records, _dataset: Any, _seed: int) -> np.ndarray:
        return np.zeros((len(test), 2))

    measured = uneven._metric("a", score, "words", chances).function(held_out, context)  # pyright: ignore[reportPrivateUsage]
    assert len(seen) == 21
    assert measured.interval == (0.0, pytest.approx(Z95 * np.sqrt(35) / 40)), "the value is 0; 1 to 20 deviate like 0 to 19"


def test_the_inception_score_is_mean_and_deviation_over_ten_splits_in_order() -> None:
    unlike, alike = np.eye(2), np.eye(2)[[0, 0]]
    mean, deviation = distances.inception_score(np.concatenate([unlike] * 5 + [alike] * 5))
    assert (mean, deviation) == (pytest.approx(1.5), pytest.approx(0.5)), "five splits of 2, five of 1"
    assert distances.inception_score(np.eye(3)) == (pytest.approx(1.0), pytest.approx(0.0)), "fewer than ten: a split a record"


@pytest.mark.parametrize(("share", "total"), [(0.3, 10), (0.5, 7), (0.9, 200)])
def test_wilson_s_ends_are_the_shares_that_the_one_seen_is_1_96_deviations_from(share: float, total: int) -> None:
    for end in wilson(share, total):
        assert (share - end) ** 2 == pytest.approx(Z95**2 * end * (1 - end) / total, rel=1e-9)
    assert wilson(share, total)[0] < share < wilson(share, total)[1]


def test_wilson_and_normal_intervals_stay_within_their_range() -> None:
    assert {(wilson(0.0, total)[0], wilson(1.0, total)[1]) for total in range(1, 2000)} == {(0.0, 1.0)}, "and not 1e-19"
    assert max(wilson(share, total)[1] for share in (0.99, 1.0) for total in range(1, 30)) <= 1.0
    assert normal(2.0, None) is None
    assert normal(2.0, 0.5) == (pytest.approx(2 - Z95 / 2), pytest.approx(2 + Z95 / 2))
    assert normal(2.0, 5.0, low=1.0, high=3.0) == (1.0, 3.0)


def test_the_variational_bound_s_interval_is_of_the_mean_over_at_most_200_records() -> None:
    judged: list[Records] = []

    def bits(records: Records, seed: int) -> np.ndarray:
        judged.append(records)
        return 5.0 + (records.records.ravel() % 2)

    def context(count: int) -> Any:
        held_out = Records(np.arange(count)[:, None], np.zeros(count, dtype=np.int64))
        return SimpleNamespace(dataset=SimpleNamespace(held_out=held_out), seed=0, bits=bits)

    bound, error = metrics.variational_bound(judged, context(9)), np.sqrt(20 / 72) / 3  # type: ignore[arg-type]
    ends = (pytest.approx(49 / 9 - Z95 * error), pytest.approx(49 / 9 + Z95 * error))
    assert (bound.value, bound.interval) == (pytest.approx(49 / 9), ends)
    metrics.variational_bound(judged, context(300))  # type: ignore[arg-type]
    assert len(set(judged[1].records.ravel())) == 200
    assert sorted(judged[1].records.ravel()) != list(range(200)), "drawn"
    low = SimpleNamespace(**vars(context(2)) | {"bits": lambda records, _seed: records.records.ravel().astype(float)})
    assert metrics.variational_bound(judged, low).interval == (0.0, pytest.approx(0.5 + Z95 / 2)), "no fewer bits than none"  # type: ignore[arg-type]
