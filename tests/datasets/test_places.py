"""The user's own files: nothing public follows from a record, folders tell all that is wrong, and nothing unpacks without a limit."""

import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from support.homes import here

from workbench import datasets
from workbench.errors import WorkbenchError

LIMIT = "WORKBENCH_MAX_UNPACKED_MIB"


def arrays(num: int = 24) -> dict[str, np.ndarray]:
    """Three classes of images whose first pixel is their number."""
    images = np.random.default_rng(0).integers(256, size=(num, 4, 4, 1), dtype=np.uint8)
    images[:, 0, 0, 0] = np.arange(num)
    return {"images": images, "labels": np.arange(num) % 3, "classes": np.array(["a", "b", "c"])}


def write(path: Path, **content: np.ndarray) -> Path:
    np.savez(path, **content)  # type: ignore[arg-type]
    return path


def put(path: Path, pixels: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels.astype(np.uint8)).save(path)


def where(dataset: datasets.Dataset) -> tuple[list[int], list[int]]:
    """The numbers of the training and of the held-out records, in order."""
    return dataset.train.records[:, 0, 0, 0].tolist(), dataset.held_out.records[:, 0, 0, 0].tolist()


@pytest.mark.parametrize("place", range(0, 24, 5))
def test_one_record_of_an_npz_decides_no_other_s_place(tmp_path: Path, place: int) -> None:
    content = arrays()
    before = datasets.load(write(tmp_path / "mine.npz", **content))
    for label in range(3):
        content["labels"][place] = label
        content["images"][place, 1:] = 7 * label
        after = datasets.load(write(tmp_path / "mine.npz", **content))
        assert (after.facts, where(after)) == (before.facts, where(before))


@pytest.mark.parametrize("number", range(0, 12, 3))
@pytest.mark.parametrize("repeated", [False, True])
def test_one_record_of_a_folder_decides_no_other_s_place(tmp_path: Path, number: int, repeated: bool) -> None:
    root = tmp_path / "mine"
    for position in range(12):
        name = position // 2 if repeated else position  # repeated: every file name is in two classes
        put(root / "abc"[position % 3] / f"{name:03}.png", np.full((4, 4), position))
    before = datasets.load(root)
    source = next(path for path in sorted(root.glob("*/*.png")) if np.asarray(Image.open(path))[0, 0] == number)
    target = next(root / name / source.name for name in "cba" if not (root / name / source.name).exists())
    source.rename(target)  # another class
    image = np.full((4, 4), 200)
    image[0, 0] = number  # another image, known by its first pixel
    put(target, image)
    after = datasets.load(root)
    assert after.facts == before.facts
    assert [sorted(side) for side in where(after)] == [sorted(side) for side in where(before)]


def test_classes_are_declared_and_not_found_in_labels(tmp_path: Path) -> None:
    content = arrays()
    del content["classes"]
    path = write(tmp_path / "mine.npz", **content)
    with pytest.raises(WorkbenchError, match="--classes 0,1,2"):
        datasets.facts(path)
    assert datasets.load(path, classes=("a", "b", "c", "none yet")).facts.classes == ("a", "b", "c", "none yet")
    with pytest.raises(WorkbenchError, match="labels 0 to 1 for the classes"):
        datasets.load(path, classes=("a", "b"))
    with pytest.raises(WorkbenchError, match="no other classes than those"):
        datasets.load(write(tmp_path / "named.npz", **arrays()), classes=("a", "b"))
    with pytest.raises(WorkbenchError, match="class names that differ"):
        datasets.load(path, classes=("a", "b", "b"))


def test_names_of_one_s_own_are_declared_and_never_a_registered_dataset_s(tmp_path: Path) -> None:
    path = write(tmp_path / "digits.npz", **arrays())
    assert datasets.facts(path).name == "own-digits"
    assert datasets.facts(path, name="clinic A").name == "clinic A"
    for name in ("digits", " a", "", "a\nb", "x" * 81):
        with pytest.raises(WorkbenchError, match=r"Expected a name of your own|Expected names of 1 to 80"):
            datasets.facts(path, name=name)
    with pytest.raises(WorkbenchError, match="under its own name"):
        datasets.load("digits", name="mine")


