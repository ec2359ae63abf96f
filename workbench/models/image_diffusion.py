"""The image diffusion model that several methods train, each in its own way: network, moving average, step, sampler."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
import torch
from torch import Tensor, nn

from workbench import networks
from workbench.datasets.base import DatasetFacts, to_uint8, to_unit_range
from workbench.diffusion import GaussianDiffusion, build_diffusion, generate
from workbench.models.latents.autoencoder import autoencoder, decoded, encoded
from workbench.models.sample_request import SampleRequest
from workbench.models.settings import DiffusionSettings, NetworkSettings
from workbench.records import Records
from workbench.training.entries import Entries, Images
from workbench.training.microbatch import Microbatch
from workbench.training.row_losses import RowLosses
from workbench.training.state import State

StepLoss = Callable[[int], Tensor]  # the mean loss of step 1, 2, ..
UNCONDITIONAL = 0  # row of the label embedding that stands for "no label"; class c is row c + 1
SAMPLE_BATCH = {"cpu": 100, "cuda": 500}  # larger ones are slower on a CPU: memory for their tensors is mapped anew each time


def new_network(
    settings: NetworkSettings, facts: DatasetFacts, state: State, purpose: str = "initialisation", outputs: int = 1
) -> networks.UNet:
    """A U-Net for the dataset's shape and classes, initialised from the state's randomness.

    Records without labels take the unconditional row of its label embedding, like those whose label is dropped.
    """
    channels, height, width = facts.shape
    network = networks.initialized(
        lambda: networks.UNet(settings.network, channels, (height, width), max(facts.num_classes, 1), outputs),
        state.randomness.torch_generator(purpose),
    )
    return network.to(state.device, memory_format=state.performance.memory_format)  # pyright: ignore[reportCallIssue]


def new_ema(settings: NetworkSettings, network: nn.Module, state: State) -> networks.ExponentialMovingAverage:
    """The moving average that samples are drawn from."""
    return networks.ExponentialMovingAverage(network, settings.ema_decay).to(state.device)


def ordinary(network: nn.Module, state: State) -> Callable[..., Tensor]:
    """The network as ordinary passes call it: compiled, if asked. Private passes take it layer by layer instead."""
    return _compiled(network) if state.performance.compile else network


@lru_cache(maxsize=4)
def _compiled(network: nn.Module) -> Callable[..., Tensor]:
    return torch.compile(network)


def averaged(state: State, name: str = "ema") -> nn.Module:
    """The averaged network that `state.modules[name]` keeps."""
    ema = state.modules[name]
    assert isinstance(ema, networks.ExponentialMovingAverage)
    return ema.module


def label_rows(labels: np.ndarray | None, count: int) -> np.ndarray:
    """Rows of the label embedding for int64 labels (N,); the unconditional row where there are none."""
    return np.full(count, UNCONDITIONAL, dtype=np.int64) if labels is None else labels + 1


def entries(data: Records, device: torch.device) -> tuple[Images, Tensor]:
    """Images float32 (N, C, H, W) in [-1, 1], zero for null records, made as they are asked for; label rows int64 (N,); on `device`."""
    return Images(data, device), torch.from_numpy(label_rows(data.labels, len(data))).to(device)


def learned_entries(data: Records, state: State) -> tuple[Entries, Tensor]:
    """What the state's network learns of the records, and their label rows: latents where the state has an autoencoder, else images."""
    images, rows = entries(data, state.device)
    network = autoencoder(state)
    return (images if network is None else encoded(images, torch.from_numpy(data.mask), network)), rows


def plain_loss(
    diffusion: GaussianDiffusion, network: Callable[..., Tensor], images: Tensor, rows: Tensor, times: Tensor, noise: Tensor
) -> Tensor:
    """The denoising loss per record (B,), mean over pixels (dp-promise, eq. 6)."""
    output = network(diffusion.add_noise(images, noise, times), times, rows)
    return diffusion.loss(output, images, noise, times)


