"""Images at another size and number of channels, by fixed public rules."""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from workbench.datasets.base import Dataset
from workbench.errors import WorkbenchError
from workbench.records import Records

Shape = tuple[int, int, int]
LUMA = np.array([0.299, 0.587, 0.114], dtype=np.float32)  # ITU-R BT.601


def check_shape(shape: tuple[int, ...], low: int = 1, high: int = 4096) -> Shape:
    """Return `shape` if it is (C, H, W) with C 1 or 3 and sides of `low` to `high` pixels."""
    if len(shape) != 3 or shape[0] not in (1, 3) or not all(low <= side <= high for side in shape[1:]):
        raise WorkbenchError(f"Expected a shape C,H,W with C 1 or 3 and sides of {low} to {high} pixels, got {','.join(map(str, shape))}.")
    return shape[0], shape[1], shape[2]


def parse_shape(text: str) -> Shape:
    """`C,H,W` as three positive integers."""
    parts = text.split(",")
    if len(parts) != 3 or not all(part.strip().isdecimal() and int(part) > 0 for part in parts):
        raise WorkbenchError(f"Expected a shape C,H,W of three positive integers, got {text!r}.")
    channels, height, width = map(int, parts)
    return channels, height, width


@lru_cache(maxsize=32)
def axis_weights(source: int, target: int) -> np.ndarray:
    """Rows (target, source) that sum to 1: mean over the area a pixel covers when shrinking, linear between centres otherwise."""
    if target < source:
        edges = np.arange(target + 1) * (source / target)
        pixels = np.arange(source)
        covered = np.minimum(edges[1:, None], pixels + 1) - np.maximum(edges[:-1, None], pixels)
        weights = np.clip(covered, 0, None)
    else:
        centres = np.clip((np.arange(target) + 0.5) * (source / target) - 0.5, 0, source - 1)
        weights = np.clip(1 - np.abs(centres[:, None] - np.arange(source)), 0, None)
    return (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)


def convert_channels(images: np.ndarray, channels: int) -> np.ndarray:
    """uint8 (N, C, H, W) with 1 or 3 channels as `channels` channels: grey is repeated, colour becomes its luma."""
    if images.shape[1] == channels:
        return images
    if channels == 3:
        return np.repeat(images, 3, axis=1)
    grey = np.einsum("c,nchw->nhw", LUMA, images.astype(np.float32))
    return np.rint(grey).astype(np.uint8)[:, None]


def resize(images: np.ndarray, shape: Shape, batch: int = 1024) -> np.ndarray:
    """uint8 (N, C, H, W) as uint8 (N, *shape); the same array where nothing changes."""
    channels, height, width = shape
    images = convert_channels(images, channels)
    if images.shape[2:] == (height, width):
        return images
    rows, columns = axis_weights(images.shape[2], height), axis_weights(images.shape[3], width)
    resized = np.empty((len(images), *shape), dtype=np.uint8)
    for start in range(0, len(images), batch):
        part = rows @ images[start : start + batch].astype(np.float32) @ columns.T  # (batch, C, height, width)
        resized[start : start + batch] = np.rint(part)
    return resized


def at_shape(dataset: Dataset, shape: tuple[int, ...] | None) -> Dataset:
    """The dataset with images of `shape` (C, H, W); itself where `shape` is None or its own."""
    if shape is None or tuple(shape) == dataset.facts.shape:
        return dataset
    target = check_shape(shape)
    facts = dataset.facts.at_size(target)

    def converted(records: Records) -> Records:
        return replace(records, records=resize(records.records, target))

    return Dataset(facts, converted(dataset.train), converted(dataset.held_out))
