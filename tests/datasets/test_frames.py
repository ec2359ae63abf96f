"""Frames of pandas, Polars and Arrow: read, and proposed from, as the file that they were read from."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from workbench import datasets, experiment
from workbench.datasets.declaration import DeclaredColumn, TableDeclaration
from workbench.datasets.proposal import proposal
from workbench.errors import WorkbenchError

DECLARED = TableDeclaration(
    columns=(
        DeclaredColumn(name="Größe", edges=(0, 18, 65, 120), missing="unknown"),
        DeclaredColumn(name="colour", categories=("red", "blue"), other="another", missing="unknown"),
        DeclaredColumn(name="ill", categories=("no", "yes")),
    ),
    target="ill",
)


@dataclass
class Capsule:
    """A frame of another library, which gives no more than Arrow's PyCapsule interface."""

    table: pa.Table

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


def people(folder: Path) -> Path:
    """A file of 90 rows, in which sizes and colours are missing at times."""
    lines = ["Größe,colour,ill"]
    sizes = ("", "17", "18", "64.5", "200")
    lines += [f"{sizes[row % 5]},{('red', 'blue', 'mauve', '')[row % 4]},{('no', 'yes')[row % 2]}" for row in range(90)]
    path = folder / "people.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def check(given: Any, path: Path) -> None:
    """The same records and the same proposal as of the file."""
    expected = datasets.load(path, name="people", declared=DECLARED)
    loaded = datasets.load_frame(given, DECLARED, "people")
    assert loaded.facts == expected.facts
    assert loaded.train.labels is not None
    assert expected.train.labels is not None
    assert np.array_equal(loaded.train.records, expected.train.records)
    assert np.array_equal(loaded.train.labels, expected.train.labels)
    assert proposal(given, "ill") == proposal(path, "ill")


def test_frames_of_pandas_and_arrow_read_as_the_file_does(tmp_path: Path) -> None:
    frame = pd.read_csv(path := people(tmp_path))
    table = pa.Table.from_pandas(frame)
    place = table.column_names.index("colour")
    coded = table.set_column(place, "colour", table["colour"].dictionary_encode())
    for given in (frame, table, table.to_batches()[0], Capsule(table), Capsule(coded)):
        check(given, path)
    streamed = datasets.load_frame(table.to_reader(), DECLARED, "people")
    assert np.array_equal(streamed.train.records, datasets.load_frame(frame, DECLARED, "people").train.records), "read once"


def test_frames_of_polars_read_as_the_file_does(tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.read_csv(path := people(tmp_path))
    check(frame, path)
    check(polars.concat([frame[:40], frame[40:]], rechunk=False), path)
    check(frame.with_columns(polars.col("colour").cast(polars.Categorical), polars.col("ill").cast(polars.Enum(["no", "yes"]))), path)
    with pytest.raises(WorkbenchError, match="got LazyFrame"):
        datasets.load_frame(frame.lazy(), DECLARED, "people")
    with pytest.raises(WorkbenchError, match="got Series"):
        datasets.load_frame(frame["colour"], DECLARED, "people")


def test_a_frame_is_planned_fitted_and_drawn_from(tmp_path: Path) -> None:
    dataset = datasets.load_frame(pa.Table.from_pandas(pd.read_csv(people(tmp_path))), DECLARED, "people")
    plan = experiment.make_plan("mst", dataset.facts, epsilon=1.0)
    state = experiment.new_state(plan, seed=0)
    for _ in experiment.fit(plan, dataset, state):
        pass
    assert experiment.sample(plan, state, 40).records.shape == (40, 2)


def test_what_is_no_frame_or_has_a_registered_name_is_refused(tmp_path: Path) -> None:
    for given in ({"a": [1]}, pa.array([1]), 3):
        with pytest.raises(WorkbenchError, match="Expected a frame of pandas, Polars or Arrow"):
            datasets.load_frame(given, DECLARED, "people")  # pyright: ignore[reportArgumentType]
    with pytest.raises(WorkbenchError, match="which is a registered dataset's"):
        datasets.load_frame(pd.read_csv(people(tmp_path)), DECLARED, "digits")
