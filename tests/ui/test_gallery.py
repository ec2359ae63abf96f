"""Pictures and tables of records."""

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from workbench.pages.gallery.cards import CARDS
from workbench.records import KINDS
from workbench.ui.gallery import VIEWS, enlargement, picture, sheet


def test_a_picture_is_enlarged_by_a_whole_factor_with_hard_edges() -> None:
    record = np.zeros((1, 8, 8), np.uint8)
    record[0, 2, 5] = 255
    image = np.asarray(picture(record, 96))
    assert image.shape == (96, 96)
    assert (image[24:36, 60:72] == 255).all()
    assert image.sum() == 255 * 144


@pytest.mark.parametrize(("height", "width"), [(24, 36), (36, 24)])
def test_of_a_picture_that_is_no_square_the_longer_side_decides(height: int, width: int) -> None:
    record = np.zeros((3, height, width), np.uint8)
    assert picture(record, 56).size == (2 * width, 2 * height), "cards have room for so many columns"
    assert enlargement(record, 36) == 1


def test_a_colour_picture_keeps_its_channels() -> None:
    record = np.zeros((3, 32, 32), np.uint8)
    record[1] = 200
    assert np.asarray(picture(record, 32)).shape == (32, 32, 3)
    assert np.asarray(picture(record, 32))[0, 0].tolist() == [0, 200, 0]


def test_a_sheet_has_every_record_in_its_place() -> None:
    records = np.stack([np.full((1, 8, 8), value, np.uint8) for value in (10, 20, 30)])
    canvas = np.asarray(sheet(records, columns=2, pixels=8))
    assert canvas.shape == (18, 18, 4)
    assert (canvas[0, 0, 0], canvas[0, 10, 0], canvas[10, 0, 0]) == (10, 20, 30)
    assert canvas[10, 10, 3] == 0, "nothing, whatever theme lies behind"
    assert canvas[0, 8, :3].tolist() == [119, 132, 140], "a line between, that shows on black and on white"


def test_every_kind_of_record_has_a_view_and_a_card() -> None:
    assert set(VIEWS) == set(CARDS) == set(KINDS)


def table_page() -> None:
    """The records, the preview and a card of a table of two columns."""

    from types import SimpleNamespace

    import numpy as np
    from support.tables import unnamed_columns

    from workbench.datasets import Dataset, DatasetFacts
    from workbench.evaluation import Neighbours
    from workbench.pages.gallery.cards import show_page
    from workbench.records import Records
    from workbench.runs.verdicts import Verdicts
    from workbench.ui.gallery import VIEWS, show_records
    from workbench.workspace import Workspace

    facts = DatasetFacts(name="t", kind=unnamed_columns((3, 2)), num_records=2, classes=("a", "b"))
    records = Records(np.array([[0, 1], [2, 0]]), np.array([1, 0]))
    show_records(records, facts, "two rows", limit=1)
    path = Workspace.default().home / facts.kind.preview_file
    path.write_bytes(facts.kind.preview(records, facts.classes))
    VIEWS[facts.kind.name].preview(path, "r")
    near = Neighbours("one-hot", np.array([[1]]), np.array([[0.5]]), np.array([0]), np.array([1.5]))
    show_page(
        Verdicts(Workspace.default().verdicts),
        SimpleNamespace(owner="r", id="default"),
        [0],
        records,
        Dataset(facts, records, records),
        near,
        {},
    )


def test_rows_of_a_table_are_shown_under_their_names() -> None:
    app = AppTest.from_function(table_page).run(timeout=30)
    assert not app.exception
    shown, preview, card = (element.value for element in app.dataframe)
    assert shown.to_dict("list") == {"class": ["b"], "column 1": ["0"], "column 2": ["1"]}
    assert preview.to_dict("list") == {"class": ["b", "a"], "column 1": [0, 2], "column 2": [1, 0]}
    assert card.to_dict("list") == {"class": ["b", "a", "b"], "column 1": ["0", "2", "0"], "column 2": ["1", "0", "1"]}
    assert card.index.tolist() == ["generated", "training 1, at 0.5", "held-out, at 1.5"]
