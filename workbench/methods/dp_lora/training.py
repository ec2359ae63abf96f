"""DP-LoRA's training: an autoencoder and a diffusion model of public images, then DP-SGD on adapters beside the latter's weights."""

from collections.abc import Iterator

from torch import nn

from workbench import networks
from workbench.datasets.base import DatasetFacts
from workbench.methods.dp_lora.method import DPLoRAConfig
from workbench.models import denoising, image_diffusion, pretrained
from workbench.models.denoising import Denoiser
from workbench.models.latents import tuning
from workbench.models.sample_request import SampleRequest, Source
from workbench.records import Records
from workbench.training.state import State, Step


def initial_state(config: DPLoRAConfig, facts: DatasetFacts, state: State) -> State:
    """The network with its adapters and moving averages, the autoencoder if any, and an Adam for each stage."""

    def adapt(network: networks.UNet) -> None:
        def add() -> networks.UNet:
            networks.add_adapters(network, config.adapters.rank, convolutions=config.adapters.convolutions)
            return network

        networks.initialized(add, state.randomness.torch_generator("initialisation of the adapters")).to(state.device)

    return tuning.initial_state(config, facts, state, trained_parameters, adapt)


def trained_parameters(network: networks.UNet) -> list[nn.Parameter]:
    """The parameters that private steps train: the adapters' and the embedding of labels."""
    return [*networks.adapter_parameters(network), *network.parameters_of_labels()]


def fit(config: DPLoRAConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """Train on public records, then the adapters on private ones."""
    yield from tuning.fit(config, data, public, state, trained_parameters)


def sample(config: DPLoRAConfig, state: State, request: SampleRequest) -> Records:
    """Images from the moving average; source 'public' takes the one from before any private record."""
    return pretrained.sample(config, state, request, image_diffusion.draw_samples)


def denoiser(config: DPLoRAConfig, state: State, source: Source) -> Denoiser:
    """The moving average of the weights; that of public pre-training alone for the source "public"."""
    return denoising.of_diffusion(config, pretrained.averaged(state, source), state)
