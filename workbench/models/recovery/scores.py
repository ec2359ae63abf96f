"""The score network on triples, its energy loss, and Langevin samples of it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from workbench.datasets.base import DatasetFacts
from workbench.diffusion.langevin import Displacement, ancestral, annealed_langevin, noise_levels, step_share
from workbench.models import image_diffusion
from workbench.models.recovery import triples
from workbench.models.recovery.config import SCORE, RecoverySettings
from workbench.models.recovery.triples import Triples
from workbench.models.sample_request import SampleRequest
from workbench.records import Records
from workbench.training.ordinary_training import OrdinaryTrainer
from workbench.training.state import State


class ScoreModel:
    """s(x, sigma) = f(x / sqrt(1 + sigma^2), position of sigma, label) / sigma: a U-Net over falling noise levels, as NCSNv2 divides."""

    def __init__(self, network: nn.Module, levels: np.ndarray, device: torch.device) -> None:
        self.network = network
        self.levels = torch.tensor(levels, dtype=torch.float32, device=device)

    def scaled_score(self, x: Tensor, at: Tensor, rows: Tensor) -> Tensor:
        """sigma times the score (B, C, H, W) at positions int64 (B,) of levels."""
        spread = (1 + self.levels[at].square()).sqrt().reshape(-1, 1, 1, 1)
        return self.network(x / spread, at, rows)

    def score(self, x: Tensor, position: int, rows: Tensor) -> Tensor:
        """The score (B, C, H, W) at one level."""
        at = torch.full((len(x),), position, dtype=torch.int64, device=x.device)
        return self.scaled_score(x, at, rows) / self.levels[position]


def recovery_direction(noised: Tensor, responses: Tensor, sigma: Tensor) -> Tensor:
    """d = (x~ - x_r)/sigma^2, whose negative the score is to be (P3DM 2024, before eq. 7; its text drops the sign)."""
    return (noised - responses) / sigma.square()


def energy_losses(scaled: Tensor, noised: Tensor, responses: Tensor, sigma: Tensor, weighting: str) -> Tensor:
    """1/2 |s + d|^2 (B,), mean over pixels, times sigma^2 where weighted: the recovery direction -d is what the score shall be.

    `scaled` is sigma times the score; `sigma` (B, 1, 1, 1).
    """
    wanted = -sigma * recovery_direction(noised, responses, sigma)
    losses = 0.5 * (scaled - wanted).square().flatten(1).mean(dim=1)
    return losses if weighting == "variance" else losses / sigma.flatten().square()


def initial_state(settings: RecoverySettings, facts: DatasetFacts, state: State) -> State:
    """The network, its moving average, an Adam, and room for triples."""
    network = image_diffusion.new_network(settings, facts, state)
    state.modules = {"network": network, "ema": image_diffusion.new_ema(settings, network, state)}
    state.optimizers = {SCORE: torch.optim.Adam(network.parameters(), lr=settings.training.learning_rate)}
    state.tensors = triples.room(state)
    return state


def trainer(settings: RecoverySettings, state: State) -> OrdinaryTrainer:
    """Steps on the triples of the state, evenly drawn, and on nothing else."""
    triples, training = Triples.of(state), settings.training
    model = ScoreModel(state.modules["network"], noise_levels(settings.langevin, state.facts.dimensions), state.device)

    def loss(step: int) -> Tensor:
        draw = state.randomness.torch_generator(f"{SCORE} batch", step)
        index = torch.randint(len(triples.levels), (training.batch_size,), generator=draw).to(state.device)
        at, noised = triples.levels[index], triples.noised[index]
        responses = triples.responses[index].to(torch.float32) / 127.5 - 1.0
        sigma = model.levels[at].reshape(-1, 1, 1, 1)
        return energy_losses(model.scaled_score(noised, at, triples.rows[index]), noised, responses, sigma, training.weighting).mean()

    return OrdinaryTrainer(training, SCORE, state, loss, private=False, averages={"ema": "network"})


Guide = Callable[[slice], Displacement]  # which samples of a request -> what steers them


def draw_samples(
    settings: RecoverySettings, state: State, request: SampleRequest, guide: Guide | None = None, reverse: bool = False
) -> Records:
    """Images by annealed Langevin sampling, or by the `reverse` step of the noising process, from noise of the largest level.

    Without labels where the triples had none.
    """
    levels = noise_levels(settings.langevin, state.facts.dimensions)
    model = ScoreModel(image_diffusion.averaged(state), levels, state.device)
    share, conditional = step_share(settings.langevin, levels), int(settings.responses.conditional)

    def run(noise: Tensor, rows: Tensor, generator: torch.Generator, place: slice) -> Tensor:
        def score(x: Tensor, position: int) -> Tensor:
            return model.score(x, position, rows * conditional)

        x, steered = float(levels[0]) * noise, None if guide is None else guide(place)
        if reverse:
            return ancestral(score, x, levels.tolist(), generator, steered)
        return annealed_langevin(score, x, levels.tolist(), share, settings.langevin.steps_per_level, generator, steered)

    drawn = image_diffusion.drawn(run, state, request)
    return drawn if settings.responses.conditional else Records(drawn.records)
