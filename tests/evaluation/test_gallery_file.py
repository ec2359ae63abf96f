"""The gallery file: self-contained, in order of suspicion, honest about what it shows."""

import base64
import io
import re

import numpy as np
import pytest
from PIL import Image
from support.homes import here

from workbench.datasets.base import Dataset
from workbench.errors import WorkbenchError
from workbench.evaluation import OUTSIDE_GUARANTEE, feature_space, find_neighbours, neighbours_html
from workbench.records import Records
from workbench.records.images import png_data_uri


def decoded(uri: str) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(uri.split(",")[1]))))


def test_the_page_shows_copies_first_and_loads_nothing(small_digits: Dataset, fresh: Records) -> None:
    copy = small_digits.train.take(slice(7, 8))
    samples = fresh.take(slice(0, 4)).followed_by(copy)
    neighbours = find_neighbours(samples, small_digits, feature_space("pixels", small_digits, workspace=here()), k=2)
    page = neighbours_html(samples, small_digits, neighbours, title="Run <1>", limit=3, cautions=["Much <like> it."])
    assert OUTSIDE_GUARANTEE in page
    assert "Run &lt;1&gt;" in page
    assert "Much &lt;like&gt; it." in page
    assert "3 of 5 samples" in page
    sources = re.findall(r'src="([^"]+)"', page)
    assert len(sources) == 3 * (1 + 2 + 1)
    assert all(source.startswith("data:image/png;base64,") for source in sources)
    assert "http" not in page
    np.testing.assert_array_equal(decoded(sources[0]), copy.records[0, 0])
    assert sources[0] == sources[1]
    suspicions = [float(value) for value in re.findall(r"<td>(\d\.\d{3})</td>", page)]
    assert suspicions == sorted(suspicions, reverse=True)
    assert suspicions[0] == 1.0


def test_colour_images_keep_their_channels() -> None:
    image = np.random.default_rng(0).integers(0, 256, (3, 4, 5), dtype=np.uint8)
    np.testing.assert_array_equal(decoded(png_data_uri(image)), np.moveaxis(image, 0, -1))


def test_table_rows_are_text(table: Dataset) -> None:
    samples = table.held_out.take(slice(3))
    page = neighbours_html(samples, table, find_neighbours(samples, table, feature_space("pixels", table, workspace=here()), k=1))
    assert "<img" not in page
    assert f"<code>{', '.join(map(str, samples.records[0].tolist()))}</code>" in page


def test_neighbours_of_other_samples_are_refused(table: Dataset) -> None:
    neighbours = find_neighbours(table.held_out.take(slice(3)), table, feature_space("pixels", table, workspace=here()), k=1)
    with pytest.raises(WorkbenchError, match="these 2 samples"):
        neighbours_html(table.held_out.take(slice(2)), table, neighbours)
