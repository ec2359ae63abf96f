"""DP-SGD DM's training: both stages minimise the denoising loss at all time steps."""

from collections.abc import Iterator

from torch import Tensor, nn

from workbench.diffusion import build_diffusion
from workbench.methods.dp_sgd_dm.config import DPSGDDMConfig
from workbench.models import image_diffusion, pretrained
from workbench.models.settings import DP_SGD
from workbench.records import Records
from workbench.training.row_losses import RowLosses
from workbench.training.state import State, Step


def fit(config: DPSGDDMConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """Pre-train on public records, then DP-SGD with labels and noise multiplicity."""
    diffusion = build_diffusion(config.diffusion)

    def losses(network: nn.Module, batch: tuple[Tensor, ...]) -> RowLosses:
        return image_diffusion.row_losses(diffusion, network, batch, diffusion.timesteps)

    yield from pretrained.pretrain(config, data, public, state, image_diffusion.ordinary_loss)
    yield from pretrained.fine_tune(config.training, DP_SGD, data, state, losses)
