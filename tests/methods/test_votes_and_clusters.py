"""Votes and clusters: one bound for both, samples of both, and what a person chooses of either."""

from typing import Any

import numpy as np
import pytest
import torch
from support.quick import quick_plan

from workbench.datasets import load
from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.experiment import fit, new_state
from workbench.methods.cluster_moments import training as cluster_moments
from workbench.methods.fields import with_values
from workbench.methods.votes_and_clusters import VotesAndClustersConfig
from workbench.methods.votes_and_clusters.training import in_turn, noise_share, sample
from workbench.models.frames import frames_of
from workbench.models.sample_request import SampleRequest
from workbench.plan import Plan
from workbench.planning import make_plan
from workbench.privacy.accounting.gaussian import gdp_epsilon
from workbench.records import ImageKind
from workbench.training.state import State

DIGITS = load("digits")
LARGE = DatasetFacts(name="drawings", kind=ImageKind(size=(1, 28, 28)), num_records=60_000, classes=tuple("abcdefghij"))


def fitted(**settings: Any) -> tuple[VotesAndClustersConfig, State, Plan]:
    made = quick_plan("votes-and-clusters", epsilon=None, overrides={"noise_multiplier": 1.0} | settings)
    state = new_state(made, seed=0)
    for _ in fit(made, DIGITS, state):
        pass
    config = made.build().config
    assert isinstance(config, VotesAndClustersConfig)
    return config, state, made


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
@pytest.mark.parametrize("rounds", [1, 4])
def test_both_are_one_gaussian_mechanism_whatever_the_share(share: float, rounds: int) -> None:
    values = {"noise_multiplier": 2.0, "share_of_votes": share, "selection.rounds": rounds, "clusters.rounds": 3}
    made = quick_plan("votes-and-clusters", epsilon=None, overrides=values)
    assert made.bound.epsilon == pytest.approx(gdp_epsilon(1 / 2.0, made.delta), rel=1e-9)
    assert made.claim.status == "not_evaluated"


def test_a_multiplier_of_one_part_is_refused() -> None:
    for name in ("selection.noise_multiplier", "clusters.noise_multiplier"):
        with pytest.raises(WorkbenchError, match="leave those of selection and clusters empty"):
            quick_plan("votes-and-clusters", epsilon=None, overrides={"noise_multiplier": 1.0, name: 1.0})


def test_drawings_take_their_share_of_each_class_in_turn() -> None:
    rows = np.array([0, 1, 0, 0, 1, 0, 2])
    assert in_turn(rows, 0.5).tolist() == [False, False, True, False, True, True, False]
    assert not in_turn(rows, 0.0).any()
    assert in_turn(rows, 1.0).all()
    assert [int(in_turn(np.zeros(1_000, np.int64), share).sum()) for share in (0.1, 0.3, 0.7)] == [100, 300, 700]


def test_samples_are_drawings_and_draws_of_the_mixtures() -> None:
    config, state, _ = fitted(**{"draws.variation_size": 0.0, "draws.sharpening": 0.0})
    request = SampleRequest(60)
    records = sample(config, state, request)
    labels = np.asarray(records.labels)
    assert labels.tolist() == [place % 10 for place in range(60)]
    drawn = in_turn(labels, 0.5)
    candidates = {(label, image.tobytes()) for label, images in enumerate(state.modules["candidates"].images.numpy()) for image in images}
    assert all((label, image.tobytes()) in candidates for label, image in zip(labels[drawn], records.records[drawn], strict=True))
    mixtures = cluster_moments.drawn_images(config.mixtures, state, labels[~drawn], "samples, mixtures")
    assert np.array_equal(records.records[~drawn], mixtures)
    assert drawn.sum() == 30


