"""Records under the forward process: what is left of them, and how much a noised image protects, over the time step."""

from functools import lru_cache
from typing import Literal

import numpy as np
import pandas as pd
from pydantic import Field

from workbench.datasets import load
from workbench.datasets.base import to_uint8, to_unit_range
from workbench.diffusion import DiffusionConfig, build_diffusion, build_schedule
from workbench.lazy import torch
from workbench.methods.dp_promise.method import DPPromise
from workbench.methods.dp_promise.phases import DPPromiseConfig, epsilon_alone, phase_one_distance
from workbench.planning import configure
from workbench.privacy.accounting.gaussian import gdp_epsilon
from workbench.teaching.base import DELTA, PanelChoices

SIZES: dict[str, tuple[int, int, int]] = {
    "8×8 grey": (1, 8, 8),
    "28×28 grey": (1, 28, 28),
    "32×32 colour": (3, 32, 32),
    "64×64 colour": (3, 64, 64),
}
THUMBNAIL = 8  # pixels of the side of the small image that signal over noise is told of
TIMESTEPS = 1000
TIMES = tuple(range(0, TIMESTEPS + 1, 25))
BOUNDARIES = tuple(range(50, TIMESTEPS, 50))
CURVE_TIMES = tuple(range(10, TIMESTEPS + 1, 10))

Name = Literal["linear", "cosine"]


class ForwardChoices(PanelChoices, frozen=True):
    """Which schedule, which time step is looked at, and where dp-promise's phases meet."""

    schedule: Name = "linear"
    time: int = Field(default=100, ge=0, le=TIMESTEPS)
    boundary: int = Field(default=500, ge=1, lt=TIMESTEPS)


@lru_cache(maxsize=2)
def noised_digits(schedule: Name) -> np.ndarray:
    """One digit of each class at each of `TIMES`, with the same noise throughout: uint8 (len(TIMES), 10, 1, 8, 8).

    Each time's pictures are scaled by one factor, so that signal and two deviations of noise fit the range of grey.
    """
    train = load("digits").train
    assert train.labels is not None
    first = np.array([int(np.flatnonzero(train.labels == label)[0]) for label in range(10)])
    x_start = torch.from_numpy(to_unit_range(train.records[first]))
    diffusion = build_diffusion(DiffusionConfig(schedule=schedule, timesteps=TIMESTEPS))
    noise = torch.randn(x_start.shape, generator=torch.Generator().manual_seed(0))
    images = []
    for time in TIMES:
        signal_scale, noise_scale = diffusion.scales(torch.tensor([time]), x_start)
        x_t = diffusion.add_noise(x_start, noise, torch.full((10,), time))
        images.append(to_uint8((x_t / (signal_scale + 2 * noise_scale)).numpy()))
    return np.stack(images)


def over_time(schedule: Name, times: tuple[int, ...] = CURVE_TIMES) -> pd.DataFrame:
    """A row for each image size and time: the noised image's signal over noise as a thumbnail, its mu, and its epsilon at `DELTA`.

    A thumbnail's pixel is the mean of as many of the image's, whose noise it averages away: its signal-to-noise ratio is the image's
    own, abar / (1 - abar), times their number. mu is the distance of any two images of [-1, 1]^d in standard deviations of the noise.
    """
    alphas = build_schedule(DiffusionConfig(schedule=schedule, timesteps=TIMESTEPS)).alphas_cumprod
    return pd.DataFrame([_at(name, shape, time, float(alphas[time])) for name, shape in SIZES.items() for time in times])


def _at(name: str, shape: tuple[int, int, int], time: int, alpha: float) -> dict[str, object]:
    channels, height, width = shape
    mu = phase_one_distance(channels * height * width, alpha)
    averaged = height * width / THUMBNAIL**2
    return {"size": name, "time": time, "snr": averaged * alpha / (1 - alpha), "mu": mu, "epsilon": gdp_epsilon(mu, DELTA)}


@lru_cache(maxsize=64)
def phase_one(schedule: Name, boundary: int) -> tuple[float, float]:
    """What dp-promise's phase one on the digits costs at a boundary, by its usual settings: proved epsilon and claim, both at `DELTA`."""
    facts = load("digits").facts
    config = configure(DPPromise, facts, {"boundary": boundary, "diffusion.schedule": schedule})
    assert isinstance(config, DPPromiseConfig)
    return epsilon_alone(config, facts, DELTA, "bound"), epsilon_alone(config, facts, DELTA, "claim")
