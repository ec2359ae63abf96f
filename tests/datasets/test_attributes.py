"""Attributes in the user's own file of arrays: read beside the images, declared, refused where they do not fit."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workbench import datasets
from workbench.datasets.reference import DatasetRef
from workbench.errors import WorkbenchError

GOOD = {
    "images": np.arange(12, dtype=np.uint8).repeat(4).reshape(12, 2, 2, 1),  # every pixel is the image's number
    "labels": np.arange(12) % 3,
    "classes": np.array(["ape", "cat", "dog"]),
    "attribute_smile": (np.arange(12) // 6).astype(np.uint8),
    "values_smile": np.array(["no", "yes"]),
    "attribute_images": np.arange(12) % 4,  # called like an array of another meaning
    "values_images": np.arange(4),
}
HELD_OUT = {
    "held_out_images": GOOD["images"][:5],
    "held_out_labels": np.zeros(5, dtype=int),
    "held_out_attribute_smile": np.array([1, 0, 1, 0, 1]),
    "held_out_attribute_images": np.zeros(5, dtype=int),
}


def written(folder: Path, **change: np.ndarray | None) -> Path:
    path = folder / "mine.npz"
    arrays: dict[str, Any] = {name: array for name, array in (GOOD | change).items() if array is not None}
    np.savez(path, **arrays)
    return path


def test_every_record_keeps_its_attributes(tmp_path: Path) -> None:
    dataset = datasets.load(written(tmp_path))
    assert dataset.facts == datasets.facts(tmp_path / "mine.npz")
    assert dataset.facts.attributes == {"images": ("0", "1", "2", "3"), "smile": ("no", "yes")}
    dataset.facts.check(dataset.train)
    for records in (dataset.train, dataset.held_out):
        numbers = records.records[:, 0, 0, 0].astype(int)
        assert records.attributes["smile"].dtype == np.int64
        assert np.array_equal(records.attributes["smile"], numbers // 6)
        assert np.array_equal(records.attributes["images"], numbers % 4)


def test_held_out_records_bring_theirs(tmp_path: Path) -> None:
    dataset = datasets.load(written(tmp_path, **HELD_OUT))
    assert dataset.held_out.attributes["smile"].tolist() == [1, 0, 1, 0, 1]
    assert dataset.facts.num_records == 12


def test_an_attribute_may_stand_for_the_classes(tmp_path: Path) -> None:
    place = DatasetRef.parse(written(tmp_path), label="smile")
    assert (place.facts().classes, list(place.facts().attributes)) == (("no", "yes"), ["images"])
    loaded = place.load()
    assert loaded.train.labels is not None
    assert np.array_equal(loaded.train.labels, loaded.train.records[:, 0, 0, 0] // 6)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"values_smile": None}, "add or leave out values_smile"),
        ({"attribute_smile": None}, "add or leave out values_smile"),
        ({**HELD_OUT, "held_out_attribute_smile": None}, "add or leave out held_out_attribute_smile"),
        ({"held_out_attribute_smile": np.zeros(5, dtype=int)}, "add or leave out held_out_attribute_smile"),
        ({"attribute_smile": np.zeros(12)}, "attribute_smile as 12 integers .* got float64"),
        ({"attribute_smile": np.zeros(11, dtype=int)}, "attribute_smile as 12 integers"),
        ({**HELD_OUT, "held_out_attribute_smile": np.zeros(12, dtype=int)}, "held_out_attribute_smile as 5 integers"),
        ({"values_smile": np.array("yes")}, "values_smile as a list of names"),
        ({"values_smile": np.array(["yes", "yes"])}, "values of smile that differ"),
        ({"attribute_smile": np.full(12, 2)}, "Expected numbers 0 to 1 for the values of smile in .* got 2 to 2"),
        ({**HELD_OUT, "held_out_attribute_smile": np.full(5, -1)}, "Expected numbers 0 to 1 .* got -1 to -1"),
        ({"attribute_ smile": np.zeros(12, dtype=int), "values_ smile": np.array(["no"])}, "names of attributes"),
    ],
)
def test_attributes_that_do_not_fit_are_refused(tmp_path: Path, change: dict[str, np.ndarray | None], sentence: str) -> None:
    with pytest.raises(WorkbenchError, match=sentence):
        datasets.load(written(tmp_path, **change))


def test_attributes_count_in_what_a_file_unpacks_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    images = np.zeros((2**17, 1, 1, 1), dtype=np.uint8)
    large = np.zeros(2**17, dtype=np.int64)
    path = tmp_path / "mine.npz"
    monkeypatch.setenv("WORKBENCH_MAX_UNPACKED_MIB", "1")
    np.savez_compressed(path, images=images, labels=large.astype(np.uint8), classes=np.array(["a"]))
    assert datasets.facts(path).attributes == {}
    values = np.array(["no"])
    np.savez_compressed(path, images=images, labels=large.astype(np.uint8), classes=np.array(["a"]), attribute_x=large, values_x=values)
    with pytest.raises(WorkbenchError, match="unpack to at most 1 MiB"):
        datasets.facts(path)
