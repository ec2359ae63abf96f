"""Samples made elsewhere: checked by the dataset they belong to, measured and judged like a run's, and never releasable."""

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.homes import here
from support.notes import read_notes
from support.tables import toy_table

from workbench.cli import main
from workbench.datasets import load
from workbench.datasets.reference import DatasetRef
from workbench.errors import WorkbenchError
from workbench.runs import finished
from workbench.runs.sample_files import write_records
from workbench.runs.samples import sample_set, sample_sets
from workbench.runs.samples.imported import import_samples, imports, read_samples

DIGITS = DatasetRef(name="digits")


def save(path: Path, **arrays: Any) -> Path:
    """An .npz of 20 images like digits, with what `arrays` replaces."""
    draw = np.random.default_rng(0)
    good: dict[str, Any] = {"images": draw.integers(0, 256, (20, 8, 8, 1), dtype=np.uint8), "labels": np.arange(20) % 10}
    np.savez(path, **{name: value for name, value in (good | arrays).items() if value is not None})
    return path


def test_an_import_is_kept_and_carries_no_epsilon(tmp_path: Path) -> None:
    file = save(tmp_path / "other.npz")
    imported = import_samples(here(), file, DIGITS, "a rival's")
    assert import_samples(here(), file, DIGITS, "a rival's").owner == imported.owner
    assert import_samples(here(), file, DIGITS).owner != imported.owner
    file.unlink()
    again = sample_set(here(), imported.owner)
    assert (again.bound, again.releasable, again.claim_only, again.default_num_samples) == (None, False, False, 20)
    assert [one.owner for one in sample_sets(here(), imported.owner)] == [imported.owner]
    assert {one.summary for one in imports(here())} == {"made elsewhere: a rival's", "made elsewhere: other"}
    records = again.records(12)
    assert (records.records.shape, records.labels is not None) == ((12, 1, 8, 8), True)
    notes = read_notes(again.file)
    assert (notes["bound"], notes["releasable"]) == (None, False)
    with pytest.raises(WorkbenchError, match="Expected 1 to 20 samples of a rival's, got 21"):
        again.records(21)
    with pytest.raises(WorkbenchError, match="which is one itself"):
        sample_set(here(), imported.owner, "0123abcd")


@pytest.mark.parametrize("written", [0, 1])
def test_an_import_onto_a_full_disk_is_one_sentence_and_not_listed_until_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], written: int
) -> None:
    file, replace = save(tmp_path / "other.npz"), os.replace
    bytes(here().key)

    def fill(*paths: Any) -> None:
        nonlocal written
        if not written:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written -= 1
        replace(*paths)

    with monkeypatch.context() as full:
        full.setattr(os, "replace", fill)
        with pytest.raises(SystemExit) as ended:
            main(["import", str(file), "--dataset", "digits"])
    assert ended.value.code == 1
    assert capsys.readouterr().err.endswith("A file could not be written: No space left on device. Free space and try again.\n")
    assert imports(here()) == []
    imported = import_samples(here(), file, DIGITS)
    assert [one.owner for one in imports(here())] == [imported.owner]
    assert len(imported.records()) == 20


def test_an_import_is_measured_and_searched_like_a_run_s_samples(tmp_path: Path) -> None:
    train = load("digits").train
    file = save(tmp_path / "copies.npz", images=train.records[:20].transpose(0, 2, 3, 1), labels=train.labels[:20])
    imported = import_samples(here(), file, DIGITS)
    measured = finished.evaluate_run(here(), imported.owner, metrics=["nearer_to_training", "inception_score"])
    values = {row["name"]: row for row in measured["results"]}
    assert measured["num_samples"] == 20
    assert not any(row["releasable"] for row in measured["results"])
    assert values["nearer_to_training"]["value"] > 0.5
    near = finished.neighbours_run(here(), imported.owner)
    assert near.distances[:, 0].max() == 0.0
    assert near.indices[:, 0].tolist() == list(range(20))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"images": None}, "Expected an array 'images'"),
        ({"labels": None}, "Expected an array 'labels'"),
        ({"images": np.zeros((20, 9, 9, 1), np.uint8)}, r"samples of shape \(1, 8, 8\), as digits has, in .*, got \(1, 9, 9\)"),
        ({"images": np.zeros((20, 64), np.uint8)}, "4 dimensions"),
        ({"images": np.zeros((20, 8, 8, 1), np.float32)}, "uint8, got float32"),
        ({"images": np.zeros((1, 8, 8, 1), np.uint8), "labels": np.zeros(1, int)}, "at least 2 samples"),
        ({"labels": np.arange(20)}, "[Ll]abels"),
        ({"labels": np.arange(19)}, "labels as 20 integers"),
        ({"labels": np.zeros(20)}, "labels as 20 integers"),
        ({"images": np.array([None] * 20)}, "never unpickled"),
    ],
)
def test_what_is_not_of_the_dataset_s_kind_is_refused(arrays: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(WorkbenchError, match=message):
        import_samples(here(), save(tmp_path / "bad.npz", **arrays), DIGITS)
    assert imports(here()) == []


@pytest.mark.parametrize("name", ["  ", "two\nlines", "x" * 101])
def test_a_name_is_a_line_of_a_hundred_characters_at_most(name: str, tmp_path: Path) -> None:
    with pytest.raises(WorkbenchError, match="Expected a name of 1 to 100 printable characters"):
        import_samples(here(), save(tmp_path / "some.npz"), DIGITS, name)
    assert imports(here()) == []
    assert import_samples(here(), save(tmp_path / f"{'x' * 200}.npz"), DIGITS).about.name == "x" * 100


def test_rows_of_a_table_are_checked_by_its_columns(tmp_path: Path) -> None:
    table = toy_table()
    write_records(table.held_out, tmp_path / "rows.npz", {}, table.facts)
    assert np.array_equal(read_samples(tmp_path / "rows.npz", table.facts).records, table.held_out.records)
    outside = table.held_out.records.copy()
    outside[0, 0] = 3
    np.savez(tmp_path / "outside.npz", rows=outside, labels=table.held_out.labels)
    with pytest.raises(WorkbenchError, match="Expected categories from 0 and below"):
        read_samples(tmp_path / "outside.npz", table.facts)
