"""G-PATE's rounds: bins of projected wishes, tests and argmaxes with noise, and a generator that follows the bins' centres."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from workbench.datasets.base import DatasetFacts
from workbench.methods.g_pate.method import GPATEConfig
from workbench.models import label_counts
from workbench.models.embeddings.generators import sample
from workbench.models.teachers import ensemble, rounds
from workbench.models.teachers.config import BALLOTS, VOTES, known_noise
from workbench.models.teachers.ensemble import Ballots, ballots_of
from workbench.models.teachers.gradients import following_loss, wished_moves
from workbench.privacy.not_dp.vote_gaps import ORDERS, VoteGapEpsilon, by_gaussian, gnmax_error
from workbench.records import Records
from workbench.training.state import State, Step

__all__ = ["fit", "initial_state", "sample", "vote_gap_epsilon"]

DIRECTIONS = "directions"


def initial_state(config: GPATEConfig, facts: DatasetFacts, state: State) -> State:
    """Generator and teachers, and room for votes by bin and, where there are tests, the largest of them; and for the true votes."""
    size = config.queries * (config.bins + bool(config.threshold))
    rounds.initial_state(config, config.teachers, facts, state, (size,), config.training.batch_size)
    state.modules[DIRECTIONS] = Directions(facts.dimensions, config.directions).to(state.device)
    state.modules[BALLOTS] = Ballots((config.training.steps, config.queries, config.bins)).to(state.device)
    label_counts.add_to(config.labels, facts, state)
    return state


def fit(config: GPATEConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """The counts of labels if asked for, and all rounds."""
    yield from label_counts.release(config.labels, data, state)
    yield from rounds.fit(
        config, config.teachers, data, state, lambda step: vote(config, state, step), lambda step: loss(config, state, step)
    )


class Directions(nn.Module):
    """A round's random directions (D, p) of length about 1, from the votes to what follows them: no record decides them."""

    axes: Tensor

    def __init__(self, dimensions: int, number: int) -> None:
        super().__init__()
        self.register_buffer("axes", torch.zeros(dimensions, number))

    def redraw(self, state: State, step: int) -> Tensor:
        """Those of another round."""
        draw = state.randomness.torch_generator(f"{VOTES} directions", step)
        self.axes = (torch.randn(self.axes.shape, generator=draw) / math.sqrt(len(self.axes))).to(state.device)
        return self.axes


def directions_of(state: State) -> Directions:
    """The directions."""
    directions = state.modules[DIRECTIONS]
    assert isinstance(directions, Directions)
    return directions


def histograms(wishes: Tensor, config: GPATEConfig) -> np.ndarray:
    """How many teachers' wishes (K, B, p) are in each bin, int64 (B, p, bins); those beyond the clip are in the outer bins.

    What is no number counts as 0: an error where a teacher diverged would tell of the records that it learned from.
    """
    width = 2.0 * config.clip / config.bins
    places = ((wishes.nan_to_num(nan=0.0).clamp(-config.clip, config.clip) + config.clip) / width).long().clamp(max=config.bins - 1)
    return functional.one_hot(places, config.bins).sum(dim=0).cpu().numpy().astype(np.int64)


def vote(config: GPATEConfig, state: State, step: int) -> None:
    """A round's noisy votes by bin and, where there are tests, noisy largest counts, all in deviations of their own noise.

    The true votes of answered queries are kept for whoever holds the records; those of the others stay zeros.
    """
    images, classes = rounds.ask(config, config.training.batch_size, state, step)
    counts = histograms(wished_moves(images, classes, state) @ directions_of(state).redraw(state, step), config)
    noise = known_noise(config.noise_multiplier)
    parts = [ensemble.noisy_votes(counts, noise, state, step).ravel() / noise]
    if config.threshold:
        deviation = noise * config.test_noise
        parts.append(ensemble.noisy_votes(counts.max(axis=2), deviation, state, step, f"{VOTES} tests").ravel() / deviation)
    state.tensors[VOTES] = torch.from_numpy(np.concatenate(parts)).to(state.device)
    ballots = ballots_of(state).counts[step - 1]
    ballots.copy_(torch.from_numpy(counts.reshape(ballots.shape)).to(state.device) * answered(config, state)[:, None])


def answered(config: GPATEConfig, state: State) -> Tensor:
    """Whether each query of the round (B p,) is answered: all are where nothing is tested."""
    queries = config.queries
    if not config.threshold:
        return torch.ones(queries, dtype=torch.bool, device=state.device)
    largest = state.tensors[VOTES][queries * config.bins :] * known_noise(config.noise_multiplier) * config.test_noise
    return largest >= config.threshold * config.teachers.number


def answers(config: GPATEConfig, state: State) -> Tensor:
    """The centre (B, p) of the bin with the most noisy votes, 0 where a test says that too few are in one."""
    noisy, queries = state.tensors[VOTES], config.queries
    best = noisy[: queries * config.bins].view(queries, config.bins).argmax(dim=1)
    centres = (best + 0.5) * (2.0 * config.clip / config.bins) - config.clip
    return torch.where(answered(config, state), centres, torch.zeros_like(centres)).view(-1, config.directions)


def loss(config: GPATEConfig, state: State, step: int) -> Tensor:
    """Squared distance from the images moved as the answers say, back along the round's directions."""
    moves = answers(config, state).float() @ directions_of(state).axes.T
    return following_loss(config.move * moves, state)


def vote_gap_epsilon(config: GPATEConfig, state: State, delta: float) -> VoteGapEpsilon:
    """By the true votes of all answers so far: how likely noise was to turn each; every test is charged whatever came of it.

    Long et al. (2021) count Confident-GNMax so (Papernot et al. 2018): RDP a/(2 s1^2) a test, and that of each answer by its votes.
    """
    taken, noise = state.steps.get(VOTES, config.training.steps), known_noise(config.noise_multiplier)
    counts = ballots_of(state).counts[:taken].flatten(0, 1).cpu().numpy()
    voted = counts[counts.any(axis=1)]
    tests = len(counts) * ORDERS / (2.0 * (noise * config.test_noise) ** 2) if config.threshold else 0.0
    return by_gaussian(gnmax_error(voted, noise), noise, delta, tests, len(counts) - len(voted))
