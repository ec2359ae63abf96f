"""PEARL's training: the noisy characteristic function, a critic that weighs frequencies, and the generator between them."""

from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor, nn

from workbench.datasets.base import DatasetFacts
from workbench.methods.pearl.method import RELEASE, PEARLConfig
from workbench.models.embeddings import generators, single
from workbench.models.embeddings.fourier import fourier_features, gaussian_frequencies, usual_length_scale
from workbench.models.embeddings.generators import sample
from workbench.models.embeddings.single import class_noise_share, noise_by_class, noise_share
from workbench.records import Records
from workbench.training.state import State, Step

__all__ = ["class_noise_share", "fit", "initial_state", "noise_by_class", "noise_share", "sample"]
CRITIC = "critic"


class Critic(nn.Module):
    """Weights of frequencies drawn from a standard normal, as if of one whose precisions are 1 + `shift` (their eq. 10)."""

    def __init__(self, dimensions: int) -> None:
        super().__init__()
        self.shift = nn.Parameter(torch.zeros(dimensions))

    def forward(self, standard: Tensor) -> Tensor:
        """Weights (F,) of mean 1 of frequencies (dimensions, F)."""
        return torch.softmax(-0.5 * self.shift @ standard.square(), dim=0) * standard.shape[1]


def initial_state(config: PEARLConfig, facts: DatasetFacts, state: State) -> State:
    """The generator, the critic, an Adam of each, and room for the one release."""
    state = single.initial_state(config, facts, state, config.size)
    state.modules[CRITIC] = Critic(facts.dimensions).to(state.device)
    state.optimizers[CRITIC] = torch.optim.Adam(state.modules[CRITIC].parameters(), lr=config.critic_rate)
    return state


def fit(config: PEARLConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """Release the characteristic function once, then let generator and critic move against each other."""
    length_scale = config.length_scale or usual_length_scale(state.facts.dimensions)
    frequencies = gaussian_frequencies(state.facts.dimensions, config.num_features // 2, [length_scale], state.device)
    features, standard = partial(fourier_features, frequencies=frequencies), frequencies * length_scale
    yield from single.release(config, data, features, RELEASE, state)
    critic, optimizer = state.modules[CRITIC], state.optimizers[CRITIC]

    def distance(step: int, images: Tensor, rows: Tensor) -> Tensor:
        apart = single.apart(state, features(images), rows).square().sum(dim=1)
        moduli = apart[: standard.shape[1]] + apart[standard.shape[1] :]
        if config.critic_every and step % config.critic_every == 0:
            optimizer.zero_grad(set_to_none=True)
            (-(critic(standard) * moduli.detach()).sum()).backward()
            optimizer.step()
        with torch.no_grad():
            weights = critic(standard)
        return (weights * moduli).sum()

    yield from generators.fit(config, state, distance)
