"""CIFAR-10, CelebA and ImageNet's folders, from small files of their own layout."""

import hashlib
import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from support.homes import here
from typer.testing import CliRunner

from workbench import datasets
from workbench.cli.commands import app
from workbench.datasets import celeba, cifar, download
from workbench.datasets.pictures import kept_pictures, picture
from workbench.errors import WorkbenchError

WriteDataset = Callable[[str, Path], object]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty `WORKBENCH_DATA`."""
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("WORKBENCH_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


# CIFAR-10


def test_cifar_s_planes_and_labels_by_hand(data: Path, write_dataset: WriteDataset) -> None:
    write_dataset("cifar-10", data)
    planes = np.repeat(np.array([1, 2, 3], np.uint8), 1024)
    planes[1] = 77  # red, first row, second pixel
    (data / "cifar-10" / "data_batch_2.bin").write_bytes(bytes([9]) + planes.tobytes())
    dataset = datasets.load("cifar-10")
    assert (len(dataset.train), len(dataset.held_out)) == (81, 20)
    assert dataset.train.labels is not None
    assert dataset.train.labels[20] == 9
    assert dataset.train.records[20, :, 0, 1].tolist() == [77, 2, 3]
    assert dataset.train.records[20, :, 1, 1].tolist() == [1, 2, 3]


def test_cifar_is_downloaded_once_and_unpacked(
    data: Path, write_dataset: WriteDataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_dataset("cifar-10", tmp_path / "mirror")
    archive = tmp_path / cifar.ARCHIVE
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(tmp_path / "mirror" / "cifar-10", "cifar-10-batches-bin")
    monkeypatch.setattr(cifar, "MIRRORS", (f"{tmp_path.as_uri()}/",))
    with pytest.raises(WorkbenchError, match="from a mirror, got neither"):
        datasets.load("cifar-10")
    monkeypatch.setattr(cifar, "MD5", hashlib.md5(archive.read_bytes()).hexdigest())
    first = datasets.load("cifar-10")
    monkeypatch.setattr(download, "download", None)
    np.testing.assert_array_equal(first.train.records, datasets.load("cifar-10").train.records)
    assert len(first.train) == datasets.facts("cifar-10").num_records == 100


def test_cifar_s_pickled_form_is_refused_in_one_sentence(data: Path) -> None:
    folder = data / "cifar-10-batches-py"
    folder.mkdir()
    (folder / "data_batch_1").write_bytes(b"never read")
    with pytest.raises(
        WorkbenchError, match=r"binary files .* got the pickled ones in .*cifar-10-batches-py, and unpickling can run any code"
    ):
        datasets.load("cifar-10")


@pytest.mark.parametrize(("content", "sentence"), [(bytes(3072), "records of 3073 bytes"), (bytes([10]) + bytes(3072), "labels 0 to 9")])
def test_damaged_files_of_cifar_are_refused(data: Path, write_dataset: WriteDataset, content: bytes, sentence: str) -> None:
    write_dataset("cifar-10", data)
    (data / "cifar-10" / "test_batch.bin").write_bytes(content)
    with pytest.raises(WorkbenchError, match=sentence):
        datasets.load("cifar-10")


# CelebA


def test_celeba_is_split_by_its_partition_file(data: Path, write_dataset: WriteDataset) -> None:
    write_dataset("celeba", data)
    parted, everyone = datasets.load("celeba"), datasets.load("celeba-all")
    assert (len(parted.train), len(parted.held_out)) == (8, 2)
    assert (len(everyone.train), len(everyone.held_out)) == (12, 0)
    reds = everyone.train.records[:, 0, 5, 5].astype(int)
    np.testing.assert_allclose(reds, np.arange(12) * 20, atol=3)
    np.testing.assert_array_equal(parted.train.records, everyone.train.records[:8])
    np.testing.assert_array_equal(parted.held_out.records, everyone.train.records[[9, 11]])


def test_attributes_of_celeba_by_hand(data: Path, write_dataset: WriteDataset) -> None:
    """Bit 1 of a record's number is black hair, bit 2 blond, bit 3 brown, bit 4 male, bit 5 smiling."""
    write_dataset("celeba", data)
    attributes = datasets.load("celeba-all").train.attributes
    assert [celeba.VALUES["hair"][value] for value in attributes["hair"]] == [
        *("other", "other", "black", "black", "blond", "blond", "other", "other", "brown", "brown", "other", "other")
    ]
    row = "000001.jpg -1 -1 -1 -1 1 1"
    path = data / "celeba" / celeba.ATTRIBUTES
    path.write_text("\n".join([*path.read_text().splitlines()[:2], row, *path.read_text().splitlines()[3:]]))
    attributes = datasets.load("celeba-all").train.attributes
    assert [celeba.VALUES[name][attributes[name][0]] for name in ("gender", "smile")] == ["male", "yes"]
    assert [celeba.VALUES[name][attributes[name][1]] for name in ("gender", "smile")] == ["female", "no"]
    labelled = datasets.load("celeba").labelled_by("hair")
    assert labelled.facts.classes == ("black", "blond", "brown", "other")


