"""A GAN whose critic is trained by DP-SGD: the networks, the loss of a record beside a generated image, and the turns."""

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

from workbench import networks
from workbench.datasets.base import DatasetFacts
from workbench.models import label_counts
from workbench.models.adversarial.config import AVERAGE, CRITIC, AdversarialLoss, CriticTraining, GeneratorUpdates
from workbench.models.adversarial.losses import CRITIC_LOSSES
from workbench.models.adversarial.turns import drawn, generator_trainer, take_turns
from workbench.models.embeddings import generators
from workbench.models.embeddings.config import GENERATOR, GeneratorShape, columns
from workbench.models.image_diffusion import averaged
from workbench.models.sample_request import SampleRequest
from workbench.models.settings import DP_SGD
from workbench.networks import CriticConfig
from workbench.records import Records
from workbench.training.entries import Images
from workbench.training.microbatch import Microbatch
from workbench.training.private_training import PrivateTraining
from workbench.training.row_losses import RowLosses
from workbench.training.state import State, Step

BETAS = (0.5, 0.999)  # of Adam, as DCGAN has them
OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "adam": partial(torch.optim.Adam, betas=BETAS),
    "rmsprop": torch.optim.RMSprop,
    "sgd": torch.optim.SGD,
}


class CriticSettings(GeneratorShape, Protocol):
    """The part of a method's configuration that describes its GAN."""

    @property
    def loss(self) -> AdversarialLoss: ...
    @property
    def critic(self) -> CriticConfig: ...
    @property
    def ema_decay(self) -> float: ...
    @property
    def training(self) -> CriticTraining: ...
    @property
    def generator(self) -> GeneratorUpdates: ...


def initial_state(settings: CriticSettings, facts: DatasetFacts, state: State, change: Callable[[nn.Module], None] | None = None) -> State:
    """Generator and critic with their optimisers, and room for counts of labels; `change` makes another of the critic in place."""
    channels, height, width = facts.shape
    generator = networks.initialized(
        lambda: generators.new_generator(settings, facts), state.randomness.torch_generator("initialisation")
    ).to(state.device)
    critic = networks.initialized(
        lambda: networks.Critic(settings.critic, (channels, height, width), columns(facts)),
        state.randomness.torch_generator(f"{CRITIC} initialisation"),
    ).to(state.device)
    if change is not None:
        change(critic)
        critic.to(state.device)
    average = networks.ExponentialMovingAverage(generator, settings.ema_decay).to(state.device)
    state.modules = {GENERATOR: generator, CRITIC: critic, AVERAGE: average}
    state.optimizers = {
        GENERATOR: OPTIMIZERS["adam"](generator.parameters(), lr=settings.generator.learning_rate),
        DP_SGD: OPTIMIZERS[settings.training.optimizer](critic.parameters(), lr=settings.training.learning_rate),
    }
    label_counts.add_to(settings.labels, facts, state)
    return state


def classes_of(data: Records) -> Tensor:
    """The classes of records, int64 (N,), all 0 where they have none."""
    return torch.from_numpy(np.zeros(len(data), np.int64) if data.labels is None else data.labels.astype(np.int64))


def fit(settings: CriticSettings, data: Records, state: State, *, weight_limit: float = math.inf) -> Iterator[Step]:
    """Counts of labels if asked for; then the critic's private steps, and one of the generator after each turn of them.

    The critic's weights are cut off at `weight_limit` after each of its steps (Arjovsky et al. 2017): post-processing.
    """
    yield from label_counts.release(settings.labels, data, state)
    training = settings.training
    critic = state.modules[CRITIC]
    entries = Images(data, state.device), classes_of(data).to(state.device)
    private = PrivateTraining(training, DP_SGD, critic, state, entries, partial(row_losses, settings, state), present=data.mask)

    def critic_step(step: int) -> Step:
        taken = private.step(step)
        cut_off(critic, weight_limit)
        return taken

    trainer = generator_trainer(settings.generator, training.steps, critic, settings.loss, settings.latent_size, state)
    yield from take_turns(DP_SGD, critic_step, training.steps, trainer, settings.generator.critic_steps, state)


@torch.no_grad()
def cut_off(module: nn.Module, limit: float) -> None:
    """Parameters no farther from zero than `limit`."""
    for parameter in module.parameters():
        parameter.clamp_(-limit, limit)


def row_losses(settings: CriticSettings, state: State, batch: tuple[Tensor, ...]) -> RowLosses:
    """A record's rows are itself and, every other one, an image of the step's pool, which its own place alone decides.

    The pool is drawn anew at each step and sees no record: neither its size nor an image of it follows from those that were drawn.
    """
    critic, state_step, multiplicity = state.modules[CRITIC], state.steps.get(DP_SGD, 0) + 1, settings.training.noise_multiplicity
    each = multiplicity // 2
    images, classes = pool(settings, state, math.ceil(settings.training.batch_size) * each, state_step)

    def draw(part: Microbatch) -> tuple[Tensor, Tensor, Tensor]:
        row = torch.arange(len(part.rows))
        place = torch.from_numpy(part.places).repeat_interleave(multiplicity)
        index = ((place * each + row % multiplicity // 2) % len(images)).to(images.device)
        return images[index], classes[index], (row % 2 == 0).to(images.device)

    def inputs(image: Tensor, label: Tensor, generated: Tensor, other: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
        return torch.where(real[:, None, None, None], image, generated), torch.where(real, label, other)

    def loss(scores: Tensor, _image: Tensor, _label: Tensor, _generated: Tensor, _other: Tensor, real: Tensor) -> Tensor:
        return CRITIC_LOSSES[settings.loss](scores, real)

    return RowLosses(critic, batch, draw, inputs, loss)


@torch.no_grad()
def pool(settings: CriticSettings, state: State, size: int, step: int) -> tuple[Tensor, Tensor]:
    """Images (size, C, H, W) of the generator as it trains, and their classes (size,), each as likely."""
    latents, classes = drawn(state, size, settings.latent_size, f"{CRITIC} pool", step)
    return state.modules[GENERATOR].train()(latents, classes), classes


def sample(config: CriticSettings, state: State, request: SampleRequest) -> Records:
    """Images of the generator's moving average for standard normal inputs; labels follow their counts, if these are released."""
    return generators.sampled(config, averaged(state), state, request)
