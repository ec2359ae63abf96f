"""What begins with public pre-training: ordinary steps on public images, a copy of the model that they end with, samples of either.

Training may go on with public images that private records selected, before the private steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeVar

import torch
from torch import Tensor, nn

from workbench import networks
from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.models import image_diffusion, label_counts
from workbench.models.sample_request import SampleRequest, Source
from workbench.models.selection import pretraining as selected_pretraining
from workbench.models.selection.config import SELECTIVE
from workbench.models.selection.selector import Selector
from workbench.models.settings import PRETRAINING, NetworkSettings, PretrainedSettings
from workbench.records import Records
from workbench.training.dp_sgd import DPSGD
from workbench.training.mixing import Losses
from workbench.training.ordinary import OrdinaryTraining
from workbench.training.ordinary_training import OrdinaryTrainer
from workbench.training.private_training import PrivateTraining
from workbench.training.state import State, Step

SettingsT = TypeVar("SettingsT", bound=PretrainedSettings)
PublicLoss = Callable[[SettingsT, Records, State, str, int, float], image_diffusion.StepLoss]  # as `image_diffusion.ordinary_loss`
Draw = Callable[[SettingsT, nn.Module, State, SampleRequest], Records]  # as `image_diffusion.draw_samples`


def initial_state(settings: PretrainedSettings, facts: DatasetFacts, state: State, private: DPSGD, stage: str) -> State:
    """The modules, an Adam for pre-training, and one for the `private` steps of the stage called `stage`."""
    network = new_modules(settings, facts, state)
    rates = {PRETRAINING: settings.pretraining.learning_rate, stage: private.learning_rate}
    state.optimizers = {name: torch.optim.Adam(network.parameters(), lr=rate) for name, rate in rates.items()}
    add_selection(settings, network, facts, state)
    return state


def add_selection(settings: PretrainedSettings, network: nn.Module, facts: DatasetFacts, state: State) -> None:
    """Room for candidates and votes and an Adam for the training on what is selected, if anything is; for counts of labels alike."""
    label_counts.add_to(settings.labels, facts, state)
    if settings.selected.takes_place:
        state.optimizers[SELECTIVE] = torch.optim.Adam(network.parameters(), lr=settings.selected.learning_rate)
        Selector.add_to(settings.selected.selection, facts, state)


def unchanged(_network: networks.UNet) -> None:
    """A network that stays as it is built."""


def new_modules(
    settings: NetworkSettings, facts: DatasetFacts, state: State, adapt: Callable[[networks.UNet], None] = unchanged
) -> networks.UNet:
    """Put a fresh network and its moving average into `state`, and a second average that stays as pre-training leaves it.

    `adapt` changes the network before it is copied.
    """
    network = image_diffusion.new_network(settings, facts, state)
    adapt(network)
    state.modules = {
        "network": network,
        "ema": image_diffusion.new_ema(settings, network, state),
        "public_ema": image_diffusion.new_ema(settings, network, state),
    }
    return network


def pretrain(
    settings: SettingsT, data: Records, public: Records | None, state: State, public_loss: PublicLoss[SettingsT]
) -> Iterator[Step]:
    """Ordinary conditional training on public images, and on those for which the private records `data` vote; counts of their labels.

    Each as far as it is asked for.
    """
    training, selected = settings.pretraining, settings.selected
    if training.takes_place:
        if public is None:
            raise WorkbenchError(f"Expected public records of {training.dataset!r} for pre-training, got none.")
        loss = public_loss(settings, public, state, PRETRAINING, training.batch_size, settings.label_dropout)
        yield from public_steps(training, state, loss)
    if selected.takes_place:
        yield from Selector(selected.selection, state).run(data, public)

        def loss_of(chosen: Records) -> image_diffusion.StepLoss:
            return public_loss(settings, chosen, state, SELECTIVE, selected.batch_size, settings.label_dropout)

        trainer_of = selected_pretraining.of_network(selected, state, loss_of)
        yield from selected_pretraining.train(selected, selected.selection, selected.draws, state, trainer_of)
    yield from label_counts.release(settings.labels, data, state)


def public_steps(training: OrdinaryTraining, state: State, loss: image_diffusion.StepLoss) -> Iterator[Step]:
    """The steps of ordinary training on public images; the moving average that they end with is kept for the epsilon-0 row."""
    for step in OrdinaryTrainer(training, PRETRAINING, state, loss, private=False, averages={"ema": "network"}).run():
        if step.step == step.steps:
            state.modules["public_ema"].load_state_dict(state.modules["ema"].state_dict())
        yield step


def fine_tune(
    settings: DPSGD, stage: str, data: Records, state: State, losses: Callable[[nn.Module, tuple[Tensor, ...]], Losses]
) -> Iterator[Step]:
    """DP-SGD on the whole network; `losses(network, batch)` are those of a batch's images and label rows."""
    network, ema = start_from_average(state, stage)
    tensors = image_diffusion.learned_entries(data, state)
    private = PrivateTraining(settings, stage, network, state, tensors, partial(losses, network), present=data.mask, average=ema)
    yield from private.run()


def start_from_average(state: State, stage: str) -> tuple[networks.UNet, networks.ExponentialMovingAverage]:
    """The network, which `stage` starts from the moving average so far, and the average; a resumed stage goes on where it stands."""
    network, ema = network_of(state), state.modules["ema"]
    assert isinstance(ema, networks.ExponentialMovingAverage)
    if state.steps.get(stage, 0) == 0:
        network.load_state_dict(ema.module.state_dict())
    return network, ema


def network_of(state: State) -> networks.UNet:
    """The network that is trained."""
    network = state.modules["network"]
    assert isinstance(network, networks.UNet)
    return network


def sample(settings: SettingsT, state: State, request: SampleRequest, draw: Draw[SettingsT]) -> Records:
    """Images from the moving average; source "public" takes the one from before any private record. Labels follow counts, if released."""
    if request.source == "public" and not settings.pretraining.takes_place:
        raise WorkbenchError("This run had no public pre-training, so it has no model of public data alone.")
    return draw(settings, averaged(state, request.source), state, label_counts.with_drawn_labels(settings.labels, request, state))


def averaged(state: State, source: Source) -> nn.Module:
    """The moving average that the private steps end with, or the one that is kept from before them."""
    return image_diffusion.averaged(state, "public_ema" if source == "public" else "ema")
