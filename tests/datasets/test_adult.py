"""Adult: rows as published and no others, a declaration that fits all of them, and a reason where the files are not."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support.homes import here

from workbench import datasets
from workbench.errors import WorkbenchError
from workbench.records import TableKind


def test_facts_come_before_any_file_and_what_is_missing_is_said() -> None:
    known = datasets.facts("adult")
    assert (known.num_records, known.dimensions, known.classes) == (32_561, 12, ("<=50K", ">50K"))
    with pytest.raises(WorkbenchError, match=r"Expected adult\.data and adult\.test in .*adult, got none or one of them"):
        datasets.load("adult")


def test_rows_are_read_without_comment_full_stop_and_question_marks(write_dataset: Callable[[str, Path], object]) -> None:
    write_dataset("adult", here().data)
    dataset = datasets.load("adult")
    assert (len(dataset.train), len(dataset.held_out)) == (30, 10)
    columns = TableKind.of(dataset.facts.kind).columns
    row = {column.name: column.categories[number] for column, number in zip(columns, dataset.held_out.records[0], strict=True)}
    assert (row["age"], row["workclass"], row["capital-gain"], row["hours-per-week"]) == ("[20, 25)", "unknown", "[0, 1)", "[40, 41)")
    assert (row["education"], row["native-country"]) == ("Bachelors", "unknown")
    assert dataset.held_out.labels is not None
    assert dataset.held_out.labels.tolist() == [1, 0, 0, 0, 1, 0, 0, 0, 1, 0]


def test_rows_that_were_not_published_are_refused(write_dataset: Callable[[str, Path], object]) -> None:
    write_dataset("adult", here().data)
    path = here().data / "adult" / "adult.data"
    path.write_text(path.read_text().replace("20, ?", "21, ?", 1))
    with pytest.raises(WorkbenchError, match=r"Expected the 30 published rows in .*adult\.data, got 30 of SHA-256"):
        datasets.load("adult")
