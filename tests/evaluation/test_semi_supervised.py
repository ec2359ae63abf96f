"""Self-training on synthetic images: who joins, with which class, when it ends, and what the measure says of public records."""

from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from support.homes import here

from workbench import evaluation
from workbench.datasets.base import Dataset
from workbench.errors import WorkbenchError
from workbench.evaluation.semi_supervised import ROUNDS, few_labels, self_trained
from workbench.records import Records

NAME = "accuracy_semi_supervised"


class Nearest:
    """Is sure of an image by its first pixel: a class's share is .98, or .6 for pixels that no labelled image has had."""

    def __init__(self, seen: Records) -> None:
        self.seen = seen

    def probabilities(self, records: Records) -> np.ndarray:
        pixel = records.records[:, 0, 0, 0].astype(int)
        near = np.abs(pixel[:, None] - self.seen.records[:, 0, 0, 0].astype(int)).min(axis=1) <= 10
        share = np.where(near, 0.98, 0.6)
        return np.where((pixel > 127)[:, None], np.stack([1 - share, share], 1), np.stack([share, 1 - share], 1))


def images(*pixels: int) -> Records:
    """Images of one pixel, whose labels are all wrong."""
    return Records(np.array(pixels, dtype=np.uint8).reshape(-1, 1, 1, 1), np.full(len(pixels), 7))


def training(labelled: Records, samples: Records) -> tuple[list[Records], int]:
    """What the classifier was trained on, round by round, and how many samples joined last."""
    seen: list[Records] = []
    trained = self_trained(labelled, samples, lambda records: cast(Any, (seen.append(records), Nearest(records))[1]))
    assert isinstance(trained.last_classifier, Nearest)
    assert trained.last_classifier.seen is seen[-1]
    return seen, trained.num_synthetic


def test_what_is_sure_joins_with_the_class_it_is_judged_to_be() -> None:
    labelled = replace(images(0, 255), labels=np.array([0, 1]))
    seen, joined = training(labelled, images(8, 16, 100, 250))
    assert [sorted(part.records.ravel().tolist()) for part in seen] == [[0, 255], [0, 8, 250, 255], [0, 8, 16, 250, 255]]
    assert joined == 3
    labels = dict(zip(seen[-1].records.ravel().tolist(), cast(np.ndarray, seen[-1].labels).tolist(), strict=True))
    assert labels == {0: 0, 8: 0, 16: 0, 250: 1, 255: 1}


def test_it_ends_after_its_rounds() -> None:
    """Each round reaches one step further, and there are more steps than rounds."""
    seen, joined = training(replace(images(0, 255), labels=np.array([0, 1])), images(*range(10, 110, 10)))
    assert len(seen) == 1 + ROUNDS
    assert joined == ROUNDS


def test_the_labels_are_few_of_every_class(public: Dataset) -> None:
    drawn = few_labels(public, 0)
    assert np.bincount(cast(np.ndarray, drawn.labels)).tolist() == [10] * 10
    assert not np.array_equal(drawn.records, few_labels(public, 1).records)
    labels = cast(np.ndarray, public.train.labels)
    few = replace(public, train=public.train.take(np.flatnonzero((labels != 3) | (np.cumsum(labels == 3) <= 4))))
    assert np.bincount(cast(np.ndarray, few_labels(few, 0).labels)).tolist() == [10, 10, 10, 4, 10, 10, 10, 10, 10, 10]
    with pytest.raises(WorkbenchError, match="got none of 3"):
        few_labels(replace(public, train=public.train.take(np.flatnonzero(labels != 3))), 0)


def test_the_measure_needs_no_labels_of_samples_and_those_of_public_records(small_digits: Dataset, fresh: Records, public: Dataset) -> None:
    def measured(samples: Records, **options: Any) -> evaluation.MetricResult:
        return evaluation.evaluate(samples, small_digits, metrics=[NAME], features="pixels", workspace=here(), **options)[0]

    accuracy = measured(Records(fresh.records), public=public)
    assert accuracy.value > 0.6
    assert accuracy.features == "pixels, 100 labels of open-digits"
    assert "Our reading" in accuracy.note
    assert not accuracy.releasable
    assert (accuracy.value, accuracy.ceiling) == (measured(fresh, public=public).value, accuracy.ceiling)
    with pytest.raises(WorkbenchError, match="there are none"):
        measured(fresh)
    clothes = replace(public, facts=public.facts.model_copy(update={"classes": tuple("abcdefghij")}))
    with pytest.raises(WorkbenchError, match="open-digits has others"):
        measured(fresh, public=clothes)


def test_it_is_taken_by_name_alone(small_digits: Dataset, fresh: Records, public: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    measures = {name: metric for name, metric in evaluation.METRICS.items() if name in (NAME, "kernel_distance")}
    monkeypatch.setattr(evaluation, "METRICS", measures)
    results = evaluation.evaluate(fresh, small_digits, public=public, features="pixels", workspace=here())
    assert [result.name for result in results] == ["kernel_distance"]


def test_the_papers_three_learners_take_it(small_digits: Dataset, public: Dataset, fresh: Records) -> None:
    """Chu et al., V.D: logistic regression, MLP and CNN, each from the public labels alone and then with the samples."""
    names = [NAME, f"{NAME}_logistic_regression", f"{NAME}_mlp"]
    results = evaluation.evaluate(fresh, small_digits, public=public, metrics=names, workspace=here())
    assert [result.name for result in results] == names
    assert len({result.value for result in results}) > 1
    assert all(result.value > 0.6 for result in results)