def row_losses(diffusion: GaussianDiffusion, network: nn.Module, batch: tuple[Tensor, ...], last: int) -> RowLosses:
    """The denoising losses of a batch's images and label rows for a private step, at times drawn from 1..`last`."""
    shape = tuple(batch[0].shape[1:])

    def draw(part: Microbatch) -> tuple[Tensor, Tensor]:
        return part.integers(1, last + 1), part.normal(shape)

    def inputs(image: Tensor, label: Tensor, time: Tensor, noise: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return diffusion.add_noise(image, noise, time), time, label

    def loss(output: Tensor, image: Tensor, _label: Tensor, time: Tensor, noise: Tensor) -> Tensor:
        return diffusion.loss(output, image, noise, time)

    return RowLosses(network, batch, draw, inputs, loss)


def ordinary_loss(
    settings: DiffusionSettings, data: Records, state: State, stage: str, batch_size: int, label_dropout: float, last: int | None = None
) -> StepLoss:
    """The mean denoising loss of a step of ordinary training: records drawn evenly, some without their label, times, noise.

    Times are drawn from 1..`last` (None: T). A null record is drawn like any other, and its loss is zero.
    """
    diffusion, network = build_diffusion(settings.diffusion), ordinary(state.modules["network"], state)
    latest = diffusion.timesteps if last is None else last

    def times(count: int, draw: torch.Generator) -> Tensor:
        return torch.randint(1, latest + 1, (count,), generator=draw)

    return mean_loss(times, partial(plain_loss, diffusion, network), data, state, stage, batch_size, label_dropout)


def mean_loss(
    levels: Callable[[int, torch.Generator], Tensor],
    losses: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor],
    data: Records,
    state: State,
    stage: str,
    batch_size: int,
    label_dropout: float,
    *,
    of_pixels: bool = False,
) -> StepLoss:
    """The mean of `losses(images, rows, levels, noise)`, (B,): records drawn evenly, some without their label, levels, noise.

    A null record is drawn like any other, and its loss is zero. `of_pixels` keeps images as they are where the state has an autoencoder.
    """
    images, rows = entries(data, state.device) if of_pixels else learned_entries(data, state)
    present = torch.from_numpy(data.mask).to(state.device)

    def loss(step: int) -> Tensor:
        draw = state.randomness.torch_generator(f"{stage} batch", step)
        index = torch.randint(len(images), (batch_size,), generator=draw).to(images.device)
        kept = (torch.rand(batch_size, generator=draw) >= label_dropout).to(images.device)
        level = levels(batch_size, draw).to(images.device)
        noise = torch.randn((batch_size, *images.shape[1:]), generator=draw).to(images.device)
        return (losses(images[index], rows[index] * kept, level, noise) * present[index]).mean()

    return loss


@dataclass(frozen=True)
class Origin:
    """Where samples start other than from pure noise: `images` uint8 (N, C, H, W), one a sample, noised as far as time `start`.

    Meng et al. 2022 (SDEdit), section 3.
    """

    images: np.ndarray
    start: int


def draw_samples(
    settings: DiffusionSettings,
    network: nn.Module,
    state: State,
    request: SampleRequest,
    origin: Origin | None = None,
    draw: Callable[..., Tensor] = generate,
) -> Records:
    """uint8 images by the configured sampler with classifier-free guidance, in batches, with their labels; `draw` as `generate`."""
    diffusion, model, coder = build_diffusion(settings.diffusion), ordinary(network, state), autoencoder(state)
    start = None if origin is None else origin.start

    def run(x: Tensor, rows: Tensor, generator: torch.Generator, place: slice) -> Tensor:
        if origin is not None:
            begin = torch.from_numpy(to_unit_range(origin.images[place])).to(state.device)
            begin = begin if coder is None else coder.encode(begin)
            x = diffusion.add_noise(begin, x, torch.full((len(x),), origin.start, device=state.device))
        return draw(model, x, diffusion, settings.sampler, generator, labels=rows, start=start)

    return drawn(run, state, request)


def drawn(run: Callable[[Tensor, Tensor, torch.Generator, slice], Tensor], state: State, request: SampleRequest) -> Records:
    """uint8 images with their labels, in batches: `run(noise, label rows, generator, which samples)` turns normal noise into images.

    Where the state has an autoencoder, noise and what it is turned into are of its latents' shape, and decoded.
    """
    coder = autoencoder(state)
    shape = state.facts.shape if coder is None else coder.latent_shape(state.facts)
    labels = request.label_array(state.facts.num_classes)
    rows = torch.from_numpy(label_rows(labels, request.num_samples))
    images = [np.zeros((0, *state.facts.shape), np.uint8)]
    size = SAMPLE_BATCH[state.device.type]
    for number, chosen in enumerate(rows.to(state.device).split(size)):
        generator = state.randomness.torch_generator(request.purpose, number, state.device)
        noise = torch.randn((len(chosen), *shape), generator=generator, device=state.device)
        with state.performance.autocast(state.device):
            image = run(noise, chosen, generator, slice(number * size, number * size + len(chosen)))
            image = image if coder is None else decoded(image, coder)
        images.append(to_uint8(image.float().cpu().numpy()))
    return Records(np.concatenate(images), labels)
