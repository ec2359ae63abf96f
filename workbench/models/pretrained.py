"""What begins with public pre-training: ordinary steps on public images, a copy of the model that they end with, samples of either."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from workbench import networks
from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.models import image_diffusion
from workbench.models.sample_request import SampleRequest
from workbench.models.settings import PRETRAINING, DiffusionSettings
from workbench.records import Records
from workbench.training.ordinary import PublicTraining
from workbench.training.ordinary_training import OrdinaryTrainer
from workbench.training.state import State, Step


class PretrainedSettings(DiffusionSettings, Protocol):
    """The part of a method's configuration that describes a diffusion model and its public pre-training."""

    @property
    def pretraining(self) -> PublicTraining: ...
    @property
    def label_dropout(self) -> float: ...


def new_modules(settings: DiffusionSettings, facts: DatasetFacts, state: State) -> networks.UNet:
    """Put a fresh network and its moving average into `state`, and a second average that stays as pre-training leaves it."""
    network = image_diffusion.new_network(settings, facts, state)
    state.modules = {
        "network": network,
        "ema": image_diffusion.new_ema(settings, network, state),
        "public_ema": image_diffusion.new_ema(settings, network, state),
    }
    return network


def pretrain(settings: PretrainedSettings, public: Records | None, state: State) -> Iterator[Step]:
    """Ordinary conditional training on public images, if asked for; its moving average is kept for the epsilon-0 row."""
    training = settings.pretraining
    if not training.takes_place:
        return
    if public is None:
        raise WorkbenchError(f"Expected public records of {training.dataset!r} for pre-training, got none.")
    loss = image_diffusion.ordinary_loss(settings, public, state, PRETRAINING, training.batch_size, settings.label_dropout)
    for step in OrdinaryTrainer(training, PRETRAINING, state, loss, private=False, averages={"ema": "network"}).run():
        if step.step == step.steps:
            state.modules["public_ema"].load_state_dict(state.modules["ema"].state_dict())
        yield step


def start_from_average(state: State, stage: str) -> tuple[networks.UNet, networks.ExponentialMovingAverage]:
    """The network, which `stage` starts from the moving average so far, and the average; a resumed stage goes on where it stands."""
    network, ema = state.modules["network"], state.modules["ema"]
    assert isinstance(network, networks.UNet)
    assert isinstance(ema, networks.ExponentialMovingAverage)
    if state.steps.get(stage, 0) == 0:
        network.load_state_dict(ema.module.state_dict())
    return network, ema


def sample(settings: PretrainedSettings, state: State, request: SampleRequest) -> Records:
    """Images from the moving average; source "public" takes the one from before any private record."""
    if request.source == "public" and not settings.pretraining.takes_place:
        raise WorkbenchError("This run had no public pre-training, so it has no model of public data alone.")
    name = "public_ema" if request.source == "public" else "ema"
    return image_diffusion.draw_samples(settings, image_diffusion.averaged(state, name), state, request)
