"""Files of one's own and damaged ones on the pages and the command line: the same name, size and classes everywhere, and sentences."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from streamlit.testing.v1 import AppTest

from workbench.cli import main

OpenPage = Callable[..., AppTest]


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A file without class names."""
    images = np.random.default_rng(0).integers(256, size=(60, 8, 8, 1), dtype=np.uint8)
    np.savez(tmp_path / "scans.npz", images=images, labels=np.arange(60) % 2)
    return str(tmp_path / "scans.npz")


def test_a_page_asks_for_the_classes_and_reads_as_its_fields_say(open_page: OpenPage, path: str) -> None:
    assert "--classes 0,1" in open_page("train", train_dataset=path).error[0].value
    fields = {"train_dataset_classes": "a,b", "train_dataset_resize": "1,6,6", "train_dataset_name": "clinic A"}
    app = open_page("train", train_dataset=path, train_method="dp-merf", **fields)
    assert [error.value for error in app.error] == []
    assert any("guarantee starts after this split" in caption.value and "position" in caption.value for caption in app.caption)
    refused = open_page("train", train_dataset=path, **fields | {"train_dataset_resize": "6x6"})
    assert "Expected a shape C,H,W" in refused.error[0].value


def test_a_page_says_of_a_folder_where_the_guarantee_starts(open_page: OpenPage, tmp_path: Path) -> None:
    for number in range(12):
        folder = tmp_path / "scans" / "ab"[number % 2]
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.zeros((8, 8), np.uint8)).save(folder / f"{number}.png")
    app = open_page("budget", budget_dataset=str(tmp_path / "scans"), budget_method="dp-merf")
    (statement,) = [caption.value for caption in app.caption if "guarantee starts after this split" in caption.value]
    assert "a file's name decides" in statement
    assert "taken to be public" in statement


@pytest.mark.parametrize("page", ["runs", "train", "gallery"])
def test_a_damaged_registry_is_a_sentence_on_every_page(open_page: OpenPage, home_with_runs: Path, page: str) -> None:
    for suffix in ("-wal", "-shm"):
        (home_with_runs / f"runs.sqlite{suffix}").unlink(missing_ok=True)
    (home_with_runs / "runs.sqlite").write_bytes(bytes(range(256)) * 40)
    app = open_page(page)
    assert any("runs.sqlite, got a damaged one" in error.value for error in app.error)


def test_the_command_line_takes_name_size_and_classes(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    reading = ("--name", "clinic A", "--resize", "1,6,6", "--classes", "a,b")
    with pytest.raises(SystemExit) as ended:
        main(["plan", "dp-merf", "--dataset", path, *reading, "--epsilon", "5", "--json"])
    facts = json.loads(capsys.readouterr().out)["facts"]
    assert ended.value.code in (0, None)
    assert (facts["name"], facts["classes"], facts["num_records"]) == ("clinic A", ["a", "b"], 50)
    assert facts["kind"] == {"name": "image", "size": [1, 6, 6]}
