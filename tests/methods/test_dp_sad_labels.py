"""DP-SAD's labels where none are told: what finding them releases and costs, that it is what the stage says, and who learns of them."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from support.drawn_faces import toy_faces
from support.homes import here
from support.mechanism import bench_of, findings, violations
from support.quick import quick_dataset, quick_plan

from workbench.errors import WorkbenchError
from workbench.experiment import fit, new_state, sample
from workbench.methods.dp_sad import labelling
from workbench.methods.dp_sad.labels import CENTROIDS, FEATURES, NORM, SUMS, Labels
from workbench.plan import Plan
from workbench.planning import make_plan
from workbench.privacy.accounting.gaussian import gdp_mu
from workbench.runs.samples import SamplesRequest
from workbench.training.state import State
from workbench.training_data import pretraining_records

DP = {"labels.source": "dp-k-means", "labels.clusters": 4, "labels.rounds": 2}
PUBLIC = {"labels.source": "public", "labels.clusters": 4}
UNPROTECTED = {
    "labels.source": "self-supervised",
    "labels.clusters": 4,
    "labels.self_supervision.steps": 2,
    "labels.self_supervision.batch_size": 8,
}


def plan_of(overrides: dict[str, Any], **options: Any) -> Plan:
    return quick_plan("dp-sad", overrides=overrides, **options)


def fitted(plan: Plan) -> State:
    state = new_state(plan, seed=0)
    for _ in fit(plan, quick_dataset("dp-sad"), state):
        pass
    return state


def test_dp_k_means_does_what_it_is_charged_for() -> None:
    shorter = {"student.steps": 1, "adversarial_weight": 0.0, "labels.rounds": 1}
    assert not violations(findings(bench_of("dp-sad", DP | shorter), only=SUMS))


@pytest.mark.parametrize("outside", [DP, {"teacher": "dp-sgd"}])
def test_the_papers_formula_is_no_proof_where_it_leaves_a_release_out(outside: dict[str, Any]) -> None:
    assert plan_of({}).claim.status == "proved"
    claim = plan_of(outside).claim
    assert claim.status == "not_proved"
    assert "stand outside" in claim.reason


def test_dp_k_means_takes_its_share_and_the_student_the_rest() -> None:
    given, plan = plan_of({}), plan_of(DP | {"labels.share": 0.3})
    mu = math.sqrt(2) / plan.config["labels"]["noise_multiplier"]  # of two rounds
    assert mu**2 == pytest.approx(0.3 * gdp_mu(10, plan.delta) ** 2)
    assert 0.995 * 10 <= plan.bound.epsilon <= 10
    assert plan.config["student"]["noise_multiplier"] > given.config["student"]["noise_multiplier"]
    assert [stage.name for stage in plan.stages][:3] == [CENTROIDS, SUMS, "public pre-training"], "public images learn by private labels"
    with pytest.raises(WorkbenchError, match=r"Expected labels to leave something of epsilon 10, but at labels\.noise_multiplier 0\.1"):
        plan_of(DP | {"labels.noise_multiplier": 0.1})


def test_public_labels_cost_nothing() -> None:
    plan = plan_of(PUBLIC)
    assert plan.bound.epsilon == plan_of({}).bound.epsilon
    assert plan.build().has_public_model
    assert not plan_of(DP).build().has_public_model, "its public steps know private labels"


def test_averages_are_those_of_the_records_and_stay_where_there_are_none() -> None:
    state = new_state(plan_of(PUBLIC | {"labels.clusters": 2}), seed=0)
    pixels = np.random.default_rng(0).integers(0, labelling.LARGEST + 1, (5, 64)).astype(np.float64)
    for norm in (7.0, 8.0):
        added = labelling.contributions(pixels, norm)
        assert np.linalg.norm(added, axis=1).max() < 1
        assert added.min() >= 0
        labelling.keep_centroids(1, 1, np.full((2, 64), 7.0), state)
        state.tensors[SUMS] = torch.from_numpy(np.stack([added.sum(axis=0), np.zeros(65)]))
        state.tensors[NORM] = torch.tensor(norm, dtype=torch.float64)
        averages = labelling.averages(state)
        assert np.allclose(averages[0], pixels.mean(axis=0))
        assert (averages[1] == 7).all()


@pytest.mark.parametrize("norm", [0.5, 3.0, 8.0])
def test_what_is_longer_than_the_norm_is_clipped_to_it_and_uses_all_of_it(norm: float) -> None:
    white = labelling.contributions(np.full((1, 64), float(labelling.LARGEST)), norm)
    assert np.linalg.norm(white) == pytest.approx(1), "and no less: the noise is scaled to it"
    assert np.allclose(white[0, :-1], white[0, 0])
    assert np.linalg.norm(white[0, :-1]) == pytest.approx(white[0, -1]) == pytest.approx(0.5**0.5)


@pytest.mark.parametrize("given", [0.0, 2.5])
def test_the_norm_is_the_public_images_quantile_unless_it_is_given(given: float) -> None:
    plan = plan_of(DP | {"labels.max_norm": given, "labels.quantile": 0.9})
    public, state = pretraining_records(plan, here()), new_state(plan, seed=0)
    assert public is not None
    settings = Labels.model_validate(plan.config["labels"])
    next(iter(labelling.find(settings, quick_dataset("dp-sad").train, public, state)))
    norms = np.linalg.norm(public.records.reshape(len(public), -1) / 255.0, axis=1)
    assert norms.max() < 8, "so that its noise is less than it would be at the norm of a white image"
    assert float(state.tensors[NORM]) == pytest.approx(given or max(1.0, float(np.quantile(norms, 0.9))))


def test_without_public_images_the_norm_is_that_of_a_white_one() -> None:
    plan = plan_of(DP | {"teacher": "dp-sgd", "pretraining.steps": 0})
    state = new_state(plan, seed=0)
    next(iter(labelling.find(Labels.model_validate(plan.config["labels"]), quick_dataset("dp-sad").train, None, state)))
    assert float(state.tensors[NORM]) == 8


def test_clusters_of_next_to_no_noise_are_those_of_the_records() -> None:
    plan = plan_of(DP | {"labels.noise_multiplier": 0.01, "student.noise_multiplier": 1.0, "labels.rounds": 6}, epsilon=None)
    data, state = quick_dataset("dp-sad").train, new_state(plan, seed=0)
    settings = Labels.model_validate(plan.config["labels"])
    for step in labelling.find(settings, data, pretraining_records(plan, here()), state):
        assert step.stage in (CENTROIDS, SUMS)
    labels = labelling.with_cluster_labels(settings, data, state).labels
    assert labels is not None
    pixels, centroids = labelling.pixels_of(data, state), state.tensors[CENTROIDS].numpy()
    for cluster in range(4):
        assert np.abs(pixels[labels == cluster].mean(axis=0) - centroids[cluster]).max() < 0.05 * labelling.LARGEST
    again = state.tensors[CENTROIDS].clone()
    assert not list(labelling.find(settings, data, None, state)), "what is released is not drawn again"
    assert torch.equal(state.tensors[CENTROIDS], again)


@pytest.mark.parametrize("overrides", [DP, PUBLIC])
def test_networks_know_clusters_and_samples_carry_none(overrides: dict[str, Any]) -> None:
    plan = plan_of(overrides)
    state = fitted(plan)
    assert (state.steps[CENTROIDS], state.steps.get(SUMS)) == ((3, 2) if overrides is DP else (1, None))
    assert all(state.modules[name].label_embedding.num_embeddings == 5 for name in ("teacher", "student"))  # type: ignore[union-attr]
    assert sample(plan, state, 6).labels is None
    with pytest.raises(WorkbenchError, match="planned without labels"):
        SamplesRequest.of(plan, labels=["3"])
    if overrides is DP:
        with pytest.raises(WorkbenchError, match="no model of public data alone"):
            sample(plan, state, 6, source="public")


def test_the_papers_labels_stay_in_the_room_and_change_no_bound() -> None:
    paper = {"mode": "eq15", "diffusion.timesteps": 500}
    plan, given = plan_of(paper | UNPROTECTED | {"labels.clusters": 10}, target="claim"), plan_of(paper, target="claim")
    assert [stage.name for stage in plan.stages][:2] == [FEATURES, CENTROIDS]
    assert plan.bound.epsilon == given.bound.epsilon
    assert "k-means" in plan.releases[3].stage.reason
    state = fitted(plan)
    assert len(state.tensors[CENTROIDS].unique(dim=0)) == 10
    released = state.part(plan.build().released)
    assert (list(released["modules"]), released["tensors"]) == (["ema"], {})


def test_where_there_are_no_labels_the_papers_presets_make_some() -> None:
    facts = toy_faces().facts.model_copy(update={"classes": ()})
    for preset in ("eq15", "eq17", "published"):
        plan = make_plan("dp-sad", facts, preset=preset, epsilon=10.0, target="claim")
        assert plan.config["labels"]["source"] == "self-supervised"


def test_each_mode_takes_labels_that_keep_what_it_promises() -> None:
    with pytest.raises(WorkbenchError, match=r"labels\.source of given or public or dp-k-means where mode is sound"):
        plan_of(UNPROTECTED)
    with pytest.raises(WorkbenchError, match=r"labels\.source of given or self-supervised where mode is eq17"):
        plan_of({"mode": "eq17"} | PUBLIC, target="claim")


def test_contrastive_loss_by_hand() -> None:
    features = torch.eye(2).repeat(2, 1)  # each alike its partner and at right angles to the two others
    expected = -math.log(math.e**2 / (math.e**2 + 2))
    assert float(labelling.contrastive(features, 0.5)) == pytest.approx(expected)


def test_null_records_are_in_no_cluster() -> None:
    plan = plan_of(DP | {"labels.noise_multiplier": 0.01, "student.noise_multiplier": 1.0, "labels.rounds": 1}, epsilon=None)
    data, settings = quick_dataset("dp-sad").train, Labels.model_validate(plan.config["labels"])
    sums = []
    for records in (data.without(np.arange(10, len(data))), data.take(slice(10))):
        state = new_state(plan, seed=0)
        labelling.keep_centroids(1, 1, labelling.pixels_of(data.take(slice(4)), state), state)
        labelling.release(settings, 1, records, state)
        sums.append(state.tensors[SUMS])
    assert torch.equal(*sums)
