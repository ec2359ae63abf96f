"""The papers' protocol: its networks, the choice of an epoch, the eleven classifiers, and that whatever is cut down says so."""

import copy
from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB
from support.homes import here
from torch import nn

from workbench.cli.measures import by_protocol
from workbench.datasets.base import Dataset
from workbench.errors import WorkbenchError
from workbench.evaluation import METRICS, PROTOCOLS, context, eleven, evaluate, feature_space, published
from workbench.evaluation.context import measures_of
from workbench.evaluation.distances import frechet_distance, kernel_distance
from workbench.records import Records

TAKEN = [
    "accuracy_mlp_published",
    "accuracy_cnn_published",
    "accuracy_sklearn_mean",
    "frechet_distance_published",
    "kernel_distance_published",
]


def parameters(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def test_the_networks_are_the_published_ones_and_fit_smaller_images() -> None:
    assert parameters(published.mlp((1, 28, 28), 10)) == 784 * 100 + 100 + 100 * 10 + 10
    hidden = (9 * 32 + 32) + (32 * 9 * 64 + 64) + (64 * 9 * 128 + 128)
    assert parameters(published.cnn((1, 28, 28), 10)) == hidden + (1152 * 128 + 128) + (128 * 10 + 10)
    for size in (8, 17, 18):
        assert parameters(published.cnn((3, size, size), 2)) > 100_000


def test_the_weights_of_the_best_epoch_are_kept(small_digits: Dataset, fresh: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published, "EPOCHS", 5)
    weights: list[dict[str, Any]] = []
    judged: list[int] = []

    def scripted(module: nn.Module, images: Any) -> np.ndarray:
        weights.append(copy.deepcopy(module.state_dict()))
        judged.append(len(images))
        right = fresh.take(np.random.default_rng(0).permutation(len(fresh))[:50]).labels
        assert right is not None
        return right if len(weights) in (3, 4) else (right + 1) % 10

    monkeypatch.setattr(published, "predicted_classes", scripted)
    shares: list[float] = []
    module, epoch = published.trained_network(published.mlp, fresh, 10, 0, shares.append)
    assert epoch == 3, "the first of two that are as good"
    assert all(np.array_equal(value, weights[2][name]) for name, value in module.state_dict().items())
    assert not np.array_equal(weights[4]["1.weight"], weights[2]["1.weight"])
    assert judged == [50] * 5, "a sixth of 300 samples chooses"
    assert shares == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])


def test_the_eleven_are_eleven_and_learn_from_what_classes_there_are(small_digits: Dataset, fresh: Records) -> None:
    assert fresh.labels is not None
    assert small_digits.held_out.labels is not None
    values = fresh.records.reshape(300, -1) / 255.0
    test = (small_digits.held_out.records.reshape(200, -1) / 255.0, small_digits.held_out.labels)
    some = ~np.isin(fresh.labels, (0, 5))
    accuracies = eleven.accuracies((values[some], fresh.labels[some]), test, 0)
    assert list(accuracies) == list(eleven.SETTINGS)
    assert len(accuracies) == 11
    without = float(np.mean(np.isin(test[1], (0, 5))))
    assert all(0.2 < value <= 1 - without for value in accuracies.values()), accuracies
    assert sum(value > 0.6 for value in accuracies.values()) > 7
    ones = eleven.accuracies((values, np.ones(300, np.int64)), test, 0)
    assert set(ones.values()) == {float(np.mean(test[1] == 1))}


def test_a_mean_of_ten_is_never_called_one_of_eleven(small_digits: Dataset, fresh: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "find_spec", lambda _name: None)
    with pytest.raises(WorkbenchError, match=r"needs xgboost, .*: pip install xgboost, or in a checkout pip install -e '\.\[published\]'"):
        evaluate(fresh, small_digits, metrics=TAKEN, workspace=here())


def test_the_protocol_on_digits_is_labelled_as_cut_down(small_digits: Dataset, fresh: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(published, "EPOCHS", 20)
    monkeypatch.setattr(published, "BATCH_SIZE", 16)
    monkeypatch.setattr(eleven, "_classifier", lambda *_: GaussianNB())
    calls: list[tuple[str, float]] = []
    results = evaluate(fresh, small_digits, metrics=TAKEN, features="pixels", workspace=here(), progress=lambda *call: calls.append(call))
    by_name = {result.name: result for result in results}
    assert [fraction for _, fraction in calls] == sorted(fraction for _, fraction in calls)
    assert len([name for name, _ in calls if name == "accuracy_sklearn_mean"]) == 1 + 11 + 11, "each classifier, then for the ceiling"
    assert {result.protocol for result in results} == {"published protocol, cut down to 300 samples"}
    assert PROTOCOLS["published"].label(60_000) == "published protocol"
    assert PROTOCOLS["workbench"].label(300) == "workbench's protocol"
    assert by_name["accuracy_cnn_published"].value > 0.6
    assert by_name["accuracy_sklearn_mean"].value > 0.6
    assert by_name["accuracy_sklearn_mean"].note.count(";") == 10
    space = feature_space("pixels", small_digits, workspace=here())
    sets = space(fresh), space(small_digits.train)
    assert by_name["frechet_distance_published"].value == pytest.approx(frechet_distance(*sets), rel=1e-9)
    assert by_name["kernel_distance_published"].value == pytest.approx(kernel_distance(*sets), rel=1e-9)
    assert not any(result.releasable for result in results)
    monkeypatch.setattr(eleven, "_classifier", lambda *_: pytest.fail("what was fitted was fitted again"))
    again = evaluate(fresh, small_digits, metrics=["accuracy_sklearn_mean"], workspace=here())
    assert again[0].value == by_name["accuracy_sklearn_mean"].value


def test_the_protocol_names_its_measures_and_its_number_of_samples() -> None:
    taken = measures_of("published", METRICS, "image")
    assert sorted(taken) == sorted(TAKEN)
    assert by_protocol("workbench", None, None, lambda: "image") == (None, None)
    assert by_protocol("published", None, None, lambda: "image") == (taken, 60_000)
    assert by_protocol("published", ["accuracy_sklearn_mean"], 600, lambda: "image") == (["accuracy_sklearn_mean"], 600)
    for protocol, metrics, kind, message in (
        ("papers", None, "image", "Unknown protocol 'papers'"),
        ("published", ["accuracy_mlp"], "image", "accuracy_mlp_published"),
        ("published", None, "table", "got table data"),
        ("workbench", ["beauty"], "image", "Unknown metric 'beauty'"),
    ):
        with pytest.raises(WorkbenchError, match=message):
            by_protocol(protocol, metrics, None, partial(str, kind))
