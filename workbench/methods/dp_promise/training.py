"""dp-promise's training: public pre-training, phase one on released records, phase two by DP-SGD (Algorithm 1)."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor, nn

from workbench.datasets.base import DatasetFacts
from workbench.diffusion import build_diffusion
from workbench.methods.dp_promise import losses, one_shot
from workbench.methods.dp_promise.config import DPPromiseConfig
from workbench.methods.dp_promise.stages import PHASE_ONE, PHASE_TWO, PRETRAINING
from workbench.models import image_diffusion, pretrained
from workbench.models.settings import is_pretrained
from workbench.records import Records
from workbench.training.ordinary_training import OrdinaryTrainer
from workbench.training.row_losses import RowLosses
from workbench.training.state import State, Step


def initial_state(config: DPPromiseConfig, facts: DatasetFacts, state: State) -> State:
    """The network, its moving averages (with a copy from before any private record) and an Adam for each stage."""
    network = pretrained.new_modules(config, facts, state)
    tuned = network.parameters_beside_time() if is_pretrained(config) else list(network.parameters())
    refined = network.parameters_up() if config.phase_two.trained == "up" else tuned
    state.optimizers = {
        PRETRAINING: torch.optim.Adam(network.parameters(), lr=config.pretraining.learning_rate),
        PHASE_ONE: torch.optim.Adam(tuned, lr=config.phase_one.learning_rate),
        PHASE_TWO: torch.optim.Adam(refined, lr=config.phase_two.learning_rate),
    }
    if config.phase_one.steps and config.targets == "one-shot":
        state.tensors = one_shot.copies_to_come(facts, state)
    pretrained.add_selection(config, network, facts, state)
    return state


def fit(config: DPPromiseConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """Algorithm 1: pre-train on public records, which fixes the time embedding, then phase one, then phase two.

    Without labels, where the model has none.
    """
    if not config.conditional:
        data, public = replace(data, labels=None), None if public is None else replace(public, labels=None)
    yield from pretrained.pretrain(config, data, public, state, image_diffusion.ordinary_loss)
    if config.phase_one.steps and config.targets == "one-shot":
        yield from one_shot.release(config, data, state)
    if is_pretrained(config):
        pretrained.network_of(state).freeze_time()
    if config.phase_one.steps:
        yield from train_phase_one(config, data, state)
    yield from train_phase_two(config, data, state)


def train_phase_one(config: DPPromiseConfig, data: Records, state: State) -> Iterator[Step]:
    """Unconditional training of the time steps beyond the boundary."""
    network = image_diffusion.ordinary(pretrained.start_from_average(state, PHASE_ONE)[0], state)
    if config.targets == "one-shot":
        loss = partial(one_shot.loss, config, network, state)
    elif config.targets == "renoised":
        loss = partial(losses.renoised_loss, config, network, image_diffusion.entries(data, state.device)[0], state)
    else:
        images, _ = image_diffusion.entries(data, state.device)
        present = torch.from_numpy(data.mask).to(state.device)
        loss = partial(losses.paper_loss, config, network, images, present, state)
    private = config.targets != "one-shot"
    yield from OrdinaryTrainer(config.phase_one, PHASE_ONE, state, loss, private=private, averages={"ema": "network"}).run()


def train_phase_two(config: DPPromiseConfig, data: Records, state: State) -> Iterator[Step]:
    """DP-SGD on the time steps up to the boundary, with labels, if any, and noise multiplicity."""
    diffusion = build_diffusion(config.diffusion)
    last = config.last_private_timestep - (1 if config.targets == "paper" and config.phase_one.steps else 0)

    def row_losses(network: nn.Module, batch: tuple[Tensor, ...]) -> RowLosses:
        return image_diffusion.row_losses(diffusion, network, batch, last)

    if config.phase_two.trained == "up":
        pretrained.network_of(state).freeze_but_up()
    yield from pretrained.fine_tune(config.phase_two, PHASE_TWO, data, state, row_losses)
