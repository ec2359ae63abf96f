"""The drawn table: its columns have the declared shares and go together, and its outliers are far from everybody."""

import numpy as np
import pytest

from workbench import datasets
from workbench.datasets import patients
from workbench.errors import WorkbenchError


def test_shares_are_those_declared_and_unequal() -> None:
    assert all(sum(shares.values()) == 100 for shares in patients.COLUMNS.values())
    records = patients.load(patients.LARGE, num_records=20_000, seed=1).train
    ordinary = records.records[records.attributes["planted"] == 0]
    for shares, column in zip(patients.COLUMNS.values(), ordinary.T, strict=True):
        frequencies = np.bincount(column, minlength=len(shares)) / len(ordinary)
        np.testing.assert_allclose(frequencies, np.array(list(shares.values())) / 100, atol=0.015)  # 4 standard errors


def test_columns_go_together_and_with_the_class() -> None:
    records = patients.load(patients.PATIENTS).train
    kept = records.attributes["planted"] == 0
    together = np.corrcoef(np.column_stack([records.records, records.labels])[kept], rowvar=False)
    assert together.min() > 0.3


def test_one_row_in_a_hundred_is_rare_in_every_column_and_unlike_the_others() -> None:
    train = patients.load(patients.PATIENTS, num_records=1_000, seed=3).train
    planted = train.records[train.attributes["planted"] == 1]
    assert len(planted) == len(np.unique(planted, axis=0)) == 10
    for shares, column in zip(list(patients.COLUMNS.values())[:8], planted.T, strict=True):
        values = np.array(list(shares.values()))
        assert (np.argsort(np.argsort(values, kind="stable"))[column] < (len(values) + 1) // 2).all()
    others = train.records[train.attributes["planted"] == 0]
    unlike = [np.sort((row != others).sum(axis=1))[:5].mean() for row in planted]
    typical = [np.sort((row != others).sum(axis=1))[1:6].mean() for row in others]
    assert np.mean(unlike) > np.quantile(typical, 0.95)


def test_seed_and_number_of_rows() -> None:
    one, same, other = (datasets.load("patients", seed=seed).train.records for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    assert len(patients.load(patients.PATIENTS, num_records=123).train) == 123
    assert datasets.load("patients", (8,)).facts.shape == (8,)
    with pytest.raises(WorkbenchError, match="at least 100 rows of patients"):
        patients.facts(patients.PATIENTS, 99)
    with pytest.raises(WorkbenchError, match="with its 8 columns"):
        datasets.load("patients", (3,))


def test_both_forms_are_of_the_size_they_say() -> None:
    facts = [datasets.facts(name) for name in ("patients", "patients-large")]
    assert [(known.num_records, known.dimensions) for known in facts] == [(2_000, 8), (50_000, 15)]
    assert all(len(set(known.kind.categories)) > 3 for known in facts)
