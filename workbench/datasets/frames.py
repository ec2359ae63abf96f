"""Frames that Python has already, as rows of text: pandas', and those of any library that gives Arrow streams, as Polars and Arrow do."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Protocol

from workbench.datasets.naming import check_words
from workbench.datasets.row_files import Header, Row, text_of, texts_of
from workbench.errors import WorkbenchError

if TYPE_CHECKING:
    import pandas as pd


class ArrowStream(Protocol):
    """A frame of any library that gives its rows by Arrow's PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any:
        """A capsule of an ArrowArrayStream."""
        ...


def frame_rows(frame: "pd.DataFrame | ArrowStream") -> tuple[Header, Iterator[Row]]:
    """Names of the columns of a frame and its rows as text, one after another; nothing where a value is missing."""
    import pandas as pd
    import pyarrow as pa

    if isinstance(frame, pd.DataFrame):
        cells = [["" if gap else text_of(cell) for cell, gap in zip(frame[c], frame[c].isna(), strict=True)] for c in frame.columns]
        return check_words([str(column) for column in frame.columns], "columns' names"), iter(zip(*cells, strict=True))
    try:
        table = pa.table(frame) if hasattr(frame, "__arrow_c_stream__") else None
    except pa.ArrowInvalid:  # a single column
        table = None
    if table is None:
        raise WorkbenchError(
            f"Expected a frame of pandas, Polars or Arrow with its rows in memory, got {type(frame).__name__}. Make one of it first."
        )
    return check_words(table.column_names, "columns' names"), texts_of(table)
