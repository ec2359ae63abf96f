"""The contact sheet: which image stands where, and that one with real records says it is private."""

import io

import numpy as np
import pytest
from PIL import Image
from support.tables import unnamed_columns

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.records import ImageKind, Records
from workbench.runs.contact_sheet import FRAME, PRIVATE, RED, contact_sheet, number_shown, sentence_picture

FACTS = DatasetFacts(name="own", kind=ImageKind(size=(1, 64, 64)), num_records=40, classes=("a", "b", "c"))


def shades(labels: list[int], start: int) -> Records:
    """Images of one grey each, `start` and up."""
    grey = np.arange(start, start + len(labels), dtype=np.uint8)
    return Records(np.broadcast_to(grey[:, None, None, None], (len(labels), 1, 64, 64)).copy(), np.array(labels))


def opened(content: bytes) -> tuple[np.ndarray, dict[str, str]]:
    picture = Image.open(io.BytesIO(content))
    return np.asarray(picture), dict(picture.text)  # type: ignore[attr-defined]


def test_a_class_a_row_in_order_and_white_where_there_are_no_more() -> None:
    pixels, notes = opened(contact_sheet(shades([2, 0, 2], 10), FACTS, releasable=True))
    centres = pixels[32::65, 32::65, 0]
    assert centres.shape == (2, 10)
    assert centres[:, :3].tolist() == [[11, 255, 255], [10, 12, 255]], "of the classes that there are: a, then c"
    assert notes == {"mark": "releasable", "classes, a row each": "a, c"}
    assert (pixels[131:] < 128).any(), "their names stand below"
    assert number_shown(shades([2, 0, 2], 10), FACTS) == 3


def test_the_number_that_it_shows_is_ten_of_a_class_at_most() -> None:
    labels = [0] * 12 + [1] * 3
    pixels, _ = opened(contact_sheet(shades(labels, 10), FACTS, releasable=True))
    centres = pixels[32:130:65, 32::65, 0]
    assert number_shown(shades(labels, 10), FACTS) == int((centres < 255).sum()) == 13
    without = Records(np.zeros((120, 1, 64, 64), np.uint8), None)
    assert number_shown(without, FACTS) == 100


def test_names_of_classes_are_written_in_their_own_letters() -> None:
    letters = [np.asarray(sentence_picture(letter, 40)).tobytes() for letter in "ÖüñŁЯΩع"]
    assert len(set(letters)) == len(letters), "a letter that the font lacks is a box, the same for all"


def test_real_records_come_first_in_a_red_frame_and_make_it_private() -> None:
    samples, records = shades([0, 1], 10), shades([1, 0, 1], 100)
    pixels, notes = opened(contact_sheet(samples, FACTS, releasable=True, originals=records))
    assert (notes["mark"], notes["warning"]) == ("private", PRIVATE)
    assert pixels[0, 0].tolist() == list(RED)
    above = pixels[FRAME + 32 :: 65, FRAME + 32 :: 65, 0][:2, :2]
    assert above.tolist() == [[101, 255], [100, 102]]
    words = np.asarray(sentence_picture(PRIVATE, pixels.shape[1]).convert("RGB"))
    place = 4 * 65 + 2 * FRAME
    assert (pixels[place : place + len(words), : words.shape[1]] == words).all(), "whoever sees the picture reads it"
    below = pixels[2 * 65 + 2 * FRAME + 32 :: 65, FRAME + 32 :: 65, 0]
    assert below[:2, 0].tolist() == [10, 11]
    assert opened(contact_sheet(samples, FACTS, releasable=False))[1]["mark"] == "private"


def test_what_to_know_of_the_samples_is_written_below_them_and_in_the_file() -> None:
    plain, _ = opened(contact_sheet(shades([0, 1], 10), FACTS, releasable=True))
    named, of_run = opened(contact_sheet(shades([0, 1], 10), FACTS, releasable=True, about="Run x: proved epsilon 1."))
    assert of_run["about"] == "Run x: proved epsilon 1."
    assert len(named) > len(plain), "whose samples these are stands below them"
    pixels, notes = opened(contact_sheet(shades([0, 1], 10), FACTS, True, None, ["They look like something else.", "Twice. " * 60]))
    assert notes["cautions"].startswith("They look like something else. Twice.")
    assert (pixels[: len(plain)] == plain).all(), "the samples stand as they did"
    below = pixels[len(plain) :]
    assert len(below) > 100, "a long sentence is wrapped, not cut"
    assert (below < 128).any(axis=(1, 2)).sum() > 40, "rows with ink"
    assert (below[:, -3:] > 250).all(), "within the picture"


def test_samples_without_labels_stand_in_order() -> None:
    plain = Records(shades([0] * 12, 50).records)
    pixels, notes = opened(contact_sheet(plain, FACTS, releasable=True))
    assert pixels[32::65, 32::65, 0].ravel()[:12].tolist() == list(range(50, 62))
    assert notes["classes, a row each"] == "none"


def test_rows_of_a_table_make_no_sheet() -> None:
    facts = FACTS.model_copy(update={"kind": unnamed_columns((3, 3))})
    with pytest.raises(WorkbenchError, match="Expected images"):
        contact_sheet(Records(np.zeros((2, 2), np.int64)), facts, releasable=True)
