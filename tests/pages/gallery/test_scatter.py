"""All samples at once, one enlarged, and how many must be seen: exact numbers, and a page that shows them."""

from collections.abc import Callable

import numpy as np
import pytest
from pages.reading import elements, text_of
from streamlit.testing.v1 import AppTest
from support.tables import toy_table

from workbench.evaluation import Neighbours
from workbench.pages.gallery.scatter import difference, differing_columns, must_see, ratios

OpenPage = Callable[..., AppTest]


def test_so_many_samples_without_a_copy_say_that_fewer_are_copies() -> None:
    for share, confidence in ((0.01, 0.95), (0.001, 0.99), (0.5, 0.5)):
        needed = must_see(share, confidence)
        assert (1 - share) ** needed <= 1 - confidence < (1 - share) ** (needed - 1)
    assert must_see(0.01, 0.95) == 299


def test_ratios_are_of_the_nearest_records_and_a_copy_has_none() -> None:
    far = np.array([2.0, 4.0, 0.0, 0.0])
    near = Neighbours("pixels", np.zeros((4, 1), int), np.array([[1.0], [0.0], [0.0], [3.0]]), np.zeros(4, int), far)
    assert ratios(near).tolist() == [0.5, 0.0, 1.0, np.inf]


def test_the_difference_is_white_where_images_agree_and_black_where_they_differ_most() -> None:
    one, other = np.zeros((3, 1, 3), np.uint8), np.zeros((3, 1, 3), np.uint8)
    one[0, 0], other[2, 0, 2] = (0, 10, 0), 20
    assert difference(one, other).tolist() == [[[255, 128, 0]]]
    assert difference(one, one).tolist() == [[[255, 255, 255]]]


def test_of_a_table_the_columns_that_differ_come_first() -> None:
    table = toy_table()
    one = table.train.records[0]
    other = one.copy()
    other[1] = (other[1] + 1) % len(table.facts.kind.columns[1].categories)  # type: ignore[union-attr]
    frame = differing_columns(one, other, table)
    assert frame["same"].tolist() == [False] + [True] * (len(one) - 1)


@pytest.mark.usefixtures("home_with_runs")
def test_the_gallery_enlarges_a_sample_and_tells_how_many_must_be_seen(open_page: OpenPage) -> None:
    app = open_page("gallery", gallery_share="5")
    said = text_of(app)
    assert not app.exception
    assert "Look at **59 samples**" in said
    assert "There are 40: draw more." in said
    assert "difference, sample" in " ".join(image.alt for one in elements(app.main) if one.type == "image" for image in one.proto.imgs)
    typed = next(field for field in app.number_input if field.label == "Sample")
    typed.set_value(7).run()
    assert "**Enlarged: sample 7 beside training record" in text_of(app)
