"""From the features of a face to its pixels: shapes painted over each other, in one of two styles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.datasets.face_features import Faces

DRAWN_SIDE = 32  # smaller frames are drawn so large at least, then averaged over blocks
LIP, TEETH, FRAME, INK = np.array([[0.62, 0.22, 0.22], [0.99, 0.98, 0.96], [0.08, 0.08, 0.08], [0.13, 0.13, 0.13]], dtype=np.float32)


@dataclass(frozen=True)
class Style:
    """How faces are painted: shaded or flat, with ink around the shapes of `outline` half pictures, eyes larger by a factor."""

    shading: float
    outline: float
    eyes: float
    square_glasses: bool
    softness: float  # of an edge, in drawn pixels


PAINTED = Style(shading=0.16, outline=0.0, eyes=1.0, square_glasses=False, softness=1.4)
CARTOON = Style(shading=0.0, outline=0.035, eyes=1.35, square_glasses=True, softness=0.8)


class Canvas:
    """N pictures of P points each, painted from back to front: `colour` (N, P, 3), `x` and `y` (N, P) in the face's own axes.

    The picture spans -1 to 1 along its shorter side, y downwards. A shape is a signed distance (N, P), below 0 inside.
    """

    def __init__(self, faces: Faces, height: int, width: int, style: Style) -> None:
        side = min(height, width)
        rows, columns = np.mgrid[0:height, 0:width].astype(np.float32) + 0.5
        across, down = ((columns.ravel() * 2 - width) / side)[None], ((rows.ravel() * 2 - height) / side)[None]
        x, y = across - faces.shift[:, :1], down - faces.shift[:, 1:]
        cosine, sine, size = (values[:, None] for values in (np.cos(faces.tilt), np.sin(faces.tilt), faces.size))
        self.x, self.y = (cosine * x + sine * y) / size, (cosine * y - sine * x) / size
        self.style, self.soft = style, 2 * style.softness / side
        share = ((down + 1) / 2)[..., None]
        self.colour = faces.background[:, None, 0] * (1 - share) + faces.background[:, None, 1] * share  # (N, P, 3)

    def ellipse(self, x: np.ndarray | float, y: np.ndarray | float, width: np.ndarray | float, height: np.ndarray | float) -> np.ndarray:
        """The distance to an ellipse with this centre and these half axes, numbers or (N, 1)."""
        return self.superellipse(x, y, width, height, 2.0)

    def superellipse(
        self,
        x: np.ndarray | float,
        y: np.ndarray | float,
        width: np.ndarray | float,
        height: np.ndarray | float,
        exponent: np.ndarray | float,
    ) -> np.ndarray:
        """The distance, to first order at the edge, to |x/w|^p + |y/h|^p = 1."""
        radius = (np.abs((self.x - x) / width) ** exponent + np.abs((self.y - y) / height) ** exponent + 1e-9) ** (1 / exponent)
        return (radius - 1) * np.minimum(width, height)

    def paint(self, distance: np.ndarray, colour: np.ndarray, where: np.ndarray | None = None, inked: bool = False) -> None:
        """Cover the inside of a shape with colours (3,), (N, 3) or (N, P, 3), in the pictures `where` (N,) says so; in ink around it."""
        if inked and self.style.outline:
            self.paint(distance - self.style.outline, INK, where)
        share = np.clip(0.5 - distance / self.soft, 0, 1)
        if where is not None:
            share = share * where[:, None]
        over = colour[:, None] if colour.ndim == 2 else colour
        self.colour += share[..., None] * (over - self.colour)


def paint_faces(faces: Faces, height: int, width: int, style: Style) -> np.ndarray:
    """Pictures uint8 (N, 3, H, W)."""
    block = -(-DRAWN_SIDE // min(height, width, DRAWN_SIDE))
    canvas = Canvas(faces, height * block, width * block, style)
    paint_back(canvas, faces)
    paint_head(canvas, faces)
    paint_eyes(canvas, faces)
    paint_mouth(canvas, faces)
    pixels = canvas.colour.reshape(-1, height, block, width, block, 3).mean(axis=(2, 4))
    return np.rint(255 * np.clip(pixels, 0, 1)).astype(np.uint8).transpose(0, 3, 1, 2)


def paint_back(canvas: Canvas, faces: Faces) -> None:
    """Hair behind the head, to the shoulders or around the skull; clothes and neck."""
    width, height = faces.shape[:, :1], faces.shape[:, 1:2]
    long = faces.attributes["length"] == 1
    canvas.paint(canvas.superellipse(0.0, 0.22, width + 0.24, height + 0.32, 3.0), faces.hair, long, inked=True)
    canvas.paint(canvas.ellipse(0.0, -0.14, width + 0.07, height + 0.03), faces.hair, ~long, inked=True)
    canvas.paint(canvas.superellipse(0.0, 1.45, 0.95, 0.55, 2.6), faces.clothes, inked=True)
    canvas.paint(canvas.superellipse(0.0, 0.78, 0.2, 0.3, 4.0), 0.86 * faces.skin, inked=True)


def paint_head(canvas: Canvas, faces: Faces) -> None:
    """The head, lit from a side, its nose, and the hair over the forehead."""
    width, height, exponent = (faces.shape[:, place : place + 1] for place in range(3))
    shade = 1 + canvas.style.shading * (faces.light[:, None] * canvas.x / width - 0.5 * np.square(canvas.y / height))
    head = canvas.superellipse(0.0, 0.0, width, height, exponent)
    canvas.paint(head, np.clip(faces.skin[:, None] * shade[..., None], 0, 1), inked=True)
    canvas.paint(canvas.ellipse(0.0, 0.12, 0.05, faces.nose[:, None]), 0.82 * faces.skin)
    fringe = np.maximum(canvas.superellipse(0.0, 0.0, width + 0.04, height + 0.04, exponent), canvas.y + 0.62 * height - 0.1 * canvas.x)
    canvas.paint(fringe, faces.hair, inked=True)


def paint_eyes(canvas: Canvas, faces: Faces) -> None:
    """Eyes, brows, and the frame of glasses around them."""
    glasses, soft = faces.attributes["glasses"] == 1, canvas.style.eyes
    size, apart = faces.eye_size[:, None] * soft, faces.eye_distance[:, None]
    for side in (-1, 1):
        x = side * apart
        canvas.paint(canvas.ellipse(x, -0.12, size * 1.15, size * 0.8), TEETH, inked=True)
        canvas.paint(canvas.ellipse(x, -0.12, size * 0.55, size * 0.65), faces.eye_colour)
        canvas.paint(canvas.superellipse(x, -0.31, 0.13, 0.03, 4.0), 0.55 * faces.hair)
        rim = canvas.superellipse(x, -0.12, 0.205, 0.19, 5.0 if canvas.style.square_glasses else 2.0)
        canvas.paint(np.abs(rim) - 0.035, FRAME, glasses)
    canvas.paint(canvas.superellipse(0.0, -0.13, 0.07, 0.03, 4.0), FRAME, glasses)
    for side in (-1, 1):
        canvas.paint(canvas.superellipse(side * (apart + 0.29), -0.15, 0.1, 0.025, 4.0), FRAME, glasses)


def paint_mouth(canvas: Canvas, faces: Faces) -> None:
    """A closed straight mouth, or a smile that shows teeth."""
    smile = faces.attributes["smile"] == 1
    level = 0.40 * faces.shape[:, 1:2] / 0.7
    canvas.paint(canvas.superellipse(0.0, level, 0.17, 0.035, 3.0), LIP, ~smile)
    arch = 1 - np.square(canvas.x / 0.28)  # 1 in the middle, 0 in the corners
    lower, upper = level - 0.08 + 0.2 * arch, level - 0.06 + 0.05 * arch
    opened = np.maximum(np.maximum(canvas.y - lower, upper - canvas.y), np.abs(canvas.x) - 0.28)
    canvas.paint(opened - 0.035, LIP, smile)
    canvas.paint(opened + 0.015, TEETH, smile)
