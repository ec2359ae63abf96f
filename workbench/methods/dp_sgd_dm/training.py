"""DP-SGD DM's training: both stages minimise the denoising loss at all time steps."""

from collections.abc import Iterator

from torch import Tensor, nn

from workbench.datasets.base import DatasetFacts
from workbench.diffusion import build_diffusion
from workbench.methods.dp_sgd_dm.method import DPSGDDMConfig
from workbench.models import denoising, image_diffusion, pretrained
from workbench.models.denoising import Denoiser
from workbench.models.sample_request import SampleRequest, Source
from workbench.models.settings import DP_SGD
from workbench.records import Records
from workbench.training.row_losses import RowLosses
from workbench.training.state import State, Step


def initial_state(config: DPSGDDMConfig, facts: DatasetFacts, state: State) -> State:
    """The network, its moving averages (with a copy from before any private record) and an Adam for each stage."""
    return pretrained.initial_state(config, facts, state, config.training, DP_SGD)


def fit(config: DPSGDDMConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """Pre-train on public records, then DP-SGD with labels and noise multiplicity."""
    diffusion = build_diffusion(config.diffusion)

    def losses(network: nn.Module, batch: tuple[Tensor, ...]) -> RowLosses:
        return image_diffusion.row_losses(diffusion, network, batch, diffusion.timesteps)

    yield from pretrained.pretrain(config, data, public, state, image_diffusion.ordinary_loss)
    yield from pretrained.fine_tune(config.training, DP_SGD, data, state, losses)


def sample(config: DPSGDDMConfig, state: State, request: SampleRequest) -> Records:
    """Images from the moving average; source 'public' takes the one from before any private record."""
    return pretrained.sample(config, state, request, image_diffusion.draw_samples)


def denoiser(config: DPSGDDMConfig, state: State, source: Source) -> Denoiser:
    """The moving average of the weights; that of public pre-training alone for the source "public"."""
    return denoising.of_diffusion(config, pretrained.averaged(state, source), state)
