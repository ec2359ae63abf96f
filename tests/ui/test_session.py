"""What pages remember: never longer than the files of one's own stay as they were."""

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from workbench.datasets.reference import DatasetRef
from workbench.ui import session


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for label in ("cat", "dog"):
        (tmp_path / "pets" / label).mkdir(parents=True)
        for number in range(12):
            draw(tmp_path / "pets" / label / f"{label}{number}.png", number)
    return tmp_path / "pets"


def draw(path: Path, seed: int, side: int = 8) -> None:
    Image.fromarray(np.random.default_rng(seed).integers(256, size=(side, side), dtype=np.uint8)).save(path)


def test_facts_of_a_folder_are_those_of_the_files_that_are_there(folder: Path) -> None:
    place = DatasetRef.parse(folder)
    before = session.known_facts(place)
    assert session.known_facts(place) == before
    for number in range(12, 30):
        draw(folder / "cat" / f"cat{number}.png", number)
    assert session.known_facts(place).num_records > before.num_records
    for path in folder.rglob("*.png"):
        draw(path, 1, side=9)
    assert session.known_facts(place).shape == (1, 9, 9), "files that were written over"


def test_records_of_a_folder_are_those_of_the_files_that_are_there(folder: Path) -> None:
    place = DatasetRef.parse(folder)
    facts = session.known_facts(place)
    before = session.loaded_dataset(place, facts)
    assert session.loaded_dataset(place, facts) is before, "read once"
    for path in folder.rglob("*.png"):
        Image.fromarray(np.full((8, 8), 7, np.uint8)).save(path)
        os.utime(path, ns=(1, 1))
    assert np.all(session.loaded_dataset(place, facts).train.records == 7)
