"""Triples once, a score network that learns from them alone, images by annealed Langevin sampling."""

from collections.abc import Iterator

from workbench.datasets.base import DatasetFacts
from workbench.diffusion.langevin import noise_levels
from workbench.methods.dpgen.method import DPGENConfig
from workbench.models.recovery import scores, triples
from workbench.models.sample_request import SampleRequest
from workbench.records import Records
from workbench.training.state import State, Step


def initial_state(config: DPGENConfig, facts: DatasetFacts, state: State) -> State:
    """The network, its moving average, an Adam, and room for triples."""
    return scores.initial_state(config, facts, state)


def fit(config: DPGENConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """Make the triples once, then train on them alone."""
    yield from triples.release(config, data, noise_levels(config.langevin, state.facts.dimensions), state)
    yield from scores.trainer(config, state).run()


def sample(config: DPGENConfig, state: State, request: SampleRequest) -> Records:
    """Images by annealed Langevin sampling."""
    return scores.draw_samples(config, state, request)