def test_draws_of_the_mixtures_alone_are_varied_by_their_size() -> None:
    config, state, _ = fitted()
    usual = sample(config, state, SampleRequest(40))
    varied = sample(with_values(config, {"variation_of_mixtures": 1.0}), state, SampleRequest(40))
    drawn = in_turn(np.asarray(usual.labels), 0.5)
    same = (usual.records == varied.records).all(axis=(1, 2, 3))
    assert same[drawn].all()
    assert not same[~drawn].any()
    by_class = [(usual.records[~drawn & (usual.labels == label)], varied.records[~drawn & (varied.labels == label)]) for label in range(10)]
    assert all(np.corrcoef(before.ravel(), after.ravel())[0, 1] > 0.5 for before, after in by_class)


def test_drawings_are_brought_to_frames_of_the_mixtures() -> None:
    """Votes in the standard frame say nothing of frames: those of the candidates go, those of the records come."""
    normalised = {"clusters.moment_normalisation": True, "selection.space": "standard-frame"}
    settings = {"noise_multiplier": 0.05, "draws.variation_size": 0.0, "draws.sharpening": 0.0, "share_of_drawings": 1.0}
    config, state, _ = fitted(**settings | normalised)
    chosen = DIGITS.train.labels == 1
    state.modules["candidates"].images[1] = torch.roll(state.modules["candidates"].images[1], 2, dims=-1)
    places = frames_of(sample(config, state, SampleRequest(400, labels=np.ones(400, np.int64))).records)[:, 0]
    assert places.mean() == pytest.approx(frames_of(DIGITS.train.records[chosen])[:, 0].mean(), abs=0.15)
    usual = with_values(config, {"selection.space": "pixels"})
    assert frames_of(sample(usual, state, SampleRequest(400, labels=np.ones(400, np.int64))).records)[:, 0].mean() > places.mean() + 0.5
    public = sample(config, state, SampleRequest(40, source="public"))
    assert np.array_equal(public.records, sample(usual, state, SampleRequest(40, source="public")).records), (
        "none of the mixtures' in these"
    )


def test_large_drawings_are_looked_at_in_the_standard_frame_and_nothing_else_is() -> None:
    """The defaults that were measured."""
    large, small = (make_plan("votes-and-clusters", facts, epsilon=1.0).config for facts in (LARGE, DIGITS.facts))
    of = [(one["clusters"]["moment_normalisation"], one["selection"]["space"], one["variation_of_mixtures"]) for one in (large, small)]
    assert of == [(True, "standard-frame", 0.9), (False, "pixels", 0.0)]


def test_the_public_source_has_drawings_before_a_vote_alone() -> None:
    config, state, _ = fitted(**{"draws.variation_size": 0.0, "draws.sharpening": 0.0})
    before = {image.tobytes() for images in state.modules["public_candidates"].images.numpy() for image in images}
    state.tensors["cluster_sums"][...] = state.tensors["votes"][...] = float("nan")
    assert {image.tobytes() for image in sample(config, state, SampleRequest(40, source="public")).records} <= before


def test_what_is_noise_is_that_of_the_mixtures() -> None:
    config, state, _ = fitted(share_of_drawings=0.25)
    assert noise_share(config, state) == pytest.approx(0.75 * cluster_moments.noise_share(config.mixtures, state))


def test_a_plan_is_finer_where_its_share_leaves_little_noise_and_what_is_given_stays() -> None:
    coarse, fine = (make_plan("votes-and-clusters", LARGE, epsilon=epsilon) for epsilon in (1.0, 10.0))
    given = make_plan("votes-and-clusters", LARGE, epsilon=10.0, settings={"selection.rounds": 3, "clusters.clusters": 7})
    little = make_plan("votes-and-clusters", LARGE, epsilon=10.0, settings={"share_of_votes": 0.95})
    of = [
        (one.config["selection"]["rounds"], one.config["clusters"]["clusters"], one.config["clusters"]["groups"]) for one in (coarse, fine)
    ]
    assert of == [(4, 60, 0), (8, 200, 10)]
    assert (given.config["selection"]["rounds"], given.config["clusters"]["clusters"]) == (3, 7)
    assert little.config["clusters"]["groups"] == 0
    assert any("selection.candidates 2000" in warning and "clusters 100" not in warning for warning in fine.warnings)
    assert 9.95 <= fine.bound.epsilon <= 10.0
