"""Ordinary training of a diffusion model on the private records themselves."""

from collections.abc import Iterator

import torch

from workbench.datasets.base import DatasetFacts
from workbench.methods.nonprivate.method import TRAINING, NonPrivateConfig
from workbench.models import denoising, image_diffusion
from workbench.models.denoising import Denoiser
from workbench.models.sample_request import SampleRequest, Source
from workbench.records import Records
from workbench.training.ordinary_training import OrdinaryTrainer
from workbench.training.state import State, Step


def initial_state(config: NonPrivateConfig, facts: DatasetFacts, state: State) -> State:
    """A network, its moving average and Adam."""
    network = image_diffusion.new_network(config, facts, state)
    state.modules = {"network": network, "ema": image_diffusion.new_ema(config, network, state)}
    state.optimizers = {TRAINING: torch.optim.Adam(network.parameters(), lr=config.training.learning_rate)}
    return state


def fit(config: NonPrivateConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """Minimise the denoising loss on the private records."""
    loss = image_diffusion.ordinary_loss(config, data, state, TRAINING, config.training.batch_size, config.label_dropout)
    yield from OrdinaryTrainer(config.training, TRAINING, state, loss, private=True, averages={"ema": "network"}).run()


def sample(config: NonPrivateConfig, state: State, request: SampleRequest) -> Records:
    """Images from the moving average of the weights."""
    return image_diffusion.draw_samples(config, image_diffusion.averaged(state), state, request)


def denoiser(config: NonPrivateConfig, state: State, source: Source) -> Denoiser:
    """The moving average of the weights."""
    return denoising.of_diffusion(config, image_diffusion.averaged(state), state)
