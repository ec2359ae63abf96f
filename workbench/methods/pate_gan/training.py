"""PATE-GAN's rounds: counts of teachers with noise, a student that learns the side they are on, and the generator behind it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from scipy.special import erfc
from torch import Tensor
from torch.nn import functional

from workbench import networks
from workbench.datasets.base import DatasetFacts
from workbench.methods.pate_gan.method import PATEGANConfig
from workbench.models import label_counts
from workbench.models.adversarial.turns import drawn, frozen
from workbench.models.embeddings.config import GENERATOR
from workbench.models.embeddings.generators import sample
from workbench.models.teachers import ensemble, rounds
from workbench.models.teachers.config import BALLOTS, VOTES, known_noise
from workbench.models.teachers.ensemble import Ballots, ballots_of, beside, new_discriminators, teachers_of
from workbench.privacy.not_dp.vote_gaps import VoteGapEpsilon, by_gaussian, by_laplace
from workbench.records import Records
from workbench.training.state import State, Step

__all__ = ["fit", "initial_state", "sample", "vote_gap_epsilon"]

STUDENT = "student"


def initial_state(config: PATEGANConfig, facts: DatasetFacts, state: State) -> State:
    """Generator, teachers and student, and room for the votes."""
    labels = config.labels_of_round
    rounds.initial_state(config, config.teachers, facts, state, (labels,), labels)
    draw = state.randomness.torch_generator(f"{STUDENT} initialisation")
    student = networks.initialized(lambda: new_discriminators(1, config.student.hidden, facts), draw).to(state.device)
    state.modules |= {STUDENT: student, BALLOTS: Ballots((config.training.steps, labels)).to(state.device)}
    state.optimizers[STUDENT] = torch.optim.Adam(student.parameters(), lr=config.student.learning_rate)
    label_counts.add_to(config.labels, facts, state)
    return state


def fit(config: PATEGANConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """The counts of labels if asked for, and all rounds."""
    yield from label_counts.release(config.labels, data, state)
    yield from rounds.fit(
        config, config.teachers, data, state, lambda step: vote(config, state, step), lambda step: loss(config, state, step)
    )


def vote(config: PATEGANConfig, state: State, step: int) -> None:
    """The noisy count of teachers that take each of a round's generated images for a record."""
    images, classes = rounds.ask(config, config.labels_of_round, state, step)
    with torch.no_grad():
        counts = (teachers_of(state)(beside(images, classes, state)) > 0).sum(dim=0)
    ballots_of(state).counts[step - 1] = counts
    noisy = with_noise(config, counts.cpu().numpy().astype(np.int64), state, step)
    state.tensors[VOTES] = torch.from_numpy(noisy).to(state.device)


def with_noise(config: PATEGANConfig, counts: np.ndarray, state: State, step: int) -> np.ndarray:
    """Counts int64 with noise, float64.

    Of two sides, each with Gaussian noise of deviation s, the first has more votes when its count with noise of s / sqrt(2) is above half:
    one draw an image does for both.
    """
    noise = known_noise(config.noise_multiplier)
    if config.noise == "laplace":
        return state.randomness.release_counts(VOTES, step, counts, noise).astype(np.float64)
    return ensemble.noisy_votes(counts, noise, state, step)


def loss(config: PATEGANConfig, state: State, step: int) -> Tensor:
    """The student learns the round's labels; then log(1 - S(G(z))), the generator's own loss."""
    learn(config, state)
    latents, classes = drawn(state, config.training.batch_size, config.latent_size, f"{GENERATOR} batch", step)
    with frozen(state.modules[STUDENT]) as student:
        scores = student(beside(state.modules[GENERATOR].train()(latents, classes), classes, state))
    return -functional.softplus(scores).mean()


def learn(config: PATEGANConfig, state: State) -> None:
    """Steps of the student on the images that were voted about, each with the side that the noisy count says."""
    inputs = beside(*rounds.queried_images(state), state)
    sides = (state.tensors[VOTES] > config.teachers.number / 2).to(inputs.dtype)
    student, optimizer, size = state.modules[STUDENT], state.optimizers[STUDENT], config.training.batch_size
    for images, labels in zip(inputs.split(size), sides.split(size), strict=True):
        optimizer.zero_grad(set_to_none=True)
        functional.binary_cross_entropy_with_logits(student(images)[0], labels).backward()
        optimizer.step()


def vote_gap_epsilon(config: PATEGANConfig, state: State, delta: float) -> VoteGapEpsilon:
    """By the true votes of all rounds so far: how likely noise was to turn each label."""
    taken = state.steps.get(VOTES, config.training.steps)
    counts = ballots_of(state).counts[:taken].flatten().cpu().numpy()
    ahead, noise = np.abs(counts - config.teachers.number / 2), known_noise(config.noise_multiplier)
    if config.noise == "gaussian":
        return by_gaussian(0.5 * erfc(ahead / (np.sqrt(2.0) * noise)), np.sqrt(2.0) * noise, delta)
    turned = np.exp(-np.ceil(ahead) / noise) / (1.0 + np.exp(-1.0 / noise))  # discrete Laplace noise of `ahead` or more
    return by_laplace(turned, 1.0 / noise, delta)
