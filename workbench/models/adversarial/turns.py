"""A generator that follows a critic: its images, its loss through the critic as it stands, and how the two take turns."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from workbench.models.adversarial.config import AdversarialLoss, GeneratorUpdates
from workbench.models.adversarial.losses import GENERATOR_LOSSES
from workbench.models.embeddings.config import GENERATOR, columns
from workbench.training.ordinary_training import OrdinaryTrainer
from workbench.training.state import State, Step


@contextmanager
def frozen(module: nn.Module) -> Iterator[nn.Module]:
    """Within, what is computed gives the module's parameters no gradient; its input may have one all the same."""
    learned = [parameter for parameter in module.parameters() if parameter.requires_grad]
    for parameter in learned:
        parameter.requires_grad_(False)
    try:
        yield module
    finally:
        for parameter in learned:
            parameter.requires_grad_(True)


def drawn(state: State, size: int, latent_size: int, purpose: str, step: int = 0) -> tuple[Tensor, Tensor]:
    """Standard normal inputs (size, latent) and classes int64 (size,), each as likely, on the state's device: no record is asked."""
    draw = state.randomness.torch_generator(purpose, step)
    latents = torch.randn(size, latent_size, generator=draw).to(state.device)
    return latents, torch.randint(columns(state.facts), (size,), generator=draw).to(state.device)


def generator_loss(generator: nn.Module, critic: nn.Module, loss: AdversarialLoss, latents: Tensor, classes: Tensor) -> Tensor:
    """The generator's mean loss through the critic, which gets no gradient: post-processing of whatever trained the critic."""
    with frozen(critic):
        return GENERATOR_LOSSES[loss](critic(generator(latents, classes), classes)).mean()


def generator_trainer(
    updates: GeneratorUpdates, critic_steps: int, critic: nn.Module, loss: AdversarialLoss, latent_size: int, state: State
) -> OrdinaryTrainer:
    """The generator's steps beside `critic_steps` of `critic` altogether; its optimiser is the state's of the name `GENERATOR`."""
    generator, size = state.modules[GENERATOR], updates.batch_size

    def step_loss(step: int) -> Tensor:
        return generator_loss(generator.train(), critic, loss, *drawn(state, size, latent_size, f"{GENERATOR} batch", step))

    return OrdinaryTrainer(updates.training(critic_steps), GENERATOR, state, step_loss, private=False)


def take_turns(
    critic_stage: str, critic_step: Callable[[int], Step], critic_steps: int, trainer: OrdinaryTrainer, per_turn: int, state: State
) -> Iterator[Step]:
    """Critic steps 1..`critic_steps`, and after every `per_turn` of them one of the generator, from where the state stands.

    A fit that stopped between the two goes on with the generator's step: which is due follows from the counts of steps alone.
    """
    while True:
        critic_done, generator_done = state.steps.get(critic_stage, 0), state.steps.get(trainer.stage, 0)
        if generator_done < critic_done // per_turn:
            yield trainer.step(generator_done + 1)
        elif critic_done < critic_steps:
            yield critic_step(critic_done + 1)
        else:
            return
