"""DP-Diffusion's training: public pre-training, then DP-SGD on the whole network with augmentation multiplicity."""

from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor, nn

from workbench.datasets.base import DatasetFacts
from workbench.diffusion import build_diffusion
from workbench.methods.dp_diffusion.method import FINE_TUNING, DPDiffusionConfig
from workbench.models import denoising, image_diffusion, pretrained
from workbench.models.denoising import Denoiser
from workbench.models.sample_request import SampleRequest, Source
from workbench.records import Records
from workbench.training.microbatch import Microbatch
from workbench.training.row_losses import RowLosses
from workbench.training.state import State, Step


def initial_state(config: DPDiffusionConfig, facts: DatasetFacts, state: State) -> State:
    """The network, its moving averages (with a copy from before any private record) and an Adam for each stage."""
    return pretrained.initial_state(config, facts, state, config.fine_tuning, FINE_TUNING)


def fit(config: DPDiffusionConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """Pre-train on public records, then fine-tune all weights on the private ones."""
    yield from pretrained.pretrain(config, data, public, state, image_diffusion.ordinary_loss)
    yield from pretrained.fine_tune(config.fine_tuning, FINE_TUNING, data, state, partial(augmented_losses, config))


def augmented_losses(config: DPDiffusionConfig, network: nn.Module, batch: tuple[Tensor, ...]) -> RowLosses:
    """Denoising losses of images and label rows; each of a record's K rows draws its flip, crop, time step and noise."""
    diffusion, shape = build_diffusion(config.diffusion), tuple(batch[0].shape[1:])
    up_to = torch.from_numpy(config.timestep_mixture.probabilities(config.diffusion.timesteps).cumsum()).to(batch[0].device)  # (T,)
    flips, most = config.augmentation.flips, config.augmentation.crop

    def pixels(part: Microbatch) -> Tensor:
        return (part.uniform().double() * (2 * most + 1)).floor().long() - most

    def draw(part: Microbatch) -> tuple[Tensor, ...]:
        flip = (part.uniform() < 0.5) & flips
        times = 1 + torch.searchsorted(up_to, part.uniform().double(), right=True).clamp(max=len(up_to) - 1)
        return flip, pixels(part), pixels(part), times, part.normal(shape)

    def inputs(
        image: Tensor, label: Tensor, flip: Tensor, down: Tensor, right: Tensor, time: Tensor, noise: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        return diffusion.add_noise(augmented_image(image, flip, down, right), noise, time), time, label

    def loss(
        output: Tensor, image: Tensor, _label: Tensor, flip: Tensor, down: Tensor, right: Tensor, time: Tensor, noise: Tensor
    ) -> Tensor:
        return diffusion.loss(output, augmented_image(image, flip, down, right), noise, time)

    return RowLosses(network, batch, draw, inputs, loss)


def augmented_image(image: Tensor, flip: Tensor, down: Tensor, right: Tensor) -> Tensor:
    """An image (1, C, H, W), mirrored where `flip` (1,) says so, then cropped by `down` and `right` (1,) pixels, its edge repeated."""
    height, width = image.shape[-2:]
    rows = (torch.arange(height, device=image.device) + down).clamp(0, height - 1)
    columns = (torch.arange(width, device=image.device) + right).clamp(0, width - 1)
    columns = torch.where(flip, width - 1 - columns, columns)
    return image[:, :, rows][:, :, :, columns]


def sample(config: DPDiffusionConfig, state: State, request: SampleRequest) -> Records:
    """Images from the moving average; source 'public' takes the one from before any private record."""
    return pretrained.sample(config, state, request, image_diffusion.draw_samples)


def denoiser(config: DPDiffusionConfig, state: State, source: Source) -> Denoiser:
    """The moving average of the weights; that of public pre-training alone for the source "public"."""
    return denoising.of_diffusion(config, pretrained.averaged(state, source), state)
