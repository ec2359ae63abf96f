"""Small datasets of the evaluation tests: a slice of digits, public look-alikes, and a table with a rule."""

import numpy as np
import pytest
from support.tables import unnamed_columns

from workbench.datasets.base import Dataset, DatasetFacts
from workbench.datasets.digits import load
from workbench.records import Records


@pytest.fixture(scope="session")
def digits() -> Dataset:
    """The bundled digits."""
    return load()


@pytest.fixture(scope="session")
def small_digits(digits: Dataset) -> Dataset:
    """400 training and 200 held-out digits, kept apart."""
    facts = digits.facts.model_copy(update={"num_records": 400})
    return Dataset(facts, digits.train.take(slice(400)), digits.held_out.take(slice(200)))


@pytest.fixture(scope="session")
def fresh(digits: Dataset) -> Records:
    """300 digits that `small_digits` does not hold."""
    return digits.train.take(slice(400, 700))


@pytest.fixture(scope="session")
def public(digits: Dataset) -> Dataset:
    """Another 400 digits, said to be public."""
    facts = digits.facts.model_copy(update={"name": "open-digits", "num_records": 400, "is_public": True})
    return Dataset(facts, digits.train.take(slice(700, 1100)), digits.train.take(slice(1100, 1300)))


@pytest.fixture(scope="session")
def table() -> Dataset:
    """Four columns of categories; the class is the first column's parity, flipped for one row in ten."""
    generator = np.random.default_rng(0)
    categories = (4, 3, 5, 2)
    rows = np.stack([generator.integers(0, size, 600) for size in categories], axis=1)
    labels = (rows[:, 0] + (generator.random(600) < 0.1)) % 2
    records = Records(rows, labels)
    facts = DatasetFacts(name="table", kind=unnamed_columns(categories), num_records=400, classes=("even", "odd"))
    return Dataset(facts, records.take(slice(400)), records.take(slice(400, 600)))
