"""The public facts about a dataset: what they refuse, what the fingerprint takes in, and whose size can be another."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.tables import unnamed_columns

from workbench.datasets import Dataset, DatasetFacts, load
from workbench.errors import WorkbenchError

KEY = b"of an installation"
FACTS = DatasetFacts(
    name="people", kind=unnamed_columns((3, 2)), num_records=40, classes=("a", "b", "c"), attributes={"age": ("young", "old")}
)


def test_drawn_records_are_what_the_facts_say() -> None:
    records = FACTS.draw(40)
    FACTS.check(records)
    assert records.labels is not None
    assert records.labels[:4].tolist() == [0, 1, 2, 0]
    assert set(records.attributes["age"]) == {0, 1}
    assert DatasetFacts.model_validate_json(FACTS.model_dump_json()) == FACTS


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"records": np.zeros((39, 2), np.int64)}, r"shape \(40, 2\), got \(39, 2\)"),
        ({"records": np.full((40, 2), 2)}, "per column"),
        ({"records": np.zeros((40, 2), np.int32)}, "type int64, got int32"),
        ({"labels": np.full(40, 3)}, "labels 0 to 2, got 3 to 3"),
        ({"labels": np.full(40, -1)}, "labels 0 to 2, got -1 to -1"),
        ({"attributes": {}}, "attributes age, got none"),
        ({"attributes": {"age": np.zeros(40), "size": np.zeros(40)}}, "attributes age, got age, size"),
        ({"attributes": {"age": np.full(40, 2)}}, "values of age 0 to 1, got 2 to 2"),
    ],
)
def test_records_of_another_number_type_or_range_are_refused(change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(WorkbenchError, match=sentence):
        FACTS.check(replace(FACTS.draw(40), **change))


def test_attributes_and_null_records_enter_the_fingerprint() -> None:
    records = FACTS.draw(40)
    other = replace(records, attributes={"age": 1 - records.attributes["age"]})
    renamed = replace(records, attributes={"size": records.attributes["age"]})
    both = replace(records, attributes={**records.attributes, "size": records.attributes["age"]})
    turned = replace(both, attributes=dict(reversed(both.attributes.items())))
    prints = [Dataset(FACTS, made, records).fingerprint(KEY) for made in (records, other, renamed, both, records.without(3))]
    bare = Dataset(FACTS, replace(records, attributes={}), records).fingerprint(KEY)
    assert len({bare, *prints}) == 6
    assert Dataset(FACTS, turned, records).fingerprint(KEY) == prints[3]


def test_size_is_an_images_alone() -> None:
    digits = load("digits").facts
    assert digits.at_size((3, 9, 7)).shape == (3, 9, 7)
    assert digits.at_size((3, 9, 7)).classes == digits.classes
    with pytest.raises(WorkbenchError, match="Expected images, got rows of a table"):
        FACTS.at_size((1, 8, 8))
