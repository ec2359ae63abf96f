"""What DP-MERF releases: one mean embedding that a record moves by at most 2/n, under noise of the calibrated deviation."""

from fractions import Fraction

import numpy as np
import pytest
import torch
from torch import Tensor

from workbench import experiment
from workbench.datasets import load
from workbench.methods.dp_merf import DPMERF, RELEASE
from workbench.records import Records
from workbench.training.grid import Grid
from workbench.training.randomness import Randomness
from workbench.training.state import State

DIGITS = load("digits")


def prepared(noise_multiplier: float, seed: int = 0) -> tuple[DPMERF, State]:
    """The method on digits, and a state of its own."""
    plan = experiment.make_plan("dp-merf", DIGITS.facts, settings={"noise_multiplier": noise_multiplier, "num_features": 400})
    method = plan.build()
    assert isinstance(method, DPMERF)
    return method, experiment.new_state(plan, seed=seed)


def released(records: Records, noise_multiplier: float, seed: int = 0) -> Tensor:
    """What the first step of `fit` puts into the state."""
    method, state = prepared(noise_multiplier, seed)
    step = next(method.fit(records, None, state))
    assert (step.stage, state.steps[RELEASE]) == (RELEASE, 1)
    return state.tensors["embedding"].double()


def with_record(records: Records, position: int, image: np.ndarray, label: int) -> Records:
    """`records` with one of them replaced."""
    assert records.labels is not None
    images, labels = records.records.copy(), records.labels.copy()
    images[position], labels[position] = image, label
    return Records(images, labels)


@pytest.mark.parametrize("position", [0, 700])
def test_replacing_a_record_moves_the_embedding_by_at_most_two_over_n(position: int) -> None:
    train = DIGITS.train
    assert train.labels is not None
    whole = released(train, 1e-3) - released(train, 1e-3)
    assert not whole.any(), "the same seed gives the same noise, so that differences show the records alone"
    moved = []
    for image in (np.zeros_like(train.records[0]), np.full_like(train.records[0], 255), 255 - train.records[position]):
        other = with_record(train, position, image, int(train.labels[position] + 1) % 10)
        moved.append(float((released(other, 1e-3) - released(train, 1e-3)).norm()) * len(train) / 2)
    assert max(moved) <= 1 + 1e-4
    assert min(moved) > 0.5  # another class: the two contributions are orthogonal


@pytest.mark.parametrize("noise_multiplier", [0.5, 8.0])
def test_the_noise_has_the_deviation_that_the_event_states(noise_multiplier: float) -> None:
    difference = released(DIGITS.train, noise_multiplier, seed=1) - released(DIGITS.train, noise_multiplier, seed=2)
    deviation = noise_multiplier * 2 / DIGITS.facts.num_records
    values = difference.flatten() / (deviation * 2**0.5)
    assert len(values) == 4000
    assert abs(float(values.mean())) < 5 / 4000**0.5
    assert abs(float(values.std()) - 1) < 5 / 8000**0.5


def test_the_generator_sees_the_release_alone() -> None:
    method, state = prepared(1.0)
    steps = method.fit(DIGITS.train, None, state)
    next(steps)
    state.tensors["embedding"] = torch.zeros_like(state.tensors["embedding"])
    first = next(steps).values["loss"]
    other, same = prepared(1.0)
    same.tensors["embedding"], same.steps[RELEASE] = torch.zeros_like(state.tensors["embedding"]), 1
    assert next(other.fit(DIGITS.train.take(slice(5)), None, same)).values["loss"] == pytest.approx(first)


def totals(records: Records, monkeypatch: pytest.MonkeyPatch) -> tuple[np.ndarray, Grid]:
    """The sum that goes into the one release of `fit`, in steps of its grid."""
    seen: list[tuple[np.ndarray, Grid]] = []
    release = Randomness.release

    def recorded(self: Randomness, purpose: str, step: int, total: np.ndarray, grid: Grid) -> np.ndarray:
        seen.append((total.copy(), grid))
        return release(self, purpose, step, total, grid)

    with monkeypatch.context() as patch:
        patch.setattr(Randomness, "release", recorded)
        released(records, 1.3)
    [one] = seen
    return one


def test_neighboring_sums_differ_by_two_integer_vectors_of_norm_at_most_one(monkeypatch: pytest.MonkeyPatch) -> None:
    train = DIGITS.train
    assert train.labels is not None
    for label in (int(train.labels[3]), (int(train.labels[3]) + 1) % 10):
        (before, grid), (after, _) = totals(train, monkeypatch), totals(with_record(train, 3, 255 - train.records[3], label), monkeypatch)
        assert before.dtype == after.dtype == np.int64
        apart = (after - before).astype(object)
        longest = Fraction(2) / Fraction(grid.spacing)  # a replaced record's distance, in exact arithmetic
        assert 0.25 * longest**2 < int((apart**2).sum()) <= longest**2
        assert (apart**2).sum(axis=0).astype(bool).sum() == (1 if label == train.labels[3] else 2)  # no other class moved at all


def test_the_stage_states_how_far_the_noise_is_from_its_law(monkeypatch: pytest.MonkeyPatch) -> None:
    _, grid = totals(DIGITS.train, monkeypatch)
    method, _ = prepared(1.3)
    stage = method.stages(DIGITS.facts)[0]
    assert grid.deviation == 2 * 1.3
    assert stage.sampler_distance == 0, "the noise has the very law of the event"


def test_noise_that_is_drawn_exactly_has_no_price_at_any_epsilon() -> None:
    for epsilon in (145.0, 1e4):
        assert experiment.make_plan("dp-merf", DIGITS.facts, epsilon=epsilon, delta=1e-5).bound.is_finite


def test_no_price_is_asked_of_a_target_that_is_a_claim() -> None:
    plan = experiment.make_plan("dp-merf", DIGITS.facts, epsilon=200.0, delta=1e-5, target="claim")
    assert plan.claim.epsilon == pytest.approx(200, rel=0.01)
