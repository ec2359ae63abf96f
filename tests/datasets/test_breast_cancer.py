"""The bundled medical table: its ranges are declared, its split is by position, and its columns tell the classes apart."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from workbench import datasets
from workbench.datasets import breast_cancer
from workbench.evaluation.downstream import accuracy, logistic_regression


def test_a_row_is_the_worst_values_of_its_tumour_in_ranges_of_equal_width() -> None:
    bundled, dataset = load_breast_cancer(), datasets.load("breast-cancer")
    train, held_out = dataset.train, dataset.held_out
    assert (len(train), len(held_out)) == (400, 169)
    values = bundled.data[:, 20:]
    assert [f"{name}" for name in bundled.feature_names[20:]] == list(breast_cancer.RANGES)
    low, high = np.array(list(breast_cancer.RANGES.values())).T
    rows = np.clip(np.floor((values - low) / (high - low) * 5), 0, 4).astype(int)
    everyone = np.concatenate([np.column_stack([part.records, part.labels]) for part in (train, held_out)])
    expected = np.column_stack([rows, bundled.target])
    assert np.array_equal(everyone[np.lexsort(everyone.T)], expected[np.lexsort(expected.T)])
    assert dataset.facts.classes == tuple(bundled.target_names)


def test_facts_come_before_any_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sklearn.datasets.load_breast_cancer", None)
    assert datasets.facts("breast-cancer").kind.categories == (5,) * 10


def test_ten_columns_tell_malignant_from_benign() -> None:
    dataset = datasets.load("breast-cancer")
    assert accuracy(logistic_regression, dataset.train, dataset, 0) > 0.95
