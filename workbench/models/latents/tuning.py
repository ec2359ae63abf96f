"""DP-SGD on a part of a public diffusion model's weights, of latents or of pixels: state, training and samples of those that do that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

import torch
from torch import Tensor, nn

from workbench import networks
from workbench.datasets.base import DatasetFacts
from workbench.diffusion import build_diffusion
from workbench.errors import WorkbenchError
from workbench.models import image_diffusion, pretrained
from workbench.models.latents import autoencoder, files
from workbench.models.latents.config import ScaledLatents
from workbench.models.settings import DP_SGD, PRETRAINING, DiffusionSettings, FineTunedSettings
from workbench.records import Records
from workbench.training.row_losses import RowLosses
from workbench.training.state import State, Step

Trained = Callable[[networks.UNet], list[nn.Parameter]]  # the parameters that private steps train


class TunedSettings(FineTunedSettings, DiffusionSettings, Protocol):
    """The part of a method's configuration that describes model, latents, public pre-training and private steps."""

    @property
    def latents(self) -> ScaledLatents: ...


def initial_state(
    settings: TunedSettings,
    facts: DatasetFacts,
    state: State,
    trained: Trained,
    adapt: Callable[[networks.UNet], None] = pretrained.unchanged,
) -> State:
    """The modules, an Adam of the weights that public images train, one of those `trained` by private steps, the autoencoder if any."""
    network = pretrained.new_modules(settings, settings.latents.learned(facts), state, adapt)
    state.optimizers = {
        PRETRAINING: torch.optim.Adam(public_parameters(network), lr=settings.pretraining.learning_rate),
        DP_SGD: torch.optim.Adam(trained(network), lr=settings.training.learning_rate),
    }
    pretrained.add_selection(settings, network, facts, state)
    autoencoder.add_to(settings.latents, facts, state)
    return state


def fit(settings: TunedSettings, data: Records, public: Records | None, state: State, trained: Trained) -> Iterator[Step]:
    """The autoencoder, public pre-training, then DP-SGD on the `trained` parameters alone; all others stay as public images left them."""
    diffusion, network = build_diffusion(settings.diffusion), pretrained.network_of(state)
    yield from bring_autoencoder(settings.latents, public, state)
    network.freeze_but(public_parameters(network))
    yield from pretrained.pretrain(settings, data, public, state, image_diffusion.ordinary_loss)

    def losses(model: nn.Module, batch: tuple[Tensor, ...]) -> RowLosses:
        return image_diffusion.row_losses(diffusion, model, batch, diffusion.timesteps)

    network.freeze_but(trained(network))
    yield from pretrained.fine_tune(settings.training, DP_SGD, data, state, losses)


def public_parameters(network: networks.UNet) -> list[nn.Parameter]:
    """Those that public images train: all but adapters'."""
    adapters = {id(parameter) for parameter in networks.adapter_parameters(network)}
    return [parameter for parameter in network.parameters() if id(parameter) not in adapters]


def bring_autoencoder(latents: ScaledLatents, public: Records | None, state: State) -> Iterator[Step]:
    """The autoencoder as public images or a file make it, where there is one."""
    if latents.file:
        yield from files.load_once(latents, public, state)
    elif latents.trains:
        if public is None:
            raise WorkbenchError("Expected public images for the autoencoder of the latents, got none.")
        yield from autoencoder.train(latents, public, state)
