"""Random Fourier features of images: cosines and sines of what they have in common with random waves."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor


def fourier_features(images: Tensor, frequencies: Tensor) -> Tensor:
    """Random Fourier features (B, 2 F) of unit norm for images (B, C, H, W) in [-1, 1] and frequencies (C H W, F)."""
    angles = (images.flatten(1) + 1.0) / 2.0 @ frequencies
    return torch.cat([angles.cos(), angles.sin()], dim=1) / math.sqrt(frequencies.shape[1])


def gaussian_frequencies(dimensions: int, count: int, length_scales: Sequence[float], device: torch.device) -> Tensor:
    """Frequencies (dimensions, count) of Gaussian kernels of these length scales in turn; public, so any repeatable draw will do."""
    scales = torch.tensor([length_scales[place % len(length_scales)] for place in range(count)])
    draw = torch.Generator().manual_seed(0)
    return (torch.randn(dimensions, count, generator=draw) / scales).to(device)


def usual_length_scale(dimensions: int) -> float:
    """What DP-MERF takes on pixels in [0, 1]."""
    return math.sqrt(0.134 * dimensions)
