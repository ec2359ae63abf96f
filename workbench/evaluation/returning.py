"""From how much noise a model brings an image back: the image noised as far as a time, and what the model's denoising makes of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from workbench.datasets.base import to_uint8
from workbench.diffusion.samplers import ddim
from workbench.lazy import torch, without_gradients

if TYPE_CHECKING:
    from torch import Tensor

    from workbench.models.denoising import Denoiser
    from workbench.records import Records

SHARES = (0.1, 0.25, 0.4, 0.6, 0.8, 1.0)  # of T: at the last one no more of the image is left than in the noise that samplers begin with
STEPS = 25  # of the sampler, from each time


@dataclass(frozen=True)
class Returning:
    """One image at every time of `times` (K,): noised, and denoised from there; uint8 (K, C, H, W) each."""

    times: tuple[int, ...]
    noised: np.ndarray
    returned: np.ndarray

    def distances(self, image: np.ndarray) -> np.ndarray:
        """How far what came back is from an image (C, H, W) uint8: root mean square of pixels in [0, 1], (K,)."""
        return np.sqrt(np.square((self.returned.astype(np.float64) - image) / 255).mean(axis=(1, 2, 3)))


@without_gradients
def returning(denoiser: Denoiser, record: Records, seed: int = 0) -> Returning:
    """The single image of `record` at `SHARES` of T, each time with the same noise of `seed`, denoised by DDIM (eta 0, no guidance)."""
    (_, image, rows), *_ = denoiser.parts(record)
    draw = torch.Generator(image.device).manual_seed(seed)
    noise = torch.randn(image.shape, generator=draw, device=image.device)
    diffusion = denoiser.diffusion
    times = tuple(max(1, round(share * diffusion.timesteps)) for share in SHARES)

    def predicted(x: Tensor, t: Tensor) -> Tensor:
        return denoiser.noise(x, t, rows)

    noised = [diffusion.add_noise(image, noise, torch.full((1,), time, device=image.device)) for time in times]
    ways = [diffusion.schedule.inference_timesteps(min(STEPS, time), "even", time) for time in times]
    returned = [ddim(predicted, x, diffusion, way, 0.0, draw) for x, way in zip(noised, ways, strict=True)]
    return Returning(times, _images(denoiser, noised), _images(denoiser, returned))


def _images(denoiser: Denoiser, states: list[Tensor]) -> np.ndarray:
    """What a model works on, as images uint8 (K, C, H, W)."""
    together = torch.cat(states)
    return to_uint8((together if denoiser.coder is None else denoiser.coder.decode(together)).float().cpu().numpy())
