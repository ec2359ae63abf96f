"""The rounds of votes, and images drawn by them."""

from collections.abc import Iterator

from workbench.datasets.base import DatasetFacts
from workbench.methods.private_evolution.method import PrivateEvolutionConfig
from workbench.models.label_shares import labels_by
from workbench.models.sample_request import SampleRequest
from workbench.models.selection.selector import Selector
from workbench.records import Records
from workbench.training.state import State, Step


def initial_state(config: PrivateEvolutionConfig, facts: DatasetFacts, state: State) -> State:
    """Room for candidates and votes."""
    Selector.add_to(config.selection, facts, state)
    return state


def fit(config: PrivateEvolutionConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """All rounds."""
    yield from Selector(config.selection, state).run(data, public)


def sample(config: PrivateEvolutionConfig, state: State, request: SampleRequest) -> Records:
    """Candidates of the last round drawn by their votes, and varied; source 'public' takes those before the first vote."""
    votes, draw = state.tensors["votes"].sum(dim=1).cpu().numpy(), state.randomness.stream(f"{request.purpose}, labels")
    labels = labels_by(config.labels, request, state.facts.num_classes, votes, draw)
    generator = state.randomness.torch_generator(request.purpose, 0, state.device)
    return Selector(config.selection, state).draw(labels, request.num_samples, config.draws, generator, public=request.source == "public")
