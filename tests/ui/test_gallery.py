"""Pictures and tables of records."""

import numpy as np

from workbench.datasets import DatasetFacts
from workbench.records import Records, TableKind
from workbench.ui.gallery import picture, record_table, sheet


def test_a_picture_is_enlarged_by_a_whole_factor_with_hard_edges() -> None:
    record = np.zeros((1, 8, 8), np.uint8)
    record[0, 2, 5] = 255
    image = np.asarray(picture(record, 96))
    assert image.shape == (96, 96)
    assert (image[24:36, 60:72] == 255).all()
    assert image.sum() == 255 * 144


def test_a_colour_picture_keeps_its_channels() -> None:
    record = np.zeros((3, 32, 32), np.uint8)
    record[1] = 200
    assert np.asarray(picture(record, 32)).shape == (32, 32, 3)
    assert np.asarray(picture(record, 32))[0, 0].tolist() == [0, 200, 0]


def test_a_sheet_has_every_record_in_its_place() -> None:
    records = np.stack([np.full((1, 8, 8), value, np.uint8) for value in (10, 20, 30)])
    canvas = np.asarray(sheet(records, columns=2, pixels=8))
    assert canvas.shape == (18, 18, 3)
    assert (canvas[0, 0, 0], canvas[0, 10, 0], canvas[10, 0, 0], canvas[10, 10, 0]) == (10, 20, 30, 255)


def test_rows_of_a_table_carry_their_class() -> None:
    facts = DatasetFacts(name="t", kind=TableKind.of_sizes((3, 2)), num_records=4, classes=("a", "b"))
    frame = record_table(Records(np.array([[0, 1], [2, 0]]), np.array([1, 0])), facts, limit=2)
    assert frame.to_dict("list") == {"class": ["b", "a"], "column 1": [0, 2], "column 2": [1, 0]}
