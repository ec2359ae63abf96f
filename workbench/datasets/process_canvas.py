"""What every process of `processes` draws with: the frame, soft-edged shapes, colours, and noise with a falling spectrum.

Lengths are in heights or widths of the frame, whichever is shorter; brightness is from 0 to 1. Arrays are float32.
"""

from dataclasses import dataclass

import numpy as np
from scipy import fft

from workbench.datasets.resize import Shape

CHROMA = 0.35  # standard deviation of a vivid image's channels around their common brightness
CONTRAST = 0.4  # between the two colours of a texture, at least, where neither is cut off
COS_60, SIN_60 = 0.5, 0.8660254


@dataclass(frozen=True)
class Canvas:
    """The frame of some images that are drawn together, and the random numbers that they are drawn from."""

    num: int
    shape: Shape
    rng: np.random.Generator

    @property
    def size(self) -> tuple[int, int]:
        """Height and width in pixels."""
        return self.shape[1:]

    @property
    def pixel(self) -> float:
        """The length of a pixel's side."""
        return 1 / min(self.size)

    def positions(self) -> tuple[np.ndarray, np.ndarray]:
        """The centres x (1, W) and y (H, 1) of the pixels, 0 in the middle of the frame."""
        height, width = self.size
        x = (np.arange(width, dtype=np.float32) + 0.5 - width / 2) * self.pixel
        y = (np.arange(height, dtype=np.float32) + 0.5 - height / 2) * self.pixel
        return x[None], y[:, None]

    def reach(self) -> np.ndarray:
        """Half the width and half the height of the frame, (2,)."""
        return np.array(self.size[::-1], dtype=np.float32) * (self.pixel / 2)

    def uniform(self, low: float, high: float, *shape: int) -> np.ndarray:
        """Even random numbers (num, *shape)."""
        return self.rng.uniform(low, high, (self.num, *shape)).astype(np.float32)

    def chance(self, probability: float) -> np.ndarray:
        """True with this probability, (num,)."""
        return self.rng.random(self.num) < probability

    def colours(self, count: int) -> np.ndarray:
        """Colours (num, count, C) of one palette an image: any brightness, and channels that differ from it as vividly as the image is."""
        brightness = self.uniform(0, 1, count, 1)
        apart = self.rng.standard_normal((self.num, count, self.shape[0])).astype(np.float32)
        vivid = self.uniform(0, CHROMA, 1, 1) if self.shape[0] > 1 else 0
        return np.clip(brightness + vivid * apart, 0, 1)

    def noise(self, slope: np.ndarray, per_image: int = 1) -> np.ndarray:
        """Fields (num, per_image, H, W) of mean 0 and deviation 1 an image, whose amplitude falls as frequency^-`slope` (num,).

        Cut from a torus of twice the sides, so that opposite edges differ, and stretched along one random direction.
        """
        height, width = (2 * side for side in self.size)
        spectrum = fft.rfft2(self.rng.standard_normal((self.num, per_image, height, width), dtype=np.float32))
        down, across = fft.fftfreq(height).astype(np.float32)[:, None], fft.rfftfreq(width).astype(np.float32)
        angle, stretch = self.uniform(0, np.pi, 1, 1), np.exp(self.uniform(-0.7, 0.7, 1, 1))
        cosine, sine = np.cos(angle), np.sin(angle)
        squared = np.square((cosine * across + sine * down) * stretch) + np.square((cosine * down - sine * across) / stretch)
        squared[:, 0, 0] = np.inf  # no mean
        spectrum *= np.power(squared, -slope[:, None, None] / 2)[:, None]
        fields = np.asarray(fft.irfft2(spectrum, s=(height, width)))[..., : self.size[0], : self.size[1]]
        fields -= fields.mean(axis=(2, 3), keepdims=True)
        return fields / np.maximum(fields.std(axis=(2, 3), keepdims=True), 1e-6)

    def tinted(self, field: np.ndarray) -> np.ndarray:
        """Images (num, C, H, W) of fields (num, H, W) from 0 to 1, each between two colours of its own, a light and a dark one."""
        dark, light = np.moveaxis(self.colours(2), 1, 0)
        apart = np.maximum(CONTRAST - (light - dark).mean(axis=1, keepdims=True), 0)
        dark, light = np.clip(dark - apart / 2, 0, 1), np.clip(light + apart / 2, 0, 1)
        turned = self.chance(0.5)[:, None, None]
        field = np.where(turned, 1 - field, field)[:, None]
        return dark[..., None, None] + (light - dark)[..., None, None] * field


@dataclass(frozen=True)
class Shapes:
    """One shape an image: its place, half axes and turn, and how much it is round, square and triangular (shares that sum to 1)."""

    centre: np.ndarray  # (num, 2)
    axes: np.ndarray  # (num, 2)
    angle: np.ndarray  # (num,)
    form: np.ndarray  # (num, 3)

    @classmethod
    def drawn(cls, canvas: Canvas, radius: np.ndarray, spread: float = 1.0) -> "Shapes":
        """Shapes of mean radius (num,), within `spread` times the frame; three in four are of one pure form."""
        elongation = np.exp(canvas.uniform(-0.6, 0.6))
        pure = np.eye(3, dtype=np.float32)[canvas.rng.integers(3, size=canvas.num)]
        mixed = canvas.rng.dirichlet(np.ones(3), size=canvas.num).astype(np.float32)
        return cls(
            centre=canvas.uniform(-spread, spread, 2) * canvas.reach(),
            axes=np.stack([radius * elongation, radius / elongation], axis=1),
            angle=canvas.uniform(0, 2 * np.pi),
            form=np.where(canvas.chance(0.75)[:, None], pure, mixed),
        )

    def local(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions (num, H, W) in half axes of the shape, from its centre."""
        right, down = x - self.centre[:, 0, None, None], y - self.centre[:, 1, None, None]
        cosine, sine = (part[:, None, None] for part in (np.cos(self.angle), np.sin(self.angle)))
        u = (cosine * right + sine * down) / self.axes[:, 0, None, None]
        v = (cosine * down - sine * right) / self.axes[:, 1, None, None]
        return u, v

    def gauge(self, u: np.ndarray, v: np.ndarray) -> np.ndarray:
        """How far from the centre, 1 on the edge, of local positions: a mean of the round, square and triangular one."""
        round_, square, triangle = self.form.T[..., None, None]
        wide = SIN_60 * np.abs(u)
        return round_ * np.hypot(u, v) + square * np.maximum(np.abs(u), np.abs(v)) + triangle * np.maximum(wide + COS_60 * v, -v)

    def depth(self, u: np.ndarray, v: np.ndarray) -> np.ndarray:
        """How far inside the edge, in lengths of the frame; negative outside."""
        return (1 - self.gauge(u, v)) * self.axes.min(axis=1)[:, None, None]


def pixel_cover(depth: np.ndarray, pixel: float) -> np.ndarray:
    """The share of each pixel that lies inside an edge, from the depth at its centre."""
    return np.clip(depth / pixel + 0.5, 0, 1)


def painted_ground(ground: np.ndarray, colour: np.ndarray, cover: np.ndarray) -> np.ndarray:
    """`ground` (num, C, H, W) under `colour`, (num, C, H, W) or (num, C, 1, 1), where `cover` (num, H, W) is 1."""
    return ground + (colour - ground) * cover[:, None]
