"""Precision, recall, density and coverage against their formulas by brute force, with copies and ties."""

import numpy as np
import pytest
from support.homes import here

from workbench.datasets import load
from workbench.errors import WorkbenchError
from workbench.evaluation import METRICS, evaluate, manifolds
from workbench.evaluation.manifolds import by_class
from workbench.evaluation.manifolds import manifolds as measured
from workbench.records import Records

NAMES = ("precision", "recall", "density", "coverage")


def by_brute_force(samples: np.ndarray, records: np.ndarray, k: int) -> dict[str, float]:
    """The formulas of Naeem et al. 2020, section 3, as their package `prdc` computes them, from all pairs."""

    def distances(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        difference = x[:, None].astype(np.float64) - y[None].astype(np.float64)
        return np.sqrt(np.einsum("nmd,nmd->nm", difference, difference))

    real_balls = np.sort(distances(records, records), axis=1)[:, k]
    sample_balls = np.sort(distances(samples, samples), axis=1)[:, k]
    pairs = distances(records, samples)
    return {
        "precision": float((pairs < real_balls[:, None]).any(axis=0).mean()),
        "recall": float((pairs < sample_balls[None]).any(axis=1).mean()),
        "density": float((pairs < real_balls[:, None]).sum(axis=0).mean() / k),
        "coverage": float((pairs.min(axis=1) < real_balls).mean()),
    }


@pytest.mark.parametrize("k", [1, 5])
def test_the_four_are_those_of_the_package_prdc(k: int) -> None:
    """It takes distances by products, so that points here lie where these round to nothing."""
    prdc = pytest.importorskip("prdc")
    generator = np.random.default_rng(10 + k)
    records, samples = generator.normal(size=(400, 6)), 0.8 * generator.normal(size=(300, 6)) + 0.2
    values = measured(samples, records, k).values
    assert values == pytest.approx(prdc.compute_prdc(records, samples, nearest_k=k), rel=1e-12)
    assert 0.05 < min(values.values()) < max(values.values()) < 2


@pytest.mark.parametrize("k", [1, 3, 5])
def test_the_four_are_their_formulas_with_copies_and_ties(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifolds, "_BLOCK", 16)  # several blocks
    generator = np.random.default_rng(k)
    records = generator.normal(size=(70, 4)).astype(np.float32)
    samples = (0.7 * generator.normal(size=(50, 4)) + 0.3).astype(np.float32)
    samples[:8] = records[:8]  # copies
    lattice = generator.integers(0, 3, size=(120, 3)).astype(np.float32)  # full of ties, and of balls of radius 0
    far = samples + 1000  # where a product of float64 rounds by more than the distances differ
    for x, y in ((samples, records), (lattice[:50], lattice[50:]), (far, records + 1000)):
        assert measured(x, y, k).values == pytest.approx(by_brute_force(x, y, k), rel=1e-12)
    values = measured(samples, records, k).values
    assert len(set(values.values())) == 4
    assert all(value > 0 for value in values.values())


def test_a_point_on_the_edge_of_a_ball_is_outside() -> None:
    records, samples = np.array([[0.0], [1.0], [5.0]]), np.array([[2.0], [2.0], [9.0]])
    assert measured(samples, records, 1).values == pytest.approx(by_brute_force(samples, records, 1))
    assert measured(samples, records, 1).in_real_balls.tolist() == [True, True, False]  # 5 reaches to 1 exclusive; 9 is on its edge


def test_too_few_are_refused_and_left_out_by_class() -> None:
    points = np.arange(20.0).reshape(10, 2)
    with pytest.raises(WorkbenchError, match="more than 5 samples and records, got 10 and 5"):
        measured(points, points[:5])
    labels = np.array([0] * 7 + [1] * 3)
    assert list(by_class(points, points, (labels, labels))) == [0]
    assert by_class(points, points, (labels, labels))[0].values == measured(points[:7], points[:7]).values


def test_as_measures_they_stand_beside_real_records_and_tell_each_class() -> None:
    dataset = load("digits")
    assert dataset.train.labels is not None
    collapsed = dataset.train.take(np.flatnonzero(dataset.train.labels == 3)[:60])
    results = {result.name: result for result in evaluate(collapsed, dataset, metrics=NAMES, features="pixels", workspace=here())}
    assert set(results) == set(NAMES) <= set(METRICS)
    assert results["precision"].value > 0.8, "real threes are real"
    assert results["coverage"].value < 0.25, "and nothing but threes"
    assert results["coverage"].ceiling is not None
    assert results["coverage"].ceiling > results["coverage"].value
    assert "3: " in results["coverage"].note
    for result in results.values():
        assert result.interval is not None
        assert result.interval[0] <= result.value <= result.interval[1]
        assert not result.releasable
    unlabelled = Records(collapsed.records)
    assert "each class" not in evaluate(unlabelled, dataset, metrics=["density"], features="pixels", workspace=here())[0].note
