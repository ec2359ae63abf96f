"""Digits as printed: the signed distance to the outline of a digit, for the TrueType fonts that matplotlib ships."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from scipy.ndimage import distance_transform_edt

FONTS: tuple[str, ...] = (
    "DejaVuSans",
    "DejaVuSans-Bold",
    "DejaVuSans-Oblique",
    "DejaVuSerif",
    "DejaVuSerif-Italic",
    "STIXGeneral",
    "STIXGeneralItalic",
    "cmr10",
    "cmss10",
    "cmtt10",
)
FIELD_SIZE = 96
GLYPH_HEIGHT = 56  # pixels of a field; what is left over is the room that a distortion may need


@dataclass(frozen=True)
class FontGlyph:
    """One printed digit in heights, its box centred at 0.

    `field` float32 (FIELD_SIZE, FIELD_SIZE): signed distance, negative inside; `outline` (K, 2): points on its edge;
    `mass` (2,): centre of mass; `pen_radius`: half the mean thickness of its strokes.
    """

    field: np.ndarray
    outline: np.ndarray
    mass: np.ndarray
    pen_radius: float


def glyph_mask(path: Path, digit: int) -> np.ndarray:
    """Boolean (FIELD_SIZE, FIELD_SIZE): the digit, GLYPH_HEIGHT tall, in the middle."""
    probe = ImageFont.truetype(str(path), 200)
    _, top, _, bottom = probe.getbbox(str(digit))
    font = ImageFont.truetype(str(path), 200 * GLYPH_HEIGHT / (bottom - top))
    left, top, right, bottom = font.getbbox(str(digit))
    image = Image.new("L", (FIELD_SIZE, FIELD_SIZE))
    corner = (FIELD_SIZE - left - right) / 2, (FIELD_SIZE - top - bottom) / 2
    ImageDraw.Draw(image).text(corner, str(digit), fill=255, font=font)
    return np.asarray(image) >= 128


def build_glyph(mask: np.ndarray) -> FontGlyph:
    """Measure a digit's mask."""
    inside, outside = distance_transform_edt(mask), distance_transform_edt(~mask)
    field = (np.asarray(outside) - np.asarray(inside)) / GLYPH_HEIGHT
    middle = (FIELD_SIZE - 1) / 2
    rows, columns = np.nonzero(mask)
    points = (np.stack([columns, rows], axis=1) - middle) / GLYPH_HEIGHT
    edge = np.asarray(inside)[rows, columns] < 1.5
    outline = points[edge][np.linspace(0, edge.sum() - 1, 96).astype(int)]
    pen_radius = 2 * float(-field[mask].mean())  # depth falls linearly from the middle of a stroke to its edge
    return FontGlyph(field.astype(np.float32), outline.astype(np.float32), points.mean(axis=0).astype(np.float32), pen_radius)


@cache
def font_glyphs() -> tuple[FontGlyph, ...]:
    """All printed digits; digit d of font f is number f * 10 + d."""
    from matplotlib import get_data_path

    folder = Path(get_data_path()) / "fonts" / "ttf"
    return tuple(build_glyph(glyph_mask(folder / f"{font}.ttf", digit)) for font in FONTS for digit in range(10))


@cache
def fields() -> np.ndarray:
    """The distance fields of `font_glyphs`, float32 (fonts * 10, FIELD_SIZE, FIELD_SIZE)."""
    return np.stack([glyph.field for glyph in font_glyphs()])


def sample_fields(numbers: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Signed distances in heights, float32 (N, M), of fields `numbers` (N,) at `points` (N, M, 2) in heights, bilinear."""
    place = np.clip(points * GLYPH_HEIGHT + (FIELD_SIZE - 1) / 2, 0, FIELD_SIZE - 1.001)
    low = place.astype(np.int32)
    x, y = np.moveaxis(place - low, -1, 0)
    flat = fields().reshape(-1)
    corner = (numbers[:, None] * FIELD_SIZE + low[..., 1]) * FIELD_SIZE + low[..., 0]
    upper = flat[corner] * (1 - x) + flat[corner + 1] * x
    lower = flat[corner + FIELD_SIZE] * (1 - x) + flat[corner + FIELD_SIZE + 1] * x
    return upper * (1 - y) + lower * y