def test_accents_however_they_are_written_are_one_name(tmp_path: Path) -> None:
    apart = write(tmp_path / "cafe\u0301.npz", **arrays())  # as some file systems have it
    assert datasets.facts(apart).name == datasets.facts(apart, name="cafe\u0301").name == "caf\u00e9"


def test_links_within_the_folder_are_followed(tmp_path: Path) -> None:
    root = tmp_path / "mine"
    for number in range(6):
        put(root / "ab"[number % 2] / f"{number}.png", np.zeros((4, 4)))
    (root / "a" / "9.png").symlink_to("../b/1.png")
    (tmp_path / "link").symlink_to(root)
    dataset = datasets.load(tmp_path / "link")
    assert len(dataset.train) + len(dataset.held_out) == 7


def test_a_bad_folder_names_all_its_files_and_what_reads_them(tmp_path: Path) -> None:
    root = tmp_path / "mine"
    shapes = [(4, 5)] * 8 + [(5, 5), (4, 5, 3), (9, 2)]
    for number, shape in enumerate(shapes):
        put(root / "cat" / f"{number:02}.png", np.zeros(shape))
    for read in (datasets.facts, datasets.load):
        with pytest.raises(WorkbenchError, match=r"got 3 that differ: .*08.*09.*10.*--resize 1,4,5"):
            read(root)
    assert datasets.facts(root, (3, 6, 7)) == datasets.load(root, (3, 6, 7)).facts
    assert datasets.load(root, (3, 6, 7)).train.records.shape[1:] == (3, 6, 7)
    assert datasets.load(root, (1, 4, 5)).facts.num_records == 11 - 2
    for number in range(60):
        (root / "cat" / f"broken{number}.png").write_bytes(b"no image")
    with pytest.raises(WorkbenchError, match=r"got 60 that differ: .*broken0.*; and 10 more\."):
        datasets.load(root)


def test_a_folder_is_read_again_as_its_facts_say(tmp_path: Path) -> None:
    for number in range(6):
        put(tmp_path / "mine" / "cat" / f"{number}.png", np.random.default_rng(number).integers(256, size=(6, 6, 3)))
    dataset = datasets.load(tmp_path / "mine", (1, 3, 3), name="clinic A")
    again = datasets.load_as(str(tmp_path / "mine"), dataset.facts)
    assert (again.facts, again.fingerprint(here().key)) == (dataset.facts, dataset.fingerprint(here().key))


def squeezed(path: Path, shape: tuple[int, ...]) -> Path:
    """A file of zeros, small on the disk."""
    np.savez_compressed(path, images=np.zeros(shape, dtype=np.uint8), labels=np.zeros(shape[0], dtype=int), classes=np.array(["a"]))
    return path


def test_what_unpacks_to_too_much_is_refused_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = squeezed(tmp_path / "bomb.npz", (3, 10_000, 10_000, 1))
    assert path.stat().st_size < 500_000
    monkeypatch.setattr(np, "load", lambda *_arguments, **_options: pytest.fail("it was read"))
    for read in (datasets.facts, datasets.load):
        with pytest.raises(WorkbenchError, match=rf"at most 278 MiB, got 286 MiB.*{LIMIT}|at most 256 MiB, got 286 MiB.*{LIMIT}"):
            read(path)


@pytest.mark.parametrize(("setting", "sentence"), [("1", "at most 1 MiB, got 2 MiB"), ("much", "Expected a number of MiB")])
def test_the_limit_is_a_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, sentence: str) -> None:
    path = squeezed(tmp_path / "zeros.npz", (2, 1024, 1024, 1))
    assert len(datasets.load(path).train) == 1
    for number in range(2):
        put(tmp_path / "mine" / "cat" / f"{number}.png", np.zeros((1024, 1024)))
    monkeypatch.setenv(LIMIT, setting)
    for refused in (path, tmp_path / "mine"):
        with pytest.raises(WorkbenchError, match=sentence):
            datasets.load(refused)


def test_a_member_shorter_or_longer_than_its_header_says_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.npz", **arrays())
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["images.npy"] = members["images.npy"].replace(b"(24, 4, 4, 1)", b"(24, 4, 4, 9)")
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(WorkbenchError, match="where its header says"):
        datasets.load(path)
