"""Images brought from one frame to another, in one resampling."""

import numpy as np
import torch
from torch.nn import functional

from workbench.models.frames import NUMBERS, STANDARD, frames_of, grid_of

CHUNK = 2_000


def reframed(images: np.ndarray, frames: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Images float32 (N, C, H, W) in [0, 1] that have `frames` (N, 5), brought to `others` (N, 5); what comes in is black."""
    made, places = np.empty(images.shape, np.float32), [slice(at, at + CHUNK) for at in range(0, len(images), CHUNK)]
    frames, others = (np.broadcast_to(given, (len(images), NUMBERS)) for given in (frames, others))
    for part in places:
        grid = torch.from_numpy(grid_of(frames[part], others[part], images.shape[2], images.shape[3]))
        given = torch.from_numpy(np.ascontiguousarray(images[part], np.float32))
        found = functional.grid_sample(given, grid, mode="bicubic", padding_mode="zeros", align_corners=False)
        made[part] = found.clamp(0.0, 1.0).numpy()
    return made


def in_standard_frame(images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """uint8 images (N, C, H, W) brought to the standard frame, float32 in [0, 1], and the frames (N, 5) that they had."""
    found = frames_of(images)
    return reframed(images / np.float32(255), found, STANDARD), found
