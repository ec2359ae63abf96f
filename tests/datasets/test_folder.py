"""The user's own images: folders of class subfolders and `.npz` files, and every way they can be wrong."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from support.homes import here

from workbench import datasets
from workbench.errors import WorkbenchError


def write_images(root: Path, counts: dict[str, int], shape: tuple[int, ...] = (4, 5), suffix: str = ".png") -> None:
    """Random images whose first pixel is their number within the class."""
    rng = np.random.default_rng(0)
    for name, count in counts.items():
        (root / name).mkdir(parents=True)
        for number in range(count):
            pixels = rng.integers(256, size=shape, dtype=np.uint8)
            pixels[0, 0] = number
            Image.fromarray(pixels).save(root / name / f"{number:03}{suffix}")


def arrays(num: int = 24, side: int = 4, channels: int = 1, classes: int = 2) -> dict[str, np.ndarray]:
    """Contents of a valid file."""
    images = np.random.default_rng(0).integers(256, size=(num, side, side, channels), dtype=np.uint8)
    names = np.array([str(name) for name in range(classes)])
    return {"images": images, "labels": np.arange(num) % classes, "classes": names}


def write(path: Path, **content: np.ndarray) -> Path:
    np.savez(path, **content)  # type: ignore[arg-type]
    return path


@pytest.mark.parametrize(("shape", "expected"), [((4, 5), (1, 4, 5)), ((4, 5, 3), (3, 4, 5))])
def test_folder_of_png(tmp_path: Path, shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    write_images(tmp_path / "mine", {"cat": 12, "ape": 7}, shape)
    dataset = datasets.load(str(tmp_path / "mine"))
    assert dataset.facts.model_dump(include={"name", "classes", "kind", "num_records"}) == {
        "name": "mine",
        "classes": ("ape", "cat"),
        "kind": {"name": "image", "size": expected},
        "num_records": 6 + 10,
    }
    assert datasets.facts(tmp_path / "mine") == dataset.facts
    assert dataset.train.labels is not None
    assert len(dataset.train) + len(dataset.held_out) == 19
    assert dataset.train.records.shape == (16, *expected)


def test_images_alone_have_no_class(tmp_path: Path) -> None:
    write_images(tmp_path, {"mine": 12})
    (tmp_path / "mine" / "notes.txt").write_text("no image")
    dataset = datasets.load(tmp_path / "mine")
    assert dataset.facts == datasets.facts(tmp_path / "mine")
    assert (dataset.facts.classes, dataset.train.labels, dataset.held_out.labels) == ((), None, None)
    assert (len(dataset.train), len(dataset.held_out)) == (10, 2)
    with pytest.raises(WorkbenchError, match="Expected subfolders of images"):
        datasets.facts(tmp_path / "mine", classes=("cat", "dog"))


def test_a_link_among_images_alone_is_refused(tmp_path: Path) -> None:
    write_images(tmp_path, {"mine": 3, "elsewhere": 1})
    (tmp_path / "mine" / "009.png").symlink_to(tmp_path / "elsewhere" / "000.png")
    with pytest.raises(WorkbenchError, match=r"no symbolic link that leads out .* 009.png leads to .*elsewhere/000.png"):
        datasets.facts(tmp_path / "mine")


def test_every_image_is_on_one_side_of_the_split(tmp_path: Path) -> None:
    write_images(tmp_path / "mine", {"cat": 20})
    dataset, other = datasets.load(tmp_path / "mine"), datasets.load(tmp_path / "mine", seed=1)
    numbers = np.concatenate([dataset.train.records[:, 0, 0, 0], dataset.held_out.records[:, 0, 0, 0]])
    np.testing.assert_array_equal(np.sort(numbers), np.arange(20))
    assert dataset.fingerprint(here().key) == datasets.load(tmp_path / "mine").fingerprint(here().key) != other.fingerprint(here().key)


def test_pixels_are_the_files(tmp_path: Path) -> None:
    write_images(tmp_path / "mine", {"cat": 6}, (4, 5, 3))
    dataset = datasets.load(tmp_path / "mine")
    for image in dataset.train.records:
        original = np.asarray(Image.open(tmp_path / "mine" / "cat" / f"{image[0, 0, 0]:03}.png"))
        np.testing.assert_array_equal(image, original.transpose(2, 0, 1))


@pytest.mark.parametrize("suffix", [".jpg", ".bmp", ".webp", ".PNG"])
def test_other_formats(tmp_path: Path, suffix: str) -> None:
    write_images(tmp_path / "mine", {"cat": 3}, (4, 5, 3), suffix)
    assert datasets.load(tmp_path / "mine").train.records.shape == (2, 3, 4, 5)


def nothing(root: Path) -> None:
    (root / "cat").mkdir()
    (root / "cat" / "notes.txt").write_text("no image")


def mixed_sizes(root: Path) -> None:
    write_images(root, {"cat": 3})
    write_images(root, {"dog": 3}, (5, 5))


def mixed_modes(root: Path) -> None:
    write_images(root, {"cat": 3})
    write_images(root, {"dog": 3}, (4, 5, 3))


def unreadable(root: Path) -> None:
    write_images(root, {"cat": 3})
    (root / "cat" / "002.png").write_bytes(b"not an image")


def cut_off(root: Path) -> None:
    write_images(root, {"cat": 3}, (40, 50))
    path = root / "cat" / "002.png"
    path.write_bytes(path.read_bytes()[:200])


def transparent(root: Path) -> None:
    write_images(root, {"cat": 3}, (4, 5, 4))


def lonely(root: Path) -> None:
    write_images(root, {"cat": 1, "dog": 1})


def one_class_without_images(root: Path) -> None:
    write_images(root, {"cat": 3, "dog": 0})


def link_to_a_file_elsewhere(root: Path) -> None:
    write_images(root, {"cat": 3})
    write_images(root.parent / "elsewhere", {"cat": 1})
    (root / "cat" / "009.png").symlink_to(root.parent / "elsewhere" / "cat" / "000.png")


def link_to_a_folder_elsewhere(root: Path) -> None:
    write_images(root, {"cat": 3})
    write_images(root.parent / "elsewhere", {"dog": 3})
    (root / "dog").symlink_to("../elsewhere/dog")


def pipe(root: Path) -> None:
    write_images(root, {"cat": 3})
    os.mkfifo(root / "cat" / "009.png")


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (nothing, "Expected subfolders of images"),
        (mixed_sizes, "Expected images of one size"),
        (mixed_modes, "Expected images of one size"),
        (unreadable, "Expected readable images"),
        (cut_off, "Expected readable images"),
        (transparent, "has mode RGBA"),
        (lonely, "at least 2 images of different file names in .* got 1"),
        (one_class_without_images, "images in every subfolder.* got 1 that differ: dog"),
        (link_to_a_file_elsewhere, "no symbolic link that leads out .* cat/009.png leads to .*elsewhere/cat/000.png"),
        (link_to_a_folder_elsewhere, "no symbolic link that leads out .* dog leads to .*elsewhere/dog"),
        (pipe, "cat/009.png is no file"),
    ],
)
def test_folders_that_are_refused(tmp_path: Path, make: Callable[[Path], None], sentence: str) -> None:
    root = tmp_path / "mine"
    root.mkdir()
    make(root)
    with pytest.raises(WorkbenchError, match=sentence):
        datasets.load(root)


@pytest.mark.parametrize("channels", [1, 3])
def test_npz(tmp_path: Path, channels: int) -> None:
    content = arrays(channels=channels)
    dataset = datasets.load(str(write(tmp_path / "mine.npz", **content)))
    assert datasets.facts(tmp_path / "mine.npz") == dataset.facts
    assert (dataset.facts.name, dataset.facts.num_records, dataset.facts.classes) == ("mine", 20, ("0", "1"))
    rows = {image.tobytes() for image in content["images"].transpose(0, 3, 1, 2)}
    kept = [image.tobytes() for image in (*dataset.train.records, *dataset.held_out.records)]
    assert sorted(kept) == sorted(rows)


@pytest.mark.parametrize("kind", [np.int8, np.uint64])
def test_npz_with_held_out_records_and_any_integer_type(tmp_path: Path, kind: type) -> None:
    content = arrays(classes=3)
    content["labels"] = content["labels"].astype(kind)
    own = {"held_out_images": content["images"][:5], "held_out_labels": np.array([0, 1, 0, 2, 2], dtype=np.int16)}
    dataset = datasets.load(write(tmp_path / "mine.npz", **content, **own))
    assert dataset.held_out.labels is not None
    assert dataset.held_out.labels.tolist() == [0, 1, 0, 2, 2]
    assert (len(dataset.train), dataset.facts.num_records) == (24, 24)


def test_npz_with_class_names(tmp_path: Path) -> None:
    facts = datasets.facts(write(tmp_path / "mine.npz", **{**arrays(), "classes": np.array(["ape", "cat"])}))
    assert facts.classes == ("ape", "cat")


class Trap:
    """Would leave a trace if it were ever unpickled."""

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return Path("opened").mkdir, ()  # type: ignore[return-value]


@pytest.mark.parametrize("name", ["images", "labels", "classes"])
def test_objects_are_never_unpickled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path / "mine.npz", **{**arrays(), name: np.array([Trap()], dtype=object)})
    for read in (datasets.facts, datasets.load):
        with pytest.raises(WorkbenchError, match=f"got objects in {name}, which are never unpickled"):
            read(path)
    assert not (tmp_path / "opened").exists()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"labels": np.zeros(23, dtype=int)}, "labels as 24 integers"),
        ({"labels": np.zeros(24)}, "labels as 24 integers in .* got float64"),
        ({"images": np.zeros((24, 4, 4, 1))}, "Expected images uint8 .* got float64"),
        ({"images": np.zeros((24, 4, 4), dtype=np.uint8)}, "Expected images uint8"),
        ({"images": np.zeros((24, 4, 4, 2), dtype=np.uint8)}, "C 1 or 3"),
        ({"images": np.zeros((0, 4, 4, 1), dtype=np.uint8), "labels": np.zeros(0, dtype=int)}, "Expected images uint8"),
        ({"labels": np.arange(24)}, "Expected labels 0 to 1 for the classes .* got 0 to 23"),
        ({"labels": np.arange(24) - 1}, "Expected labels 0 to 1 for the classes .* got -1 to 22"),
        ({"labels": np.full(24, 2**64 - 1, dtype=np.uint64)}, "got 18446744073709551615 to 18446744073709551615"),
        ({"labels": np.array([0, 2**63] * 12, dtype=np.uint64)}, "got 0 to 9223372036854775808"),
        ({"classes": np.array("one")}, "classes as a list of names"),
        ({"images": np.zeros((1, 4, 4, 1), dtype=np.uint8), "labels": np.zeros(1, dtype=int)}, "at least 2 records"),
        ({"classes": np.array(["one"])}, "Expected labels 0 to 0 for the classes"),
        ({"held_out_images": np.zeros((2, 4, 4, 1), dtype=np.uint8)}, "Expected an array 'held_out_labels'"),
        (
            {"held_out_images": np.zeros((2, 5, 4, 1), dtype=np.uint8), "held_out_labels": np.zeros(2, dtype=int)},
            "Expected held_out_images of",
        ),
    ],
)
def test_npz_that_is_refused(tmp_path: Path, change: dict[str, np.ndarray], sentence: str) -> None:
    path = write(tmp_path / "mine.npz", **{**arrays(), **change})
    with pytest.raises(WorkbenchError, match=sentence):
        datasets.load(path)


def test_npz_without_images(tmp_path: Path) -> None:
    with pytest.raises(WorkbenchError, match=r"Expected an array 'images' in .* got labels"):
        datasets.facts(write(tmp_path / "mine.npz", labels=np.zeros(3, dtype=int)))


@pytest.mark.parametrize("size", [0, 50, 400])
def test_npz_that_is_damaged(tmp_path: Path, size: int) -> None:
    path = write(tmp_path / "mine.npz", **arrays())
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(WorkbenchError, match="cannot be read"):
        datasets.load(path)


def test_npz_whose_pixels_are_damaged(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.npz", **arrays(side=64))
    content = bytearray(path.read_bytes())
    content[content.index(arrays(side=64)["images"].tobytes()[-64:])] ^= 255
    path.write_bytes(content)
    with pytest.raises(WorkbenchError, match="damaged file"):
        datasets.load(path)


@pytest.mark.parametrize("path", ["nowhere/at/all", "missing.npz"])
def test_nothing_there(path: str) -> None:
    with pytest.raises(WorkbenchError, match=f"{re.escape(path)}, found nothing"):
        datasets.facts(path)


def test_another_file(tmp_path: Path) -> None:
    (tmp_path / "mine.tsv").write_text("1\t2")
    with pytest.raises(WorkbenchError, match="found another file"):
        datasets.load(tmp_path / "mine.tsv")
