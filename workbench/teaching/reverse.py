"""The reverse process as a film strip, by a denoiser that needs no training: the exact one of a Gaussian for each class of digits.

The samplers and the guidance are the workbench's own; only the network is replaced by the formula that it would learn.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from workbench.datasets import load
from workbench.datasets.base import to_uint8, to_unit_range
from workbench.diffusion import SAMPLERS, DiffusionConfig, build_diffusion, classifier_free
from workbench.lazy import torch
from workbench.teaching.base import PanelChoices

if TYPE_CHECKING:
    from torch import Tensor

GUIDANCE = (0.0, 1.0, 3.0, 8.0)
FRAMES = 9
DRAWN = 8  # samples of each row
LEAST_VARIANCE = 1e-3  # a pixel that never changes would leave no density

SamplerName = Literal["ddim", "ddpm", "dpm-solver++"]


class ReverseChoices(PanelChoices, frozen=True):
    """Which digit is asked for, by which sampler and guidance, in how many steps, and the noise that everything starts from."""

    digit: int = Field(default=3, ge=0, le=9)
    sampler: SamplerName = "ddim"
    guidance_scale: float = Field(default=1.0, ge=0, le=20)
    steps: int = Field(default=20, ge=2, le=200)
    seed: int = Field(default=0, ge=0, le=10_000)


@dataclass(frozen=True)
class IdealDenoiser:
    """The noise that is expected in x_t, where images are of one Gaussian for each class: exact, in closed form, float64."""

    means: Tensor  # (K, D)
    variances: Tensor  # (K, D), of each class's covariance along its directions
    directions: Tensor  # (K, D, D), a column each
    alphas_cumprod: np.ndarray

    def __call__(self, x_t: Tensor, t: Tensor, labels: Tensor | None) -> Tensor:
        """Of the class of `labels` (row c + 1 is class c), or of all classes together where there are none."""
        alpha = float(self.alphas_cumprod[int(t[0])])
        noises, likelihoods = self._by_class(x_t.double().flatten(1), alpha)
        if labels is None:
            noise = (torch.softmax(likelihoods, dim=1)[:, :, None] * noises).sum(1)
        else:
            noise = noises[torch.arange(len(x_t)), labels - 1]
        return noise.view(x_t.shape).to(x_t.dtype)

    def margins(self, images: Tensor, label: int) -> Tensor:
        """The logarithm to base 10 of how much likelier images are as class `label` than as all others together: (B,)."""
        likelihoods = self._by_class(images.double().flatten(1), 1.0)[1]
        others = torch.cat([likelihoods[:, :label], likelihoods[:, label + 1 :]], dim=1)
        return (likelihoods[:, label] - others.logsumexp(1)) / math.log(10)

    def _by_class(self, x: Tensor, alpha: float) -> tuple[Tensor, Tensor]:
        """Expected noise (B, K, D) and log density (B, K) of each class, but for a constant of all."""
        apart = torch.einsum("bkd,kde->bke", x[:, None] - alpha**0.5 * self.means, self.directions)  # along each class's directions
        spread = alpha * self.variances + 1.0 - alpha
        noise = torch.einsum("bke,kde->bkd", (1.0 - alpha) ** 0.5 * apart / spread, self.directions)
        return noise, -0.5 * (apart**2 / spread + spread.log()).sum(2)


@lru_cache(maxsize=1)
def ideal() -> IdealDenoiser:
    """The denoiser of the Gaussians that the training digits of each class have."""
    train = load("digits").train
    vectors = to_unit_range(train.records).reshape(len(train), -1).astype(np.float64)
    moments = [(vectors[train.labels == label].mean(0), np.cov(vectors[train.labels == label].T)) for label in range(10)]
    values, directions = np.linalg.eigh(np.stack([covariance for _, covariance in moments]))
    means, variances = np.stack([mean for mean, _ in moments]), np.maximum(values, LEAST_VARIANCE)
    alphas = build_diffusion(DiffusionConfig()).schedule.alphas_cumprod
    return IdealDenoiser(torch.from_numpy(means), torch.from_numpy(variances), torch.from_numpy(directions), alphas)


@dataclass(frozen=True)
class Film:
    """One sample on its way, and several samples of the same settings."""

    name: str
    times: tuple[int, ...]  # of the frames
    frames: np.ndarray  # uint8 (FRAMES, 1, 8, 8)
    samples: np.ndarray  # uint8 (DRAWN, 1, 8, 8)
    margin: float  # powers of ten by which a sample is likelier as the digit that was asked for than as any other, on average
    spread: float  # mean distance of two samples


def by_guidance(choices: ReverseChoices) -> list[Film]:
    """A film for each guidance scale, the one that was asked for among them, all from the same noise."""
    scales = sorted({*GUIDANCE, choices.guidance_scale})
    return [film(f"guidance {scale:g}", choices.model_copy(update={"guidance_scale": scale})) for scale in scales]


def by_sampler(choices: ReverseChoices) -> list[Film]:
    """A film for each sampler, all from the same noise."""
    return [film(name, choices.model_copy(update={"sampler": name})) for name in SAMPLERS]


def film(name: str, choices: ReverseChoices) -> Film:
    """What a sampler makes of the noise of `asked.seed`; ddim and dpm-solver++ draw none of their own, ddpm does."""
    diffusion, draw = build_diffusion(DiffusionConfig()), torch.Generator().manual_seed(choices.seed)
    times = diffusion.schedule.inference_timesteps(choices.steps)
    start, labels = torch.randn((DRAWN, 1, 8, 8), generator=draw), torch.full((DRAWN,), choices.digit + 1)
    guided = classifier_free(ideal(), labels, choices.guidance_scale)
    seen: list[Tensor] = [start]
    keep: Callable[[int, Tensor], None] = lambda _done, x: seen.append(x)  # noqa: E731
    eta = 1.0 if choices.sampler == "ddpm" else 0.0
    final = SAMPLERS[choices.sampler](guided, start, diffusion, times, eta, draw, on_step=keep)
    places = np.unique(np.linspace(0, len(times) - 1, FRAMES).round().astype(int))
    return Film(
        name=name,
        times=tuple(times[place] for place in places),
        frames=to_uint8(np.stack([seen[place][0].numpy() for place in places])),
        samples=to_uint8(final.numpy()),
        margin=float(ideal().margins(final, choices.digit).mean()),
        spread=float(torch.pdist(final.flatten(1)).mean()),
    )
