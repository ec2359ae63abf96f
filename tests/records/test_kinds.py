"""Every kind of record checks, draws, compares, shows and keeps its records."""

import io

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from pydantic import TypeAdapter, ValidationError
from support.tables import unnamed_columns

from workbench.errors import WorkbenchError
from workbench.evaluation import FEATURES, METRICS
from workbench.methods import METHODS
from workbench.records import KINDS, Column, ImageKind, Kind, RecordKind, Records, TableKind

PEOPLE = TableKind(columns=(Column(name="colour", categories=("red", "=1+1")), Column.of_ranges("age", (0, 18, 65, 120))))
EXAMPLES: list[RecordKind] = [ImageKind(size=(1, 8, 6)), ImageKind(size=(3, 5, 5)), PEOPLE, unnamed_columns((3, 2, 4))]

every_kind = pytest.mark.parametrize("kind", EXAMPLES, ids=["grey", "colour", "people", "sizes"])


def drawn(kind: RecordKind, count: int = 12) -> np.ndarray:
    """Records of the kind."""
    return kind.draw(count, np.random.default_rng(0))


def test_every_kind_is_registered_under_its_name_and_has_an_example() -> None:
    assert {name: kind.model_fields["name"].default for name, kind in KINDS.items()} == {name: name for name in KINDS}
    assert {type(kind) for kind in EXAMPLES} == set(KINDS.values())
    assert len({kind.array_name for kind in KINDS.values()}) == len({kind.preview_file for kind in KINDS.values()}) == len(KINDS)


def test_methods_measures_and_features_name_kinds_that_there_are() -> None:
    named = [entry.kinds for registry in (METHODS, METRICS, FEATURES) for entry in registry.values()]
    assert set().union(*named) <= set(KINDS)


@every_kind
def test_contract_of_every_kind(kind: RecordKind) -> None:
    records = drawn(kind)
    assert records.shape == (12, *kind.shape)
    assert np.array_equal(records, drawn(kind))
    assert kind.complaint(records) == ""
    assert kind.dimensions == records[0].size
    assert "float" in kind.complaint(records.astype(np.float32))
    features = kind.features(records)
    assert features.dtype == np.float32
    assert features.min() >= 0
    assert features.max() <= 1
    assert len(np.unique(features, axis=0)) == len(np.unique(records.reshape(12, -1), axis=0))
    assert np.array_equal(type(kind).from_arrays(kind.to_arrays(records)), records)
    assert kind.preview(Records(records), ())
    assert "<b>&amp;</b>" in kind.html(records[0], "<b>&amp;</b>")
    for left_out in (False, True):
        assert TypeAdapter(Kind).validate_json(kind.model_dump_json(exclude_defaults=left_out)) == kind
    assert type(kind).of(kind) is kind


def test_what_takes_one_kind_refuses_another() -> None:
    with pytest.raises(WorkbenchError, match="Expected rows of a table, got images"):
        TableKind.of(EXAMPLES[0])


def test_a_draw_reaches_every_pixel_value_and_every_category() -> None:
    assert set(drawn(ImageKind(size=(1, 40, 40))).ravel()) == set(range(256))
    assert [set(column) for column in drawn(unnamed_columns((3, 2, 4)), 99).T] == [{0, 1, 2}, {0, 1}, {0, 1, 2, 3}]


@pytest.mark.parametrize("row", [[2, 0], [0, 3], [-1, 0]])
def test_categories_that_were_not_declared_are_refused(row: list[int]) -> None:
    assert "per column" in PEOPLE.complaint(np.array([[0, 0], row]))
    with pytest.raises(WorkbenchError, match="per column"):
        PEOPLE.features(np.array([row]))
    assert PEOPLE.complaint(np.array([[1, 2], [0, 0]])) == ""


def test_features_are_pixels_over_255_and_ones_at_the_categories() -> None:
    assert ImageKind(size=(1, 1, 2)).features(np.array([[[[0, 51]]]], np.uint8)).tolist() == [[0.0, pytest.approx(0.2)]]
    assert PEOPLE.features(np.array([[1, 0], [0, 2]])).tolist() == [[0, 1, 1, 0, 0], [1, 0, 0, 0, 1]]


def test_a_preview_of_images_is_a_picture_of_all_in_their_places() -> None:
    images = np.stack([np.full((1, 8, 8), value, np.uint8) for value in range(1, 12)])
    picture = np.asarray(Image.open(io.BytesIO(ImageKind(size=(1, 8, 8)).preview(Records(images), ()))))
    assert picture.shape == (2 * 9 * 8, 10 * 9 * 8)
    assert [picture[0, 72 * place] for place in range(10)] == list(range(1, 11))
    assert (picture[72, 0], picture[72, 72]) == (11, 255)


def test_a_preview_of_a_table_has_every_row_under_the_names_of_its_columns() -> None:
    rows = Records(np.array([[0, 2], [1, 0], [1, 1]]), np.array([1, 0, 1]))
    frame = pd.read_csv(io.BytesIO(PEOPLE.preview(rows, ("no", "yes"))))
    expected = {"class": ["yes", "no", "yes"], "colour": ["red", "'=1+1", "'=1+1"], "age": ["[65, 120]", "[0, 18)", "[18, 65)"]}
    assert frame.to_dict("list") == expected
    assert list(pd.read_csv(io.BytesIO(PEOPLE.preview(Records(rows.records), ("no", "yes"))))) == ["colour", "age"]


NAMES = [(("a", "b", "a"), "a again"), (("a", "class"), "class again"), ((), "at least 1 item"), (("",), "at least 1 char")]


@pytest.mark.parametrize(("names", "sentence"), NAMES)
def test_columns_have_names_of_their_own(names: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence):
        TableKind(columns=tuple(Column(name=name, categories=("x",)) for name in names))


@pytest.mark.parametrize("edges", [(0,), (0, 1, 1), (0, 2, 1), (0, 1, 2, 3)])
def test_edges_enclose_their_categories_in_order(edges: tuple[float, ...]) -> None:
    with pytest.raises(ValidationError, match="rising edges"):
        Column(name="age", categories=("young", "old"), edges=edges)
    assert Column(name="age", categories=("[0, 1]", "unknown"), edges=(0, 1)).num_ranges == 1
    assert Column.of_ranges("age", (0, 1.5, 2)).categories == ("[0, 1.5)", "[1.5, 2]")
    with pytest.raises(WorkbenchError, match="at least 2 edges"):
        Column.of_ranges("age", (1,))


def test_numbers_lie_in_the_range_that_begins_with_them_and_outside_in_the_outermost() -> None:
    column = Column.of_ranges("age", (0, 18, 65, 120))
    assert column.range_numbers(np.array([-5, 0, 17.9, 18, 64, 65, 120, 300])).tolist() == [0, 0, 0, 1, 1, 2, 2, 2]
