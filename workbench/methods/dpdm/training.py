"""DPDM's training: DP-SGD, after public pre-training if asked for, on EDM's loss (Dockhorn et al. 2023, Algorithm 1)."""

from collections.abc import Iterator

from torch import Tensor, nn

from workbench.datasets.base import DatasetFacts
from workbench.diffusion.edm import EDM
from workbench.methods.dpdm.method import DPDMConfig
from workbench.models import denoising, edm_images, pretrained
from workbench.models.denoising import Denoiser
from workbench.models.sample_request import SampleRequest, Source
from workbench.models.settings import DP_SGD
from workbench.records import Records
from workbench.training.row_losses import RowLosses
from workbench.training.state import State, Step


def initial_state(config: DPDMConfig, facts: DatasetFacts, state: State) -> State:
    """The network, its moving averages (with a copy from before any private record) and an Adam for each stage."""
    return pretrained.initial_state(config, facts, state, config.training, DP_SGD)


def fit(config: DPDMConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """A record's loss is the mean over K noise samples, each at a level of its own; its label is dropped once for all of them."""
    edm = EDM(config.diffusion)

    def losses(network: nn.Module, batch: tuple[Tensor, ...]) -> RowLosses:
        return edm_images.row_losses(edm, network, batch, config.label_dropout)

    yield from pretrained.pretrain(config, data, public, state, edm_images.ordinary_loss)
    yield from pretrained.fine_tune(config.training, DP_SGD, data, state, losses)


def sample(config: DPDMConfig, state: State, request: SampleRequest) -> Records:
    """Images from the moving average; source 'public' takes the one from before any private record."""
    return pretrained.sample(config, state, request, edm_images.draw_samples)


def denoiser(config: DPDMConfig, state: State, source: Source) -> Denoiser:
    """The moving average of the weights; that of public pre-training alone for the source "public"."""
    return denoising.of_edm(config, pretrained.averaged(state, source), state)
