"""Copies and near-duplicates: exact on small sets, and a planted leak among digits is found, with few false alarms."""

from dataclasses import replace

import numpy as np
import pytest
from support.leaks import extraction_leak, order_leak

from workbench.datasets import load
from workbench.evaluation import copying
from workbench.evaluation.copying import (
    Leak,
    distance_ratio,
    duplicate_groups,
    duplicates_among,
    extracted_records,
    leak,
    natural_distance,
)

REPETITIONS = 50


def test_groups_are_linked_by_short_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "_BLOCK", 3)
    line = np.array([[0.0], [10.0], [1.0], [2.0], [10.5], [20.0], [3.0001]])
    assert [group.tolist() for group in duplicate_groups(line, 1.0)] == [[0, 2, 3], [1, 4]]
    assert duplicate_groups(line, 0.4) == []
    assert [group.tolist() for group in duplicate_groups(np.zeros((4, 2)), 0.0)] == [[0, 1, 2, 3]], "copies at distance 0 count"


def test_a_report_before_training_tells_records_that_are_like_others() -> None:
    digits = load("digits")
    once = duplicates_among(digits)
    records = digits.train.records.copy()
    records[:7] = records[7]  # eight equal records
    repeated = duplicates_among(replace(digits, train=replace(digits.train, records=records)))
    assert once["equal_to_another"] == 0
    assert (repeated["equal_to_another"], repeated["largest"] >= 8) == (7, True)
    assert repeated["records"] >= 8


def test_a_ratio_is_small_for_a_copy_alone() -> None:
    records = np.random.default_rng(0).normal(size=(200, 16))
    samples = np.r_[records[:3] + 1e-3, np.random.default_rng(1).normal(size=(3, 16))]
    ratios = distance_ratio(samples, records)
    assert (ratios[:3] < 0.01).all()
    assert (ratios[3:] > 0.5).all()
    nearest = np.sort(np.linalg.norm(records - samples[4], axis=1))[:50]
    assert ratios[4] == pytest.approx(nearest[0] / nearest.mean())
    assert distance_ratio(np.zeros((1, 2)), np.zeros((5, 2))).tolist() == [1.0]


def test_only_what_is_repeated_and_near_a_record_is_extracted() -> None:
    records = np.eye(6) * 10
    samples = np.concatenate([np.tile(records[2], (5, 1)) + 0.01, np.tile(records[3], (4, 1)), np.full((7, 6), 50.0)])
    (extracted,) = extracted_records(samples, records, 0.1)
    assert (extracted.record, extracted.samples) == (2, (0, 1, 2, 3, 4))
    assert extracted.distance == pytest.approx(0.01 * 6**0.5)
    assert [one.record for one in extracted_records(samples, records, 0.1, least=4)] == [2, 3]


def test_the_gallery_s_first_are_judged_by_the_side_they_point_to() -> None:
    suspicion = np.array([0.99, 0.5, 0.98, 0.6, 0.1, 0.97, 0.96, 0.95, 0.4])
    leakage = order_leak(suspicion, first=6)
    assert (leakage.near_training, leakage.near_held_out) == (5, 1)
    assert leakage.p == pytest.approx(7 / 64)
    assert order_leak(np.full(10, 0.5)).p == 1.0


def test_groups_near_held_out_records_speak_against_extraction() -> None:
    training, held_out = np.eye(12)[:6] * 10, np.eye(12)[6:] * 10
    samples = np.concatenate([np.tile(record + 0.01, (5, 1)) for record in (*training[:3], held_out[0])])
    leakage = extraction_leak(samples, training, held_out, 0.1)
    assert (leakage.near_training, leakage.near_held_out, leakage.num_samples) == (3, 1, 20)
    assert leakage.p == pytest.approx(5 / 16)
    assert extraction_leak(samples[::5], training, held_out, 0.1) == Leak(0, 0, 4, 1.0)


@pytest.fixture(scope="module")
def alarms() -> dict[tuple[str, bool], float]:
    """How often each measure raises the alarm with and without a leak: three disjoint thirds of the digits, drawn anew each time."""
    dataset = load("digits")
    everything = dataset.facts.kind.features(dataset.train.records)
    counts: dict[tuple[str, bool], float] = {}
    for repetition in range(REPETITIONS):
        draw = np.random.default_rng(repetition)
        train, comparison, null = np.split(everything[draw.permutation(1500)], 3)
        copies = np.repeat(train[:5], 5, axis=0) + draw.normal(0, 0.01, (25, train.shape[1])).astype(np.float32)
        planted = np.concatenate([null[:475], copies])
        distance = natural_distance(train, comparison)
        for leaking, samples in ((True, planted), (False, null)):
            verdicts = {
                "share": leak(samples, train, comparison, distance).p < 0.05,
                "extraction": bool(extracted_records(samples, train, distance)),
                "ratio": distance_ratio(samples, train).min() < 0.1,
            }
            for name, raised in verdicts.items():
                counts[name, leaking] = counts.get((name, leaking), 0) + raised / REPETITIONS
    return counts


@pytest.mark.parametrize("name", ["share", "extraction", "ratio"])
def test_a_planted_leak_is_found_with_few_false_alarms(name: str, alarms: dict[tuple[str, bool], float]) -> None:
    assert alarms[name, True] >= 0.95
    assert alarms[name, False] <= 0.10
