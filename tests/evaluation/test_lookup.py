"""A picture and what is known of a row are found among the records; nobody is found in a null record."""

from dataclasses import replace
from io import BytesIO

import numpy as np
import pytest
from PIL import Image
from support.tables import toy_table

from workbench.datasets import load
from workbench.datasets.base import Dataset
from workbench.datasets.pictures import picture
from workbench.datasets.resize import resize
from workbench.errors import WorkbenchError
from workbench.evaluation import lookup
from workbench.evaluation.lookup import Match, declared_columns, like_picture, like_row
from workbench.models.table_columns import rows
from workbench.records import Records


def png(values: np.ndarray) -> bytes:
    """A picture (H, W) or (H, W, 3) as a file's content."""
    file = BytesIO()
    Image.fromarray(values).save(file, "PNG")
    return file.getvalue()


@pytest.mark.parametrize("side", ["training", "held-out"])
def test_a_picture_of_a_record_is_found_at_distance_0(side: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookup, "AT_ONCE", 10)
    digits = load("digits")
    records = digits.train if side == "training" else digits.held_out
    matches = like_picture(digits, png(records.records[17, 0]))
    assert (matches.nearest[0].side, matches.nearest[0].distance) == (side, 0.0)
    assert np.array_equal(records.records[matches.nearest[0].record], records.records[17])
    assert matches.equal >= 1
    assert [match.distance for match in matches.nearest] == sorted(match.distance for match in matches.nearest)


@pytest.mark.parametrize("is_cut", [False, True])
def test_a_file_is_found_in_whichever_way_it_was_read(is_cut: bool) -> None:
    """A wide photograph is stretched where folders are read, and cut where faces are."""
    wide = np.random.default_rng(0).integers(0, 256, (40, 100, 3), dtype=np.uint8)
    shape = (3, 16, 16)
    record = picture(BytesIO(png(wide)), shape) if is_cut else resize(np.moveaxis(wide, -1, 0)[None], shape)[0]
    digits = load("digits")
    others = np.zeros((5, *shape), dtype=np.uint8)
    dataset = Dataset(digits.facts.at_size(shape), Records(np.concatenate([others, record[None]])), Records(others))
    assert like_picture(dataset, png(wide)).nearest[0] == Match("training", 5, 0.0)


def test_what_is_no_picture_is_refused_without_its_content() -> None:
    with pytest.raises(WorkbenchError, match="Expected a picture"):
        like_picture(load("digits"), b"name,age\nAda,36\n")
    with pytest.raises(WorkbenchError, match="by column"):
        like_picture(toy_table(), png(np.zeros((8, 8), np.uint8)))


def test_a_row_is_found_by_what_is_known_of_it() -> None:
    table = toy_table()
    of_all = rows(table.facts, table.train)
    names = [column.column for column in declared_columns(table)]
    known = {column.name: column.categories[int(value)] for column, value in zip(names, of_all[3], strict=True)}
    matches = like_row(table, known, most=len(table.train) + len(table.held_out))
    assert Match("training", 3, 0.0) in matches.nearest[: matches.equal]
    assert Match("training", 2, float((of_all[2] != of_all[3]).sum())) in matches.nearest
    by_one = like_row(table, {names[0].name: known[names[0].name]})
    assert by_one.equal == sum(int((part.records[:, 0] == of_all[3, 0]).sum()) for part in (table.train, table.held_out))


def test_nobody_is_found_in_a_null_record() -> None:
    digits = load("digits")
    present = np.ones(len(digits.train), dtype=bool)
    present[17] = False
    without = Dataset(digits.facts, replace(digits.train, present=present), digits.held_out)
    matches = like_picture(without, png(digits.train.records[17, 0]))
    assert ("training", 17) not in [(match.side, match.record) for match in matches.nearest]


def test_unknown_columns_and_values_are_refused() -> None:
    table = toy_table()
    with pytest.raises(WorkbenchError, match="column"):
        like_row(table, {"shoe size": "44"})
    name = declared_columns(table)[0].name
    with pytest.raises(WorkbenchError, match=f"Unknown value of {name} 'no such value'. Choose one of: "):
        like_row(table, {name: "no such value"})
    with pytest.raises(WorkbenchError, match="at least one"):
        like_row(table, {})
    with pytest.raises(WorkbenchError, match="Give a picture"):
        like_row(load("digits"), {"age": "36"})
