"""Phase one's losses: what is drawn of the records, and what is trained on it."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from workbench.diffusion import build_diffusion
from workbench.methods.dp_promise import phase_one
from workbench.methods.dp_promise.config import DPPromiseConfig
from workbench.models import image_diffusion
from workbench.training.entries import Entries
from workbench.training.poisson import fixed_size_batch, poisson_batch
from workbench.training.state import State


def renoised_loss(config: DPPromiseConfig, network: Callable[..., Tensor], images: Entries, state: State, step: int) -> Tensor:
    """Release y ~ q(x_S | x) of a fresh fixed-size batch; regress on the noise that leads from y to later steps.

    A null record's image is zero, so that its part of the release is noise alone.
    """
    chosen = fixed_size_batch(state.randomness, "phase one batch", step, len(images), config.phase_one.batch_size)
    batch = images[torch.from_numpy(chosen).to(images.device)]
    noised = phase_one.noised(config, batch.flatten(1).cpu().numpy(), state.randomness, "phase one release", step)
    released = torch.from_numpy(noised.astype(np.float32)).view(batch.shape).to(images.device)
    return post_processing_loss(config, network, released, state, step)


def post_processing_loss(config: DPPromiseConfig, network: Callable[..., Tensor], released: Tensor, state: State, step: int) -> Tensor:
    """The regression on released y (B, C, H, W), several times each: no record enters but through y.

    L = || w - sqrt((1 - r) / (1 - abar_t)) z_theta(sqrt(r) y + sqrt(1 - r) w, t) ||^2 with r = abar_t / abar_S.
    """
    diffusion, boundary = build_diffusion(config.diffusion), config.last_private_timestep
    released = released.repeat(config.phase_one.draws, 1, 1, 1)
    draw = state.randomness.torch_generator("phase one times", step)
    times = torch.randint(boundary + 1, diffusion.timesteps + 1, (len(released),), generator=draw).to(released.device)
    fresh = torch.randn(released.shape, generator=draw).to(released.device)
    alphas = torch.tensor(diffusion.schedule.alphas_cumprod, dtype=torch.float32, device=released.device)
    kept = (alphas[times] / alphas[boundary]).view(-1, 1, 1, 1)  # r
    factor = ((1 - kept) / (1 - alphas[times].view(-1, 1, 1, 1))).sqrt()
    noisy = kept.sqrt() * released + (1 - kept).sqrt() * fresh
    predicted = diffusion.predict_noise(network(noisy, times, torch.zeros_like(times)), noisy, times)
    return (fresh - factor * predicted).square().mean()


def paper_loss(
    config: DPPromiseConfig, network: Callable[..., Tensor], images: Entries, present: Tensor, state: State, step: int
) -> Tensor:
    """Algorithm 1, lines 2 to 6: a Poisson batch, times in S..T, and the noise itself as the target; a null record's loss is zero."""
    diffusion = build_diffusion(config.diffusion)
    rate = config.phase_one.batch_size / len(images)
    chosen = poisson_batch(state.randomness, "phase one batch", step, len(images), rate)
    index = torch.from_numpy(chosen).to(images.device)
    batch = images[index]
    draw = state.randomness.torch_generator("phase one times", step)
    times = torch.randint(config.last_private_timestep, diffusion.timesteps + 1, (len(batch),), generator=draw).to(images.device)
    noise = torch.randn(batch.shape, generator=draw).to(images.device)
    rows = torch.zeros_like(times)
    losses = image_diffusion.plain_loss(diffusion, network, batch, rows, times, noise)
    return (losses * present[index]).sum() / max(len(batch), 1)
