"""The whole evaluation: what is measured of which data, ceilings, the epsilon-0 row, errors, and equal results on repetition."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.homes import here

from workbench import evaluation
from workbench.datasets.base import Dataset
from workbench.errors import WorkbenchError
from workbench.evaluation import FEATURES, METRICS, MetricResult, feature_space
from workbench.evaluation.likeness import likeness_note
from workbench.marks import may_leave
from workbench.records import Records
from workbench.serialization import dumps

NAMES = [  # of measures that kept results are known by; the first four are accuracies
    "accuracy_logistic_regression",
    "accuracy_mlp",
    "accuracy_cnn",
    "accuracy_random_forest",
    "frechet_distance",
    "kernel_distance",
    "inception_score",
    "privacy_score",
    "nearer_to_training",
]


def evaluate(samples: Records, dataset: Dataset, **options: Any) -> list[MetricResult]:
    return evaluation.evaluate(samples, dataset, workspace=here(), **options)


def noise(count: int) -> Records:
    generator = np.random.default_rng(0)
    return Records(generator.integers(0, 256, (count, 1, 8, 8), dtype=np.uint8), np.arange(count) % 10)


def by_name(results: list[MetricResult]) -> dict[str, MetricResult]:
    return {result.name: result for result in results}


def values(results: list[MetricResult]) -> list[dict[str, Any]]:
    return [result.model_dump(exclude={"seconds"}) for result in results]


def test_registries_hold_the_documented_names() -> None:
    assert {name: metric.name for name, metric in METRICS.items()} == {name: name for name in METRICS}
    assert {name: feature.name for name, feature in FEATURES.items()} == {name: name for name in FEATURES}
    assert set(NAMES) <= METRICS.keys()
    assert {"pixels", "classifier"} <= FEATURES.keys()


def test_fresh_digits_against_noise(small_digits: Dataset, fresh: Records, public: Dataset) -> None:
    calls: list[tuple[str, float]] = []
    results = by_name(evaluate(fresh, small_digits, public=public, public_samples=noise(300), progress=lambda *call: calls.append(call)))
    allowed = [metric.name for metric in METRICS.values() if metric.refusal(small_digits.facts, fresh) is None]
    assert list(results) == [name for name in allowed if not (METRICS[name].by_name or METRICS[name].is_of_model)]
    assert set(NAMES) <= results.keys()
    assert [name for name, _ in calls] == [*results, "done"]
    assert [fraction for _, fraction in calls] == sorted(fraction for _, fraction in calls)
    for name in NAMES[:4]:
        result = results[name]
        assert result.value > 0.75
        assert result.ceiling > 0.75
        assert result.epsilon_zero < 0.4
        assert result.chance == pytest.approx(0.1)
        assert result.interval[0] < result.value < result.interval[1]
    for name in ("frechet_distance", "kernel_distance"):
        assert results[name].features == "classifier (trained on open-digits)"
        assert results[name].value < results[name].epsilon_zero
        assert results[name].ceiling < results[name].epsilon_zero
    assert results["inception_score"].value > results["inception_score"].epsilon_zero
    assert results["privacy_score"].ceiling == 0.0
    assert results["privacy_score"].value < 0.3
    interval = results["nearer_to_training"].interval
    assert interval is not None
    assert interval[0] < 0.5 < interval[1]
    assert results["nearer_to_training"].ceiling == pytest.approx(0.75, abs=0.1)  # half of the copied records are in the subset
    assert [name for name in NAMES if results[name].releasable] == ["inception_score"]
    assert [name for name in NAMES if results[name].epsilon_zero_releasable] == ["inception_score"]
    assert [name for name in NAMES if results[name].ceiling_releasable] == []
    assert not results["inception_score"].of_run(False).releasable


def test_public_records_themselves_are_measured_where_the_public_model_is_next_to_guessing(
    small_digits: Dataset, fresh: Records, public: Dataset
) -> None:
    """A model that learned too little draws noise; the records it was given would have been a help."""
    options: dict[str, Any] = {"public": public, "metrics": ["accuracy_logistic_regression"]}
    (weak,) = evaluate(fresh, small_digits, public_samples=noise(300), **options)
    assert weak.epsilon_zero is not None
    assert weak.public_records is not None
    assert weak.epsilon_zero < 0.25 < 0.75 < weak.public_records
    assert not may_leave(weak.model_dump(), "public_records"), "it is judged by held-out records"
    assert "learned too little" in likeness_note([weak.model_dump()])
    (good,) = evaluate(fresh, small_digits, public_samples=public.train, **options)
    assert good.public_records is None
    others = replace(public, facts=public.facts.model_copy(update={"classes": tuple("abcdefghij")}))
    inverted = replace(public, train=Records(255 - noise(400).records, public.train.labels))
    (foreign,) = evaluate(fresh, small_digits, public_samples=noise(300), **options | {"public": inverted})
    assert "look like nothing public" in likeness_note([foreign.model_dump()])
    (undefined,) = evaluate(fresh, small_digits, public_samples=noise(300), **options | {"public": others})
    assert (undefined.epsilon_zero, undefined.public_records) == (None, None)


def test_results_repeat_and_are_json(small_digits: Dataset, fresh: Records, workbench_home: Path) -> None:
    names = ["accuracy_cnn", "frechet_distance", "kernel_distance", "privacy_score", "nearer_to_training"]
    first = evaluate(fresh, small_digits, metrics=names)
    for path in (workbench_home / "cache" / "evaluation").iterdir():
        assert path.stat().st_mode & 0o077 == 0
        path.unlink()
    again = evaluate(fresh, small_digits, metrics=names)
    assert values(first) == values(again)
    assert [MetricResult.model_validate(item) for item in json.loads(dumps(first))] == first


def test_a_ceiling_is_computed_once(small_digits: Dataset, fresh: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    first = evaluate(fresh, small_digits, metrics=["accuracy_random_forest"])
    monkeypatch.setattr("workbench.evaluation.metrics.Context.real_records", lambda *_: pytest.fail("the ceiling was computed again"))
    assert evaluate(fresh, small_digits, metrics=["accuracy_random_forest"])[0].ceiling == first[0].ceiling


def test_a_ceiling_belongs_to_its_sample_size_and_records(small_digits: Dataset, fresh: Records) -> None:
    def ceiling(samples: Records, dataset: Dataset) -> float:
        return evaluate(samples, dataset, metrics=["kernel_distance"], features="pixels")[0].ceiling

    fewer = Dataset(small_digits.facts, small_digits.train, small_digits.held_out.take(slice(100)))
    assert len({ceiling(fresh, small_digits), ceiling(fresh.take(slice(100)), small_digits), ceiling(fresh, fewer)}) == 3


def test_features_from_private_records_say_so_and_release_nothing(small_digits: Dataset, fresh: Records) -> None:
    results = by_name(evaluate(fresh, small_digits, metrics=["inception_score", "frechet_distance", "nearer_to_training"]))
    assert results["frechet_distance"].features == results["inception_score"].features == "classifier (trained on digits)"
    assert results["nearer_to_training"].features == "pixels"
    assert not any(result.releasable or result.epsilon_zero_releasable for result in results.values())
    assert "2048" in results["frechet_distance"].note


def test_pixels_with_a_classifier_of_its_own_release_no_inception_score(small_digits: Dataset, fresh: Records, public: Dataset) -> None:
    result = evaluate(fresh, small_digits, metrics=["inception_score"], features="pixels", public=public)[0]
    assert result.features == "classifier (trained on digits)"
    assert not result.releasable


def test_epsilon_zero_is_undefined_for_other_classes(small_digits: Dataset, fresh: Records, public: Dataset) -> None:
    clothes = Dataset(public.facts.model_copy(update={"classes": tuple("abcdefghij")}), public.train, public.held_out)
    names = ["accuracy_logistic_regression", "kernel_distance"]
    accuracy, distance = evaluate(fresh, small_digits, metrics=names, features="pixels", public=clothes, public_samples=noise(50))
    assert accuracy.epsilon_zero is None
    assert "classes" in accuracy.epsilon_zero_reason
    assert accuracy.chance == pytest.approx(0.1)
    assert distance.epsilon_zero is not None
    assert distance.epsilon_zero_num_samples == 50


def test_without_public_samples_the_reason_is_given(small_digits: Dataset, fresh: Records) -> None:
    result = evaluate(fresh, small_digits, metrics=["kernel_distance"], features="pixels")[0]
    assert result.epsilon_zero is None
    assert result.epsilon_zero_reason


def test_table(table: Dataset) -> None:
    own = {"accuracy_logistic_regression", "accuracy_random_forest", "frechet_distance", "kernel_distance", "nearer_to_training"}
    rows = table.train.take(slice(300))
    assert {name for name in NAMES if METRICS[name].refusal(table.facts, rows) is None} == own
    results = by_name(evaluate(rows, table, metrics=sorted(own)))
    assert results["accuracy_logistic_regression"].value > 0.8
    assert results["accuracy_random_forest"].value > 0.8
    assert {result.features for result in results.values()} == {"one-hot"}


def test_one_hot_of_a_table(table: Dataset) -> None:
    features = feature_space("pixels", table, workspace=here())(Records(np.array([[0, 2, 4, 1], [3, 0, 0, 0]])))
    assert features.shape == (2, 14)
    np.testing.assert_array_equal(np.flatnonzero(features[0]), [0, 6, 11, 13])
    np.testing.assert_array_equal(np.flatnonzero(features[1]), [3, 4, 7, 12])
    with pytest.raises(WorkbenchError, match="categories"):
        feature_space("pixels", table, workspace=here())(Records(np.array([[4, 0, 0, 0]])))


def test_samples_of_one_class_score_its_share(small_digits: Dataset, fresh: Records) -> None:
    ones = Records(fresh.records, np.ones(len(fresh), dtype=np.int64))
    names = ["accuracy_logistic_regression", "accuracy_random_forest"]
    share = float(np.mean(small_digits.held_out.labels == 1))
    assert [result.value for result in evaluate(ones, small_digits, metrics=names)] == [share, share]


def test_samples_without_labels_skip_what_needs_them(small_digits: Dataset, fresh: Records) -> None:
    unlabelled = Records(fresh.records)
    with pytest.raises(WorkbenchError, match="labels"):
        evaluate(unlabelled, small_digits, metrics=["accuracy_mlp"])
    assert METRICS["accuracy_mlp"].refusal(small_digits.facts, unlabelled) is not None
    assert METRICS["kernel_distance"].refusal(small_digits.facts, unlabelled) is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"metrics": ["fid"]}, "frechet_distance"),
        ({"features": "inception"}, "pixels"),
        ({"samples": Records(np.zeros((5, 1, 9, 8), dtype=np.uint8))}, "shape"),
        ({"samples": Records(np.zeros((1, 1, 8, 8), dtype=np.uint8))}, "at least 2"),
        ({"samples": Records(np.zeros((5, 1, 8, 8), dtype=np.float32))}, "uint8"),
        ({"public_samples": noise(5)}, "public"),
        ({"samples": Records(np.zeros((5, 1, 8, 8), dtype=np.uint8), np.full(5, 10)), "metrics": ["accuracy_mlp"]}, "0 to 9"),
    ],
)
def test_wrong_input_is_one_clear_sentence(small_digits: Dataset, fresh: Records, change: dict[str, Any], message: str) -> None:
    arguments = {"samples": fresh, "metrics": ["kernel_distance"], "features": "pixels", **change}
    with pytest.raises(WorkbenchError, match=message):
        evaluate(arguments.pop("samples"), small_digits, **arguments)


def test_measures_for_images_refuse_tables(table: Dataset) -> None:
    with pytest.raises(WorkbenchError, match="image"):
        evaluate(table.train, table, metrics=["accuracy_cnn"])
    with pytest.raises(WorkbenchError, match="pixels"):
        feature_space("classifier", table, workspace=here())
