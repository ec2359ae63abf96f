"""DP-LDM's training: an autoencoder and a diffusion model of public images, then DP-SGD on a part of the latter's weights."""

from collections.abc import Iterator
from functools import partial

from torch import nn

from workbench import networks
from workbench.datasets.base import DatasetFacts
from workbench.methods.dp_ldm.method import DPLDMConfig
from workbench.models import denoising, image_diffusion, pretrained
from workbench.models.denoising import Denoiser
from workbench.models.latents import tuning
from workbench.models.sample_request import SampleRequest, Source
from workbench.records import Records
from workbench.training.state import State, Step


def initial_state(config: DPLDMConfig, facts: DatasetFacts, state: State) -> State:
    """The network with its moving averages, the autoencoder if any, and an Adam for each stage, the private one's of the subset."""
    return tuning.initial_state(config, facts, state, partial(trained_parameters, config))


def trained_parameters(config: DPLDMConfig, network: networks.UNet) -> list[nn.Parameter]:
    """The parameters that private steps train."""
    choices = {
        "attention": lambda: [*network.parameters_of_attention(), *network.parameters_of_labels()],
        "up": network.parameters_up,
        "labels": network.parameters_of_labels,
        "all": lambda: list(network.parameters()),
    }
    return choices[config.training.trained]()


def fit(config: DPLDMConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """Train on public records, then the subset on private ones."""
    yield from tuning.fit(config, data, public, state, partial(trained_parameters, config))


def sample(config: DPLDMConfig, state: State, request: SampleRequest) -> Records:
    """Images from the moving average; source 'public' takes the one from before any private record."""
    return pretrained.sample(config, state, request, image_diffusion.draw_samples)


def denoiser(config: DPLDMConfig, state: State, source: Source) -> Denoiser:
    """The moving average of the weights; that of public pre-training alone for the source "public"."""
    return denoising.of_diffusion(config, pretrained.averaged(state, source), state)
