"""The votes, then the mixtures; samples of both."""

from collections.abc import Iterator

import numpy as np

from workbench.datasets.base import DatasetFacts
from workbench.methods.cluster_moments import mixture
from workbench.methods.cluster_moments import training as cluster_moments
from workbench.methods.votes_and_clusters.method import VotesAndClustersConfig
from workbench.models.label_shares import labels_by
from workbench.models.sample_request import SampleRequest
from workbench.models.selection.selector import Selector
from workbench.records import Records
from workbench.training.state import State, Step


def initial_state(config: VotesAndClustersConfig, facts: DatasetFacts, state: State) -> State:
    """Room for candidates, votes and the releases of the mixtures."""
    Selector.add_to(config.selection, facts, state)
    return cluster_moments.initial_state(config.clusters, facts, state)


def fit(config: VotesAndClustersConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """All rounds of votes, then the releases of the mixtures."""
    yield from Selector(config.votes, state).run(data, public)
    yield from cluster_moments.fit(config.mixtures, data, None, state)


def sample(config: VotesAndClustersConfig, state: State, request: SampleRequest) -> Records:
    """Drawings and draws of the mixtures, of each class in turn; source 'public' takes drawings before a vote."""
    counts, draw = mixture.noisy_counts(config.mixtures, state), state.randomness.stream(f"{request.purpose}, labels")
    labels, public = labels_by(config.labels, request, state.facts.num_classes, counts, draw), request.source == "public"
    rows = np.zeros(request.num_samples, np.int64) if labels is None else labels
    drawn = np.ones(len(rows), bool) if public else in_turn(rows, config.share_of_drawings)
    generator = state.randomness.torch_generator(request.purpose, 0, state.device)
    selector, images = Selector(config.votes, state), np.zeros((len(rows), *state.facts.shape), np.uint8)
    frames = None if public or not config.has_frames else of_drawings(config, state, rows[drawn], request.purpose)
    images[drawn] = selector.draw(rows[drawn], int(drawn.sum()), config.draws, generator, public=public, frames=frames).records
    of_mixtures = cluster_moments.drawn_images(config.mixtures, state, rows[~drawn], f"{request.purpose}, mixtures")
    images[~drawn] = selector.varied(of_mixtures, rows[~drawn], config.variation_of_mixtures, generator)
    return Records(images, labels)


def of_drawings(config: VotesAndClustersConfig, state: State, rows: np.ndarray, purpose: str) -> np.ndarray:
    """Frames (N, 5) for drawings of these classes (N,): votes in the standard frame say nothing of them, the mixtures do."""
    return cluster_moments.drawn_frames(config.mixtures, state, rows, f"{purpose}, frames")


def in_turn(rows: np.ndarray, share: float) -> np.ndarray:
    """Which of these rows are drawings (N,): of the first k of each class, k times the share, rounded down."""
    chosen = np.zeros(len(rows), bool)
    for label in np.unique(rows):
        places = np.flatnonzero(rows == label)
        chosen[places] = np.diff(np.floor(share * np.arange(len(places) + 1) + 1e-9)) > 0
    return chosen


def noise_share(config: VotesAndClustersConfig, state: State) -> float:
    """Of the mixtures; drawings have none."""
    return (1 - config.share_of_drawings) * cluster_moments.noise_share(config.mixtures, state)


def noise_by_class(config: VotesAndClustersConfig, state: State) -> tuple[float, ...]:
    """Of how far a class's samples of its mixture lie from its records; drawings have none."""
    return tuple((1 - config.share_of_drawings) * share for share in cluster_moments.noise_by_class(config.mixtures, state))
