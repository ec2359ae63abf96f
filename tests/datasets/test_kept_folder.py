"""A folder is decoded once: mapped from the home's cache, for its owner alone, until it changes or is gone."""

import os
import shutil
import stat
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from support.homes import here

from workbench import datasets
from workbench.datasets import folder
from workbench.errors import WorkbenchError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Twelve pictures of two classes, each of one grey, its number."""
    for number in range(12):
        place = tmp_path / "mine" / "ab"[number % 2]
        place.mkdir(parents=True, exist_ok=True)
        Image.new("L", (6, 5), number).save(place / f"{number:02}.png")
    return tmp_path / "mine"


def kept() -> list[Path]:
    """The arrays that are kept in this home."""
    return sorted((here().cache / "folders").glob("*.npy"))


def test_the_second_time_no_image_is_opened(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert datasets.facts(root).num_records == 10
    assert not (here().cache / "folders").exists(), "facts keep nothing"
    first = datasets.load(root)
    monkeypatch.setattr(folder, "open_image", None)
    again = datasets.load(root)
    assert again.facts == datasets.facts(root) == first.facts
    assert isinstance(again.train.records.base, np.memmap), "mapped, and not held in memory"
    assert (again.train.records.base is again.held_out.records.base) or isinstance(again.held_out.records, np.memmap)
    for one, other in ((first.train, again.train), (first.held_out, again.held_out)):
        np.testing.assert_array_equal(one.records, other.records)
        np.testing.assert_array_equal(one.records[:, 0, 0, 0] % 2, other.labels)
    assert first.fingerprint(here().key) == again.fingerprint(here().key)


def test_another_size_or_split_is_another_file_of_the_same_images(root: Path) -> None:
    whole = {seed: datasets.load(root, (3, 4, 4), seed) for seed in (0, 1)}
    numbers = [np.concatenate([one.train.records, one.held_out.records])[:, 0, 0, 0].tolist() for one in whole.values()]
    assert numbers[0] != numbers[1]
    assert sorted(numbers[0]) == sorted(numbers[1]) == list(range(12))
    assert datasets.load(root).facts.shape == (1, 5, 6)
    assert len(kept()) == 3


@pytest.mark.parametrize("change", ["pixels", "time", "name", "class"])
def test_a_changed_file_is_read_anew_and_nothing_stays_of_before(root: Path, change: str) -> None:
    datasets.load(root)
    (before,), file = kept(), root / "a" / "00.png"
    if change == "pixels":
        Image.new("L", (6, 5), 77).save(file)
    elif change == "time":
        os.utime(file, ns=(1, 1))
    else:
        file.rename(root / "a" / "xx.png" if change == "name" else root / "b" / "00.png")
    now = datasets.load(root)
    (after,) = kept()
    assert after != before
    assert (np.concatenate([now.train.records, now.held_out.records]) == 77).any() == (change == "pixels")


def test_only_the_owner_may_read_what_is_kept_and_it_goes_with_the_folder(root: Path, tmp_path: Path) -> None:
    datasets.load(root)
    place = here().cache / "folders"
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in place.iterdir()} == {0o600}
    (mine,) = kept()
    shutil.copytree(root, tmp_path / "other")
    shutil.rmtree(root)
    datasets.load(tmp_path / "other")
    assert mine not in kept()
    assert len(list(place.iterdir())) == 2


def test_what_cannot_be_read_keeps_nothing(root: Path) -> None:
    (root / "a" / "00.png").write_bytes((root / "a" / "00.png").read_bytes()[:42])
    with pytest.raises(WorkbenchError, match=r"Expected readable images.* a/00.png"):
        datasets.load(root)
    assert kept() == []


def test_a_damaged_file_is_made_anew(root: Path) -> None:
    first = datasets.load(root).train.records.copy()
    kept()[0].write_bytes(b"damaged")
    np.testing.assert_array_equal(datasets.load(root).train.records, first)
