"""The coarse cosines of images: an orthonormal part of the discrete cosine transform (type II), as good for any photograph."""

import math

import numpy as np


def cosines(count: int, pixels: int) -> np.ndarray:
    """The `count` coarsest of `pixels` orthonormal cosines, (count, pixels)."""
    frequencies, places = np.arange(count)[:, None], np.arange(pixels) + 0.5
    return np.cos(math.pi * frequencies * places / pixels) * np.where(frequencies == 0, 1.0, math.sqrt(2)) / math.sqrt(pixels)


def analysed(images: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """Coefficients (N, C * rows * columns) of images (N, C, H, W): each image by products of its own, whatever stands beside it."""
    found = cosines(rows, images.shape[2]) @ images @ cosines(columns, images.shape[3]).T
    return found.reshape(len(images), -1)


def synthesised(coefficients: np.ndarray, coarse: tuple[int, int, int], size: tuple[int, int]) -> np.ndarray:
    """Images (N, C, H, W) of coefficients (N, C * rows * columns), `coarse` being (C, rows, columns) and `size` (H, W)."""
    found = coefficients.reshape(-1, *coarse)
    return cosines(coarse[1], size[0]).T @ found @ cosines(coarse[2], size[1])
