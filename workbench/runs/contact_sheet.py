"""A contact sheet: samples as one picture, a class a row, with real records before them where these are asked for by name."""

import io
import textwrap
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from PIL.PngImagePlugin import PngInfo

from workbench.datasets.base import DatasetFacts
from workbench.marks import mark
from workbench.records import ImageKind, Records
from workbench.records.images import grid

COLUMNS, MOST_ROWS = 10, 20
FRAME, RED, WHITE, BLACK = 6, (200, 0, 0), (255, 255, 255), (0, 0, 0)
TEXT_PIXELS, LETTER_WIDTH = 14, 0.6  # the height of letters, and their mean width over it
PRIVATE = "The rows framed in red are real training records: no bound covers this picture. Do not share it."


def contact_sheet(
    samples: Records,
    facts: DatasetFacts,
    releasable: bool,
    originals: Records | None = None,
    cautions: Sequence[str] = (),
    about: str = "",
) -> bytes:
    """A PNG of ten samples of each class that there is, a class a row, of at most 20 classes, whose names stand below; without labels, the
    first hundred samples.

    `originals` are training records: as many of them stand above, in a red frame, and below it a warning. The file says its mark,
    "private" with any.
    `about` says whose samples these are, and `cautions` are what a reader has to know of them: they stand below them, and in the file.
    """
    ImageKind.of(facts.kind)
    classes = shown_classes(samples, facts)
    parts = [grid(rows(samples, classes), COLUMNS).convert("RGB")]
    if originals is not None:
        parts.insert(0, framed_picture(grid(rows(originals, classes), COLUMNS).convert("RGB")))
    named = [f"Rows from above: {', '.join(facts.classes[label] for label in classes)}."] if len(classes) else []
    warning = [PRIVATE] if originals is not None else []
    parts += [sentence_picture(sentence, parts[0].width) for sentence in (*warning, *filter(None, [about]), *named, *cautions)]
    notes = PngInfo()
    notes.add_text("mark", mark(releasable and originals is None))
    notes.add_text("classes, a row each", ", ".join(facts.classes[label] for label in classes) or "none")
    if originals is not None:
        notes.add_text("warning", PRIVATE)
    if about:
        notes.add_text("about", about)
    if cautions:
        notes.add_text("cautions", " ".join(cautions))
    buffer = io.BytesIO()
    stacked_pictures(parts).save(buffer, format="PNG", pnginfo=notes)
    return buffer.getvalue()


def shown_classes(samples: Records, facts: DatasetFacts) -> np.ndarray:
    """The classes that have a row, at most 20; none without labels."""
    return np.unique(samples.labels)[:MOST_ROWS] if samples.labels is not None and facts.classes else np.zeros(0, np.int64)


def number_shown(samples: Records, facts: DatasetFacts) -> int:
    """How many of these samples the sheet shows."""
    classes = shown_classes(samples, facts)
    if not len(classes):
        return min(len(samples), COLUMNS**2)
    return sum(min(int((samples.labels == label).sum()), COLUMNS) for label in classes)


def rows(records: Records, classes: np.ndarray) -> np.ndarray:
    """Images uint8 (N, C, H, W), ten of each of these classes in turn, white where it has fewer; the first hundred where there are none."""
    if not len(classes):
        return records.records[: COLUMNS**2]
    shape = records.records.shape[1:]
    shown = np.full((len(classes), COLUMNS, *shape), 255, np.uint8)
    for label, row in zip(classes, shown, strict=True):
        images = records.records[records.labels == label][:COLUMNS]
        row[: len(images)] = images
    return shown.reshape(-1, *shape)


def framed_picture(picture: Image.Image) -> Image.Image:
    """The picture in a red frame."""
    made = Image.new("RGB", (picture.width + 2 * FRAME, picture.height + 2 * FRAME), RED)
    made.paste(picture, (FRAME, FRAME))
    return made


@cache
def letters_of_many_scripts() -> ImageFont.FreeTypeFont:
    """DejaVu Sans, which matplotlib ships: names of classes may be Latin with any accent, Greek, Cyrillic or Arabic."""
    from matplotlib import get_data_path

    return ImageFont.truetype(str(Path(get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"), TEXT_PIXELS)


def sentence_picture(sentence: str, width: int) -> Image.Image:
    """A sentence in black on white, wrapped to a picture of this width."""
    font = letters_of_many_scripts()
    letters = max(1, int(width / (LETTER_WIDTH * TEXT_PIXELS)))
    text = "\n".join(textwrap.wrap(sentence, letters))
    _, _, right, bottom = ImageDraw.Draw(Image.new("RGB", (1, 1))).multiline_textbbox((FRAME, FRAME), text, font=font)
    made = Image.new("RGB", (max(width, int(right) + FRAME), int(bottom) + FRAME), WHITE)
    ImageDraw.Draw(made).multiline_text((FRAME, FRAME), text, fill=BLACK, font=font)
    return made


def stacked_pictures(pictures: list[Image.Image]) -> Image.Image:
    """Pictures one below the other, on white."""
    made = Image.new("RGB", (max(one.width for one in pictures), sum(one.height for one in pictures)), WHITE)
    top = 0
    for one in pictures:
        made.paste(one, ((made.width - one.width) // 2, top))
        top += one.height
    return made