def test_celeba_by_hair_has_the_faces_of_one_of_three_colours(data: Path, write_dataset: WriteDataset) -> None:
    """How many there are, the attributes file alone tells: nothing is planned without it."""
    with pytest.raises(WorkbenchError, match="set WORKBENCH_DATA"):
        datasets.facts("celeba-hair")
    listed = json.loads(CliRunner().invoke(app, ["datasets", "--json"]).stdout)
    assert next(row["num_records"] for row in listed if row["name"] == "celeba-hair") is None
    write_dataset("celeba-hair", data)
    by_hair, every = datasets.load("celeba-hair"), datasets.load("celeba")
    assert by_hair.facts.classes == ("black", "blond", "brown")
    assert set(by_hair.facts.attributes) == set(by_hair.train.attributes) == {"gender", "smile"}
    hair = every.train.attributes["hair"]
    kept = hair < 3
    assert by_hair.facts.num_records == datasets.facts("celeba-hair").num_records == len(by_hair.train) == kept.sum() == 24
    np.testing.assert_array_equal(by_hair.train.labels, hair[kept])
    np.testing.assert_array_equal(by_hair.train.records, every.train.records[kept])
    np.testing.assert_array_equal(by_hair.train.attributes["smile"], every.train.attributes["smile"][kept])
    assert by_hair.held_out.labels is not None
    assert len(by_hair.held_out) == (every.held_out.attributes["hair"] < 3).sum() > 0


def test_celeba_is_asked_for_and_damage_is_told(data: Path, write_dataset: WriteDataset) -> None:
    with pytest.raises(WorkbenchError, match="not downloaded here: get it from them and set WORKBENCH_DATA"):
        datasets.load("celeba")
    assert datasets.facts("celeba").num_records == 162_770
    assert datasets.facts("celeba-all", (3, 32, 32)).num_records == 202_599
    write_dataset("celeba", data)
    attributes, partition = (data / "celeba" / name for name in (celeba.ATTRIBUTES, celeba.PARTITION))
    attributes.write_text("\n".join(attributes.read_text().splitlines()[:-1]))
    with pytest.raises(WorkbenchError, match=r"each 1 or -1, of 000012\.jpg"):
        datasets.load("celeba")
    partition.write_text("000001.jpg 0\n../../000002.jpg 0\n")
    with pytest.raises(WorkbenchError, match="0, 1 or 2 in line 2"):
        datasets.facts("celeba")


def test_32_pixels_are_the_mean_of_64(data: Path, write_dataset: WriteDataset) -> None:
    write_dataset("celeba", data)
    small, large = (datasets.load("celeba", (3, side, side)).train.records for side in (32, 64))
    np.testing.assert_array_equal(small, np.rint(large.reshape(-1, 3, 32, 2, 32, 2).astype(np.float32).mean(axis=(3, 5))))


# Pictures


def test_the_middle_of_a_picture_is_averaged(tmp_path: Path) -> None:
    pixels = np.zeros((4, 8, 3), np.uint8)
    pixels[:, 2:6] = [[[10] * 3, [20] * 3, [30] * 3, [40] * 3]]
    Image.fromarray(pixels).save(tmp_path / "wide.png")
    assert picture(tmp_path / "wide.png", (1, 1, 2)).tolist() == [[[8, 18]]]
    assert picture(tmp_path / "wide.png", (3, 2, 2))[0].tolist() == [[15, 35]] * 2


def test_pictures_are_decoded_once_and_mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "one.png"
    Image.new("RGB", (9, 9), (1, 2, 3)).save(file)
    first = kept_pictures([file], (3, 8, 8), tmp_path / "cache", "some")
    assert isinstance(first, np.memmap)
    assert first[0, :, 0, 0].tolist() == [1, 2, 3]
    monkeypatch.setattr("workbench.datasets.pictures.picture", None)
    np.testing.assert_array_equal(kept_pictures([file], (3, 8, 8), tmp_path / "cache", "some"), first)
    monkeypatch.undo()
    Image.new("RGB", (90, 90), (4, 5, 6)).save(file)
    assert kept_pictures([file], (3, 8, 8), tmp_path / "cache", "some")[0, :, 0, 0].tolist() == [4, 5, 6], "another file is read anew"
    file.write_bytes(b"no picture")
    with pytest.raises(WorkbenchError, match=r"Expected a picture in .*one\.png"):
        kept_pictures([file], (3, 8, 8), tmp_path / "cache", "some")
    assert len(list((tmp_path / "cache").iterdir())) == 2, "nothing of a failure is kept"


# ImageNet


def test_imagenet_is_public_and_read_at_any_size_and_number(data: Path, write_dataset: WriteDataset) -> None:
    with pytest.raises(WorkbenchError, match="set WORKBENCH_DATA to the folder above"):
        datasets.check_public("imagenet", (3, 32, 32), 10, here())
    write_dataset("imagenet", data)
    datasets.check_public("imagenet", (3, 32, 32), 12, here())
    with pytest.raises(WorkbenchError, match="1 to 12 public records, got 13"):
        datasets.check_public("imagenet", (3, 32, 32), 13, here())
    five = datasets.load_public("imagenet", (3, 16, 16), 5, seed=3)
    assert (five.facts.num_records, five.facts.is_public, five.train.records.shape) == (5, True, (5, 3, 16, 16))
    everything = datasets.load("imagenet")
    assert everything.facts.classes == ("n01440764", "n01443537", "n01484850")
    assert everything.train.labels is not None
    np.testing.assert_allclose(everything.train.records[:, 0, 3, 3], everything.train.labels * 100, atol=3)
    assert len(everything.held_out) == 6
