"""Training data with one entry a record, as private steps index them: tensors, or images that come to the device by batches."""

from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from workbench.datasets.base import to_unit_range
from workbench.records import Records


class Entries(Protocol):
    """What is asked of training data (N, ...): how many, of which shape, where, and those at some positions. A tensor is one."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def device(self) -> torch.device: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: Tensor, /) -> Tensor: ...


class Images:
    """Images float32 (N, C, H, W) in [-1, 1] on a device, zero for null records, of which only those asked for are ever made.

    The records stay uint8 where they lie, in memory or mapped from a file: CelebA at 64x64 would take 8 GB as float32.
    """

    def __init__(self, data: Records, device: torch.device) -> None:
        self._records, self._mask, self.device = data.records, data.mask, device

    @property
    def shape(self) -> tuple[int, ...]:
        """(N, C, H, W)."""
        return self._records.shape

    def __len__(self) -> int:
        return len(self._records)

    def __getitem__(self, index: Tensor, /) -> Tensor:
        """The images at positions int64 (B,), float32 (B, C, H, W)."""
        positions = index.cpu().numpy()
        images = to_unit_range(np.asarray(self._records[positions]))
        images[~self._mask[positions]] = 0.0
        return torch.from_numpy(images).to(self.device)
