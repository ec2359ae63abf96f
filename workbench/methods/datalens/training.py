"""DataLens' rounds: signs of the largest numbers of every teacher's wish, their noisy sum, and a generator that follows it."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from workbench.datasets.base import DatasetFacts
from workbench.methods.datalens.method import DataLensConfig
from workbench.models import label_counts
from workbench.models.embeddings.generators import sample
from workbench.models.teachers import ensemble, rounds
from workbench.models.teachers.config import VOTES, known_noise
from workbench.models.teachers.gradients import following_loss, wished_moves
from workbench.records import Records
from workbench.training.state import State, Step

__all__ = ["fit", "initial_state", "sample"]


def initial_state(config: DataLensConfig, facts: DatasetFacts, state: State) -> State:
    """Generator and teachers, and room for the noisy votes about every number of a round's images."""
    size = config.training.batch_size
    rounds.initial_state(config, config.teachers, facts, state, (size, facts.dimensions), size)
    label_counts.add_to(config.labels, facts, state)
    return state


def fit(config: DataLensConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """The counts of labels if asked for, and all rounds."""
    yield from label_counts.release(config.labels, data, state)
    yield from rounds.fit(config, config.teachers, data, state, lambda step: vote(config, state, step), lambda _step: loss(config, state))


def signs(wishes: Tensor, top: int, draw: torch.Generator) -> Tensor:
    """Votes int64 (K, B, D) of wishes: -1 or 1 for the `top` largest numbers of each, 0 for all others.

    A number g votes 1 with probability (1 + g / b) / 2, b the largest of its own wish: what it is on average is in proportion to g.
    """
    largest = wishes.abs().topk(top, dim=-1)
    odds = 0.5 * (1.0 + wishes.gather(-1, largest.indices) / largest.values[..., :1].clamp(min=1e-30))
    coins = torch.rand(odds.shape, generator=draw).to(odds.device)
    chosen = torch.where(coins < odds, 1, -1)
    return torch.zeros(wishes.shape, dtype=torch.int64, device=wishes.device).scatter(-1, largest.indices, chosen)


def vote(config: DataLensConfig, state: State, step: int) -> None:
    """The noisy sum of all teachers' votes about a round's images."""
    images, classes = rounds.ask(config, config.training.batch_size, state, step)
    draw = state.randomness.torch_generator(f"{VOTES} signs", step)
    votes = signs(wished_moves(images, classes, state), config.top, draw).sum(dim=0).cpu().numpy()
    noisy = ensemble.noisy_votes(votes, known_noise(config.noise_multiplier), state, step)
    state.tensors[VOTES] = torch.from_numpy(noisy).to(state.device)


def loss(config: DataLensConfig, state: State) -> Tensor:
    """Squared distance from the images moved by a step where noisy votes are far enough from 0."""
    noisy = state.tensors[VOTES]
    far = noisy.abs() > config.threshold * config.teachers.number
    return following_loss(config.move * noisy.sign() * far, state)
