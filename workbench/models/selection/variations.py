"""Random variations of images, one registry entry each. A variation of size 0 changes nothing; size 1 is the largest in use.

A variation takes images float32 (N, C, H, W) in [0, 1] of one class, its size and a generator on their device; it returns as many,
which may leave [0, 1] a little. Lengths are shares of the image, so that a size means the same at every resolution.
"""

from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F

TURN, STRETCH, SLANT = 0.15, 0.10, 0.12  # deviations at size 1: radians, logarithm of a scale, shear
SHIFT, BEND, BEND_REACH = 0.6 / 28, 1 / 28, 5 / 28  # shares of the side: shift, bend, and how far a bend reaches
WEIGHT = 0.5  # deviation of the change of the stroke's weight, of one pixel of 28
MOST_WEIGHT = 0.6
ZOOM, CROP_SHIFT = 0.08, 0.04
GAIN, OFFSET = 0.12, 0.05
MIXED = 0.3  # the most that another image has in a mixture

Vary = Callable[[Tensor, float, torch.Generator], Tensor]


def normal(generator: torch.Generator, *shape: int) -> Tensor:
    """Standard normal values of `shape` on the generator's device."""
    return torch.randn(*shape, generator=generator, device=generator.device)


def warp(images: Tensor, size: float, generator: torch.Generator, resampling: str = "bilinear") -> Tensor:
    """Turned, stretched, slanted, shifted, and bent by a smooth field (Simard, Steinkraus and Platt 2003); what comes in is black.

    All at once, as every resampling blurs.
    """
    count, _, height, width = images.shape
    turn, slant = normal(generator, count) * TURN * size, normal(generator, count) * SLANT * size
    wide, high = ((normal(generator, count) * STRETCH * size).exp() for _ in range(2))
    right, down = (normal(generator, count) * 2 * SHIFT * size for _ in range(2))  # the grid is 2 wide
    cos, sin = turn.cos(), turn.sin()
    rows = torch.stack([cos * wide, (slant - sin) * wide, right], 1), torch.stack([sin * high, cos * high, down], 1)
    straight = F.affine_grid(torch.stack(rows, 1), list(images.shape), align_corners=False)
    bend = smooth_field(count, height, width, generator) * 2 * BEND * size
    return resampled_images(images, straight + bend.permute(0, 2, 3, 1), "zeros", resampling)


def stroke(images: Tensor, size: float, generator: torch.Generator) -> Tensor:
    """Thicker or thinner strokes: a part of the way to the largest, or to the smallest, of the neighboring pixels."""
    pixel = min(1.0, min(images.shape[2:]) / 28)
    change = (normal(generator, len(images)) * WEIGHT * size).clamp(-1, 1).view(-1, 1, 1, 1) * MOST_WEIGHT * pixel
    thick, thin = F.max_pool2d(images, 3, 1, 1), -F.max_pool2d(-images, 3, 1, 1)
    return images + change.clamp(min=0) * (thick - images) - change.clamp(max=0) * (thin - images)


def crop(images: Tensor, size: float, generator: torch.Generator) -> Tensor:
    """A window a little larger, smaller or shifted; what comes in is the image reflected at its border."""
    count = len(images)
    zoom = (normal(generator, count) * ZOOM * size).exp()
    right, down = (normal(generator, count) * 2 * CROP_SHIFT * size for _ in range(2))
    none = torch.zeros_like(zoom)
    rows = torch.stack([zoom, none, right], 1), torch.stack([none, zoom, down], 1)
    return resampled_images(images, F.affine_grid(torch.stack(rows, 1), list(images.shape), align_corners=False), "reflection")


def colour(images: Tensor, size: float, generator: torch.Generator) -> Tensor:
    """Each channel brighter or darker, steeper or flatter."""
    count, channels = images.shape[:2]
    gain = (normal(generator, count, channels, 1, 1) * GAIN * size).exp()
    return images * gain + normal(generator, count, channels, 1, 1) * OFFSET * size


def mixing(images: Tensor, size: float, generator: torch.Generator) -> Tensor:
    """Each image with a part of another one of those given."""
    others = images[torch.randperm(len(images), generator=generator, device=images.device)]
    part = torch.rand(len(images), 1, 1, 1, generator=generator, device=images.device) * MIXED * min(size, 1.0)
    return images + part * (others - images)


VARIATIONS: dict[str, Vary] = {  # beside `denoise`, which takes a model: see `denoising`
    "warp": warp,
    "crisp-warp": partial(warp, resampling="bicubic"),  # blurs less, which adds up over rounds
    "stroke": stroke,
    "crop": crop,
    "colour": colour,
    "mixing": mixing,
}


def varied_images(images: Tensor, names: Sequence[str], size: float, generator: torch.Generator) -> Tensor:
    """uint8 images (N, C, H, W) of one class, varied by `names` in order; as they are at size 0."""
    if size == 0 or len(images) == 0:
        return images
    made = images.float() / 255
    for name in names:
        made = VARIATIONS[name](made, size, generator)
    return (made.clamp(0, 1) * 255).round().to(torch.uint8)


def sharpened_images(images: Tensor, amount: float) -> Tensor:
    """uint8 images (N, C, H, W) with `amount` times what a blur of one pixel of 28 takes away; as they are at 0 (unsharp masking)."""
    if amount == 0 or len(images) == 0:
        return images
    down, right = (gaussian(side / 28).to(images.device) for side in images.shape[2:])
    single = images.flatten(0, 1).unsqueeze(1).float()
    blurred = F.conv2d(F.conv2d(single, down.view(1, 1, -1, 1), padding="same"), right.view(1, 1, 1, -1), padding="same")
    made = single + amount * (single - blurred)
    return made.clamp(0, 255).round().to(torch.uint8).view(images.shape)


def resampled_images(images: Tensor, grid: Tensor, padding: str, resampling: str = "bilinear") -> Tensor:
    """The images at the places of `grid` (N, H, W, 2)."""
    return F.grid_sample(images, grid, mode=resampling, padding_mode=padding, align_corners=False)


def smooth_field(count: int, height: int, width: int, generator: torch.Generator) -> Tensor:
    """White noise after a Gaussian blur that reaches BEND_REACH of the sides, again of variance 1: (count, 2, height, width)."""
    high, wide = (gaussian(BEND_REACH * side).to(generator.device) for side in (height, width))
    noise = normal(generator, 2 * count, 1, height + len(high) - 1, width + len(wide) - 1)
    blurred = F.conv2d(F.conv2d(noise, high.view(1, 1, -1, 1)), wide.view(1, 1, 1, -1))
    return blurred.view(count, 2, height, width) / (high.norm() * wide.norm())


def gaussian(deviation: float) -> Tensor:
    """A Gaussian's values at whole steps out to three deviations, of sum 1."""
    reach = int(3 * deviation + 1)
    values = torch.exp(-(torch.arange(-reach, reach + 1) ** 2) / (2 * max(deviation, 1e-6) ** 2))
    return values / values.sum()
