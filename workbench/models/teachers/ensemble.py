"""Teachers as one batched network: each learns from its own part of the records, and all look at the same generated images."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from workbench import networks
from workbench.datasets.base import DatasetFacts
from workbench.models.adversarial.turns import drawn
from workbench.models.embeddings.config import GENERATOR, columns
from workbench.models.image_diffusion import entries
from workbench.models.teachers.config import BALLOTS, TEACHERS, VOTES, Ensemble
from workbench.records import Records
from workbench.training.grid import Grid
from workbench.training.marginals import in_steps
from workbench.training.parts import Parts
from workbench.training.state import State


class Discriminators(nn.Module):
    """K networks of one hidden layer side by side: inputs (B, D) for all, or (K, B, D) for each its own, to scores (K, B).

    No number of one enters what another computes or learns: products are batched over K, and Adam moves each number by its own gradient.
    """

    def __init__(self, number: int, inputs: int, hidden: int) -> None:
        super().__init__()
        self.first, self.first_bias = _drawn_parameter(number, inputs, hidden), _drawn_parameter(number, 1, hidden, inputs)
        self.last, self.last_bias = _drawn_parameter(number, hidden, 1), _drawn_parameter(number, 1, 1, hidden)

    def forward(self, inputs: Tensor) -> Tensor:
        """Scores (K, B): above 0 for what a network takes for a record."""
        each = inputs.expand(len(self.first), *inputs.shape) if inputs.dim() == 2 else inputs
        hidden = torch.relu(torch.baddbmm(self.first_bias, each, self.first))
        return torch.baddbmm(self.last_bias, hidden, self.last)[..., 0]


def _drawn_parameter(number: int, rows: int, columns: int, inputs: int | None = None) -> nn.Parameter:
    bound = 1.0 / math.sqrt(inputs or rows)
    return nn.Parameter(torch.empty(number, rows, columns).uniform_(-bound, bound))


def new_discriminators(number: int, hidden: int, facts: DatasetFacts) -> Discriminators:
    """Networks of images, flat, beside their class, one of `columns(facts)`."""
    return Discriminators(number, facts.dimensions + columns(facts), hidden)


class Ballots(nn.Module):
    """True votes (rounds, ..) of all rounds, which never leave: whoever holds the records may look what the gaps between them say."""

    counts: Tensor

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.register_buffer("counts", torch.zeros(shape, dtype=torch.int64))


def add_to(settings: Ensemble, state: State) -> None:
    """Put the teachers, their optimiser and the parts of the records into a state."""
    draw = state.randomness.torch_generator(f"{TEACHERS} initialisation")
    teachers = networks.initialized(lambda: new_discriminators(settings.number, settings.hidden, state.facts), draw).to(state.device)
    state.modules[TEACHERS] = teachers
    state.optimizers[TEACHERS] = torch.optim.Adam(teachers.parameters(), lr=settings.learning_rate)
    Parts.begun(state, settings.number)


def teachers_of(state: State) -> Discriminators:
    """The teachers."""
    teachers = state.modules[TEACHERS]
    assert isinstance(teachers, Discriminators)
    return teachers


def noisy_votes(votes: np.ndarray, noise: float, state: State, step: int, purpose: str = VOTES) -> np.ndarray:
    """A round's votes, sums int64 over teachers, with Gaussian noise of deviation `noise` on its grid, float64: one release."""
    grid = Grid(noise, 1.0, len(teachers_of(state).first))
    return state.randomness.release(purpose, step, in_steps(votes, 1, grid), grid)


def ballots_of(state: State) -> Ballots:
    """The true votes."""
    ballots = state.modules[BALLOTS]
    assert isinstance(ballots, Ballots)
    return ballots


def beside(images: Tensor, classes: Tensor, state: State) -> Tensor:
    """Images (B, ..) flat with their classes as numbers beside them, (B, D + classes)."""
    return torch.cat([images.flatten(1), functional.one_hot(classes, columns(state.facts)).to(images.dtype)], dim=1)


def generated_images(latents: Tensor, classes: Tensor, state: State) -> Tensor:
    """Images (B, C, H, W) as the generator learns them, by statistics of their own batch; it stays as it is."""
    generator = state.modules[GENERATOR].train()
    kept = {name: value.clone() for name, value in generator.named_buffers()}
    with torch.no_grad():
        return torch.func.functional_call(generator, kept, (latents, classes))


@dataclass(frozen=True)
class PartsInPlace:
    """Records as teachers draw them: inputs (N, D + classes), whether each is no null record (N,), and the positions of every part.

    `positions` (K, most) holds those of part k in its first `sizes[k]` places.
    """

    inputs: Tensor
    present: Tensor
    positions: Tensor
    sizes: Tensor

    @classmethod
    def of(cls, settings: Ensemble, data: Records, state: State) -> Self:
        """Of a dataset: parts follow from positions alone, so a null record keeps its place in its part."""
        parts = Parts.of(state, settings.number, len(data))
        each = [parts.positions(part) for part in range(settings.number)]
        positions = np.zeros((len(each), max(map(len, each))), dtype=np.int64)
        for part, mine in enumerate(each):
            positions[part, : len(mine)] = mine
        images, rows = entries(data, state.device)
        every = torch.arange(len(data), device=state.device)
        labels = (rows[every] - 1).clamp(min=0)
        inputs = beside(images[every], labels, state)
        sizes = torch.tensor([len(mine) for mine in each])
        return cls(inputs, torch.from_numpy(data.mask).to(state.device), torch.from_numpy(positions), sizes)

    def batch(self, size: int, draw: torch.Generator) -> tuple[Tensor, Tensor]:
        """`size` records of every part (K, size, D + classes), drawn with replacement, and whether each is one (K, size)."""
        places = (torch.rand(len(self.sizes), size, generator=draw) * self.sizes[:, None]).long()
        chosen = self.positions.gather(1, places.minimum(self.sizes[:, None] - 1)).to(self.inputs.device)
        return self.inputs[chosen], self.present[chosen]


def teach(settings: Ensemble, latent_size: int, parts: PartsInPlace, state: State, step: int) -> float:
    """The steps of a round: each teacher's cross-entropy on records of its part and on generated images, summed over teachers.

    The mean is over a constant number of records, null ones among them adding nothing. Returns the mean loss, a private value.
    """
    teachers, optimizer = teachers_of(state), state.optimizers[TEACHERS]
    latents, classes = drawn(state, settings.updates * settings.batch_size, latent_size, f"{TEACHERS} generated", step)
    images = beside(generated_images(latents, classes, state), classes, state)
    draw = state.randomness.torch_generator(f"{TEACHERS} batches", step)
    loss = torch.zeros(())
    for fakes in images.split(settings.batch_size):
        records, present = parts.batch(settings.batch_size, draw)
        real = (functional.softplus(-teachers(records)) * present).mean(dim=1)
        loss = (real + functional.softplus(teachers(fakes)).mean(dim=1)).sum()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    return float(loss.detach()) / settings.number
