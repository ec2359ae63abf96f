"""The public facts about a dataset: what they refuse, what the fingerprint takes in, and facts kept by an earlier version."""

import json
import sqlite3
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.homes import here

from workbench.datasets import Dataset, DatasetFacts, load
from workbench.errors import WorkbenchError
from workbench.records import ImageKind, TableKind

KEY = b"of an installation"
KEPT = Path(__file__).parents[1] / "fixtures" / "home-0.1.tar.gz"
FACTS = DatasetFacts(
    name="people", kind=TableKind.of_sizes((3, 2)), num_records=40, classes=("a", "b", "c"), attributes={"age": ("young", "old")}
)
OLD: dict[str, Any] = {"name": "kept", "num_records": 9, "classes": ["a", "b"], "attributes": [], "is_public": False}


@pytest.fixture
def kept_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home that version 0.1 made."""
    with tarfile.open(KEPT) as archive:
        archive.extractall(tmp_path / "kept", filter="data")
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "kept"))
    return tmp_path / "kept"


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


def test_a_home_of_version_0_1_names_the_same_records_and_facts(kept_home: Path) -> None:
    digits = load("digits")
    kept = [json.loads(path.read_text()) for path in sorted(kept_home.glob("runs/*/plan.json"))]
    assert len(kept) == 3
    assert {"shape", "categories"} <= set(kept[0]["facts"])
    assert all(DatasetFacts.model_validate(plan["facts"]) == digits.facts for plan in kept)
    for file in ("runs.sqlite", "ledger.sqlite"):
        rows = sqlite3.connect(kept_home / file).execute("SELECT DISTINCT fingerprint FROM runs").fetchall()
        assert rows == [(digits.fingerprint(here().key),)]


def test_facts_of_version_0_1_are_read() -> None:
    image = DatasetFacts.model_validate(OLD | {"kind": "image", "shape": [3, 4, 5], "categories": []})
    table = DatasetFacts.model_validate(OLD | {"kind": "table", "shape": [2], "categories": [3, 2]})
    assert (image.kind, image.attributes, image.classes) == (ImageKind(size=(3, 4, 5)), {}, ("a", "b"))
    assert table.kind == TableKind.of_sizes((3, 2))


def test_size_is_an_images_alone() -> None:
    digits = load("digits").facts
    assert digits.at_size((3, 9, 7)).shape == (3, 9, 7)
    assert digits.at_size((3, 9, 7)).classes == digits.classes
    with pytest.raises(WorkbenchError, match="Expected images, got rows of a table"):
        FACTS.at_size((1, 8, 8))
