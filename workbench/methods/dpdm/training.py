"""DPDM's training: DP-SGD, after public pre-training if asked for, on EDM's loss (Dockhorn et al. 2023, Algorithm 1)."""

from collections.abc import Iterator

from torch import Tensor, nn

from workbench.diffusion.edm import EDM
from workbench.methods.dpdm.config import DPDMConfig
from workbench.models import edm_images, pretrained
from workbench.models.settings import DP_SGD
from workbench.records import Records
from workbench.training.row_losses import RowLosses
from workbench.training.state import State, Step


def fit(config: DPDMConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """A record's loss is the mean over K noise samples, each at a level of its own; its label is dropped once for all of them."""
    edm = EDM(config.diffusion)

    def losses(network: nn.Module, batch: tuple[Tensor, ...]) -> RowLosses:
        return edm_images.row_losses(edm, network, batch, config.label_dropout)

    yield from pretrained.pretrain(config, data, public, state, edm_images.ordinary_loss)
    yield from pretrained.fine_tune(config.training, DP_SGD, data, state, losses)
