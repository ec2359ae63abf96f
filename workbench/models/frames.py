"""Images in a standard frame: where their ink lies, how far it slants and how wide and high it is, taken away by moments and given back.

Moment normalisation (Hu 1962), which handwriting is commonly deskewed by: what is left to differ between images of one kind is less. A
frame is of one image alone, by exact sums of whole numbers, whatever stands beside it. No torch.
"""

import numpy as np

STANDARD_SIZE = 0.16  # of a side: the deviation of the ink about its middle, along either side
STANDARD = np.array([0.0, 0.0, 0.0, 1.0, 1.0])  # the middle right and down, in standard sizes; slant; width and height, in these
LOWEST = np.array([-2.0, -2.0, -1.0, 0.5, 0.5])
HIGHEST = np.array([2.0, 2.0, 1.0, 2.0, 2.0])
NUMBERS = len(STANDARD)


def frames_of(images: np.ndarray) -> np.ndarray:
    """Frames (N, 5) of uint8 images (N, C, H, W), bright on dark, within LOWEST and HIGHEST; of a black image the standard one."""
    ink = images.astype(np.int64).sum(axis=1)
    height, width = ink.shape[1:]
    down, right = (2 * np.arange(side) + 1 - side for side in (height, width))  # halves of a pixel from the middle
    along, across = ink.sum(axis=2), ink.sum(axis=1)
    total = np.maximum(along.sum(axis=1), 1)
    x, y = (across * right).sum(axis=1) / total, (along * down).sum(axis=1) / total
    xx, yy = (across * right**2).sum(axis=1) / total - x**2 + 1 / 3, (along * down**2).sum(axis=1) / total - y**2 + 1 / 3
    xy = (ink * down[:, None] * right).sum(axis=(1, 2)) / total - x * y
    slant = xy / yy
    unit_x, unit_y = 2 * STANDARD_SIZE * width, 2 * STANDARD_SIZE * height
    wide, high = np.sqrt(np.maximum(xx - slant * xy, 0.0)) / unit_x, np.sqrt(yy) / unit_y
    found = np.stack([x / unit_x, y / unit_y, slant * height / width, wide, high], axis=1)
    return np.where(along.sum(axis=1, keepdims=True) > 0, np.clip(found, LOWEST, HIGHEST), STANDARD)


def grid_of(frames: np.ndarray, others: np.ndarray, height: int, width: int) -> np.ndarray:
    """Where images of `frames` (N, 5) are read for `others` (N, 5): float32 (N, height, width, 2), a side being from -1 to 1."""
    (x, y, slant, wide, high), (to_x, to_y, to_slant, to_wide, to_high) = (given.T[:, :, None, None] for given in (frames, others))
    down, right = ((2 * np.arange(side) + 1 - side) / side / (2 * STANDARD_SIZE) for side in (height, width))
    from_middle = (down[None, :, None] - to_y) / to_high
    from_left = (right[None, None, :] - to_x - to_slant * to_high * from_middle) / to_wide
    places = np.stack(
        [x + wide * from_left + slant * high * from_middle, np.broadcast_to(y + high * from_middle, from_left.shape)], axis=-1
    )
    return (places * (2 * STANDARD_SIZE)).astype(np.float32)
