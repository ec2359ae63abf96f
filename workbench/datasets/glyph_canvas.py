"""From the geometry of a digit to its pixels: random distortion, placement in the frame, ink."""

from dataclasses import dataclass

import numpy as np

from workbench.datasets.glyph_fonts import FONTS, font_glyphs, sample_fields
from workbench.datasets.glyph_strokes import pen_points

FONT_SHARE = 0.25
DRAWN_SIDE = 28  # smaller frames are drawn so large at least, then averaged over blocks
MIN_PEN = 0.55  # a stroke narrower than a pixel would fade
NUM_WAVES = 3


@dataclass(frozen=True)
class Layout:
    """The frame a digit is placed in: its box (height, width) in drawn pixels, and what is centred, its mass or its box.

    Frames above 16 pixels follow MNIST's published rule (a 20x20 box in 28x28, centred by mass); smaller ones are filled to the edge,
    like the 32x32 bitmaps counted in 4x4 blocks of which the 8x8 digits are documented to be made.
    """

    height: int
    width: int
    oversample: int
    box: tuple[float, float]
    by_mass: bool
    bilevel: bool

    @classmethod
    def of(cls, height: int, width: int) -> "Layout":
        """The layout for frames of this size."""
        small = min(height, width) <= 16
        oversample = -(-DRAWN_SIDE // min(height, width, DRAWN_SIDE))
        share = oversample * (1.0 if small else 20 / 28)
        return cls(height * oversample, width * oversample, oversample, (height * share, width * share), not small, oversample >= 4)


@dataclass(frozen=True)
class Distortion:
    """What makes N drawings differ, each array (N, ...): see `draw_distortion` for the ranges."""

    matrix: np.ndarray
    frequency: np.ndarray
    phase: np.ndarray
    amplitude: np.ndarray
    pen: np.ndarray
    size: np.ndarray
    shift: np.ndarray
    softness: np.ndarray
    contrast: np.ndarray

    def bend(self, points: np.ndarray) -> np.ndarray:
        """Displacements (N, M, 2) in heights of `points` (N, M, 2): a few long waves across the digit."""
        angle = points @ self.frequency.swapaxes(1, 2) + self.phase[:, None]  # (N, M, waves)
        return np.sin(angle) @ self.amplitude


def draw_distortion(num: int, rng: np.random.Generator) -> Distortion:
    """Independent distortions of `num` drawings.

    Slant 0.1 +- 0.2, rotation 0 +- 6 degrees, width times exp(0 +- 0.18), each cut at 2.5 standard deviations; pens are 9 to 22 % of
    the height wide.
    """

    def normal(*shape: int) -> np.ndarray:
        return np.clip(rng.standard_normal((num, *shape), dtype=np.float32), -2.5, 2.5)

    def uniform(low: float, high: float, *shape: int) -> np.ndarray:
        return rng.uniform(low, high, (num, *shape)).astype(np.float32)

    turn, slant, aspect = normal() * np.radians(6), 0.1 + 0.2 * normal(), np.exp(0.18 * normal())
    cosine, sine = np.cos(turn), np.sin(turn)
    rotation = np.stack([np.stack([cosine, -sine], -1), np.stack([sine, cosine], -1)], -2)
    shear = np.stack([np.stack([aspect, -slant], -1), np.stack([0 * slant, 1 + 0 * slant], -1)], -2)
    return Distortion(
        matrix=rotation @ shear,
        frequency=normal(NUM_WAVES, 2) * 3.5,
        phase=uniform(0, 2 * np.pi, NUM_WAVES),
        amplitude=normal(NUM_WAVES, 2) * 0.025,
        pen=np.clip(0.07 * np.exp(0.25 * normal()), 0.045, 0.11),
        size=uniform(0.93, 1.0),
        shift=uniform(-0.02, 0.02, 2),
        softness=uniform(1.0, 1.7),
        contrast=uniform(0.85, 1.0),
    )


def fit(points: np.ndarray, mass: np.ndarray, margin: np.ndarray, distortion: Distortion, layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """Scale (N,) in pixels a height, and offset (N, 2) in pixels, that put each digit in its box.

    A digit is given by `points` (N, K, 2) on its edge and its centre of mass `mass` (N, 2), in heights; `margin` (N,) pixels of the box
    are kept free for the pen.
    """
    low, high = points.min(axis=1), points.max(axis=1)
    room = np.array([layout.box[1], layout.box[0]], dtype=np.float32) * distortion.size[:, None] - 2 * margin[:, None]
    scale = (room / np.maximum(high - low, 1e-3)).min(axis=1)
    centre = mass if layout.by_mass else (low + high) / 2
    frame = np.array([layout.width, layout.height], dtype=np.float32)
    slack = distortion.shift * np.array([layout.box[1], layout.box[0]], dtype=np.float32)
    return scale, frame / 2 - scale[:, None] * centre + slack


def pixel_centres(layout: Layout) -> np.ndarray:
    """Positions (H W, 2), x then y, of the drawn pixels."""
    y, x = np.mgrid[0 : layout.height, 0 : layout.width].astype(np.float32) + 0.5
    return np.stack([x.ravel(), y.ravel()], axis=1)


def stroke_distances(labels: np.ndarray, distortion: Distortion, layout: Layout, rng: np.random.Generator) -> np.ndarray:
    """Signed distances in pixels, (N, H W), to the edge of a round pen drawn along a random writing of each label."""
    points = pen_points(labels, rng) - np.array([0.3, 0.5], dtype=np.float32)
    points = (points + distortion.bend(points)) @ distortion.matrix.swapaxes(1, 2)
    radius = np.maximum(distortion.pen * layout.box[0], MIN_PEN * layout.oversample)
    scale, offset = fit(points, points.mean(axis=1), radius, distortion, layout)
    centres = points * scale[:, None, None] + offset[:, None]  # (N, P, 2)
    pixels = pixel_centres(layout)
    # |x - c|^2 = |x|^2 - 2 x c + |c|^2: one matrix product for all pairs of a pixel and a pen position
    lifted = np.concatenate([-2 * centres, np.square(centres).sum(-1, keepdims=True)], axis=2)
    columns = np.concatenate([pixels, np.ones((len(pixels), 1), dtype=np.float32)], axis=1).T
    squared = (lifted.reshape(-1, 3) @ columns).reshape(len(labels), -1, len(pixels)).min(axis=1) + np.square(pixels).sum(-1)
    return np.sqrt(np.maximum(squared, 0)) - radius[:, None]


def font_distances(labels: np.ndarray, distortion: Distortion, layout: Layout, rng: np.random.Generator) -> np.ndarray:
    """Signed distances in pixels, (N, H W), to the edge of each label in a random font, its strokes drawn towards the pen's width."""
    numbers = rng.integers(len(FONTS), size=len(labels)) * 10 + labels
    glyphs = [font_glyphs()[number] for number in numbers]
    turned = distortion.matrix.swapaxes(1, 2)
    edge = np.stack([glyph.outline for glyph in glyphs])
    outline = (edge - distortion.bend(edge)) @ turned  # the fields are bent the other way: drawn at u, looked up at u + bend(u)
    mass = (np.stack([glyph.mass for glyph in glyphs])[:, None] @ turned)[:, 0]
    wider = 0.7 * (distortion.pen - np.array([glyph.pen_radius for glyph in glyphs], dtype=np.float32))
    scale, offset = fit(outline, mass, np.maximum(wider, 0) * layout.box[0], distortion, layout)
    back = np.linalg.inv(turned) / scale[:, None, None]
    points = (pixel_centres(layout) - offset[:, None]) @ back
    distances = sample_fields(numbers, points + distortion.bend(points))
    return (distances - wider[:, None]) * scale[:, None]


def ink(distances: np.ndarray, distortion: Distortion, layout: Layout) -> np.ndarray:
    """Pixels uint8 (N, H, W) of the frame: soft edges and a random contrast, or counts of a bilevel drawing's blocks in 1/16 steps."""
    if layout.bilevel:
        drawn = (distances < 0).astype(np.float32)
    else:
        edge = np.clip(0.5 - distances / distortion.softness[:, None], 0, 1)
        drawn = edge * distortion.contrast[:, None]
    block = layout.oversample
    blocks = drawn.reshape(len(drawn), layout.height // block, block, layout.width // block, block)
    return np.rint(255 * blocks.mean(axis=(2, 4))).astype(np.uint8)


def draw_batch(labels: np.ndarray, layout: Layout, rng: np.random.Generator) -> np.ndarray:
    """Drawings uint8 (N, H, W) of `labels` (N,), white on black, FONT_SHARE of them printed and the others written."""
    printed = rng.random(len(labels)) < FONT_SHARE
    images = np.empty((len(labels), layout.height // layout.oversample, layout.width // layout.oversample), dtype=np.uint8)
    for chosen, distances in ((~printed, stroke_distances), (printed, font_distances)):
        if chosen.any():
            distortion = draw_distortion(int(chosen.sum()), rng)
            images[chosen] = ink(distances(labels[chosen], distortion, layout, rng), distortion, layout)
    return images
