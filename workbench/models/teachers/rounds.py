"""The rounds of a method with teachers: they learn from their parts, they vote with noise, and a generator follows the votes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from workbench import networks
from workbench.datasets.base import DatasetFacts
from workbench.models.adversarial.turns import drawn
from workbench.models.embeddings.config import GENERATOR, GeneratorSettings
from workbench.models.embeddings.generators import new_generator
from workbench.models.teachers import ensemble
from workbench.models.teachers.config import TEACHERS, VOTES, Ensemble
from workbench.models.teachers.ensemble import PartsInPlace
from workbench.records import Records
from workbench.training.ordinary_training import OrdinaryTrainer
from workbench.training.state import State, Step

ASKED = "asked"  # the module that keeps the generator's inputs whose images are voted about


class RoundInputs(nn.Module):
    """The generator's inputs (B, latent) and classes int64 (B,) of a round's images: kept from the votes to what follows them."""

    latents: Tensor
    classes: Tensor

    def __init__(self, size: int, latent_size: int) -> None:
        super().__init__()
        self.register_buffer("latents", torch.zeros(size, latent_size))
        self.register_buffer("classes", torch.zeros(size, dtype=torch.int64))


def initial_state(
    settings: GeneratorSettings, teachers: Ensemble, facts: DatasetFacts, state: State, votes: tuple[int, ...], queries: int
) -> State:
    """Generator and teachers with their optimisers, and room for a round's noisy votes (`votes`) about `queries` images."""
    draw = state.randomness.torch_generator("initialisation")
    generator = networks.initialized(lambda: new_generator(settings, facts), draw).to(state.device)
    state.modules[GENERATOR] = generator
    state.optimizers[GENERATOR] = torch.optim.Adam(generator.parameters(), lr=settings.training.learning_rate)
    ensemble.add_to(teachers, state)
    state.tensors[VOTES] = torch.zeros(votes, dtype=torch.float64, device=state.device)
    state.modules[ASKED] = RoundInputs(queries, settings.latent_size).to(state.device)
    return state


def fit(
    settings: GeneratorSettings,
    teachers: Ensemble,
    data: Records,
    state: State,
    vote: Callable[[int], None],
    loss: Callable[[int], Tensor],
) -> Iterator[Step]:
    """All rounds from where the state stands.

    `vote(step)` puts the noisy votes of a round into the state, of the teachers alone; `loss(step)` is the generator's, of these alone.
    """
    trainer = OrdinaryTrainer(settings.training, GENERATOR, state, loss, private=False)
    parts: PartsInPlace | None = None
    rounds = settings.training.steps
    for step in range(state.steps.get(GENERATOR, 0) + 1, rounds + 1):
        if state.steps.get(TEACHERS, 0) < step:
            state.spend(TEACHERS, step)
            parts = PartsInPlace.of(teachers, data, state) if parts is None else parts
            mean_loss = ensemble.teach(teachers, settings.latent_size, parts, state, step)
            state.steps[TEACHERS] = step
            yield Step(TEACHERS, step, rounds, {"loss": mean_loss})
        if state.steps.get(VOTES, 0) < step:
            state.spend(VOTES, step)
            vote(step)
            state.steps[VOTES] = step
            yield Step(VOTES, step, rounds)
        yield trainer.step(step)


def ask(settings: GeneratorSettings, size: int, state: State, step: int) -> tuple[Tensor, Tensor]:
    """`size` fresh images to vote about, (size, C, H, W), with their classes."""
    inputs = round_inputs(state)
    inputs.latents, inputs.classes = drawn(state, size, settings.latent_size, f"{VOTES} images", step)
    return queried_images(state)


def queried_images(state: State) -> tuple[Tensor, Tensor]:
    """The images that are voted about in this round, (B, C, H, W), and their classes."""
    inputs = round_inputs(state)
    return ensemble.generated_images(inputs.latents, inputs.classes, state), inputs.classes


def round_inputs(state: State) -> RoundInputs:
    """What they are made from."""
    inputs = state.modules[ASKED]
    assert isinstance(inputs, RoundInputs)
    return inputs
