"""Records as pictures, or as rows of a table."""

import numpy as np
import pandas as pd
import streamlit as st
from PIL import Image

from workbench.datasets.base import DatasetFacts
from workbench.escaping import spreadsheet_cell
from workbench.records import Records


def picture(record: np.ndarray, pixels: int = 96) -> Image.Image:
    """A record (C, H, W) uint8 as an image at least `pixels` high, enlarged by whole factors with hard pixel edges."""
    channels = record[:3] if record.shape[0] >= 3 else record[:1]
    image = Image.fromarray(channels[0] if len(channels) == 1 else np.moveaxis(channels, 0, -1))
    factor = max(1, -(-pixels // image.height))
    return image.resize((image.width * factor, image.height * factor), Image.Resampling.NEAREST)


def sheet(records: np.ndarray, columns: int, pixels: int = 48) -> Image.Image:
    """Records (N, C, H, W) uint8 as one picture, `columns` in a row, a thin white line between them."""
    tiles = [picture(record, pixels) for record in records]
    width, height = tiles[0].size
    rows = -(-len(tiles) // columns)
    canvas = Image.new("RGB", (columns * (width + 2) - 2, rows * (height + 2) - 2), "white")
    for index, tile in enumerate(tiles):
        canvas.paste(tile.convert("RGB"), (index % columns * (width + 2), index // columns * (height + 2)))
    return canvas


def show_records(samples: Records, facts: DatasetFacts, alt: str, columns: int = 10, limit: int = 60, pixels: int = 48) -> None:
    """The first `limit` records: a sheet of pictures, or a table of rows for a dataset that is one."""
    if facts.kind.name == "image":
        st.image(sheet(samples.records[:limit], columns, pixels), alt=alt)
    else:
        st.dataframe(record_table(samples, facts, limit), hide_index=True, alt=alt)


def record_table(samples: Records, facts: DatasetFacts, limit: int) -> pd.DataFrame:
    """Rows of a table dataset with their class, a column per field."""
    rows = samples.records[:limit].reshape(len(samples.records[:limit]), -1)
    frame = pd.DataFrame(rows, columns=[f"column {index + 1}" for index in range(rows.shape[1])])
    if samples.labels is not None:
        frame.insert(0, "class", [spreadsheet_cell(class_name(facts, label)) for label in samples.labels[:limit]])
    return frame


def class_name(facts: DatasetFacts, label: int | np.integer) -> str:
    """The name of class `label`."""
    return facts.classes[int(label)] if facts.classes else str(int(label))
