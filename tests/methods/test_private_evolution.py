"""Private Evolution: its claim, what a set of samples may change, the model of before any vote, and a resume between vote and draw."""

import math

import numpy as np
import pytest
import torch
from support.quick import quick_plan

from workbench.datasets import facts, load
from workbench.errors import WorkbenchError
from workbench.experiment import fit, new_state, sample
from workbench.methods.private_evolution.method import claimed
from workbench.models.sample_request import SampleRequest
from workbench.planning import make_plan
from workbench.privacy.accounting.gaussian import gdp_epsilon
from workbench.runs.samples.request import SamplesRequest
from workbench.training.state import State

DIGITS = load("digits")


def fitted(**overrides: object) -> State:
    state = new_state(quick_plan("private-evolution", overrides=overrides), seed=0)
    for _ in fit(quick_plan("private-evolution", overrides=overrides), DIGITS, state):
        pass
    return state


@pytest.mark.parametrize(
    ("noise_multiplier", "rounds", "epsilon"), [(1.06442, 4, 10), (8.23794, 4, 1), (1.68300, 10, 10), (13.0253, 10, 1)]
)
def test_published_noise_claims_the_published_epsilon(noise_multiplier: float, rounds: int, epsilon: float) -> None:
    """Lin et al.: 55 000 images, delta 1/(n ln n)."""
    value = claimed(noise_multiplier=noise_multiplier, rounds=rounds, delta=1.66575e-6)
    assert value.epsilon == pytest.approx(epsilon, rel=1e-4)
    assert value.status == "proved"


@pytest.mark.parametrize(
    ("noise_multiplier", "rounds", "epsilon"), [(1.58079, 10, 10.0), (11.7973, 10, 1.0), (1.118, 5, 10.0), (8.34, 5, 1.0)]
)
def test_noise_at_the_usual_delta(noise_multiplier: float, rounds: int, epsilon: float) -> None:
    """As exact as the noise is printed: half of its last digit on either side claims less and more."""
    half = 0.5 * 10.0 ** -len(str(noise_multiplier).split(".")[1])
    less, more = (claimed(noise_multiplier=noise_multiplier + off, rounds=rounds, delta=1e-5).epsilon for off in (half, -half))
    assert less < epsilon < more


def test_bound_and_claim_agree_where_a_record_is_made_null() -> None:
    plan = make_plan("private-evolution", facts("digits"), epsilon=1)
    assert plan.claim.epsilon == pytest.approx(plan.bound.epsilon, rel=1e-6)
    assert plan.replace_one is not None
    noise = plan.config["selection"]["noise_multiplier"]
    assert plan.replace_one.epsilon == pytest.approx(gdp_epsilon(math.sqrt(2 * 4) / noise, plan.delta), rel=1e-6)


def test_a_set_of_samples_may_be_drawn_otherwise_from_the_same_votes() -> None:
    plan = quick_plan("private-evolution")
    state, request = fitted(), SampleRequest(30)
    samples_request = SamplesRequest.of(plan, {"draws.variation_size": 0.0})
    as_they_are = samples_request.method(plan).sample(state, request)
    candidates = {image.tobytes() for image in state.modules["candidates"].images.flatten(0, 1).numpy()}
    assert all(image.tobytes() in candidates for image in as_they_are.records)
    varied = sample(plan, state, 30).records
    assert not any(image.tobytes() in candidates for image in varied)
    with pytest.raises(WorkbenchError, match="no field that private-evolution samples by"):
        SamplesRequest.of(plan, {"selection.threshold": 1.0})


def test_the_public_model_knows_no_vote() -> None:
    plan, state = quick_plan("private-evolution"), fitted()
    public = sample(plan, state, 20, source="public")
    state.tensors["votes"] = torch.zeros_like(state.tensors["votes"])
    state.modules["candidates"].images.zero_()
    assert np.array_equal(public.records, sample(plan, state, 20, source="public").records)
    assert sample(plan, state, 20).records.max() == 0


def test_a_resume_votes_on_the_candidates_that_were_kept() -> None:
    """From a state kept after the candidates and before the vote, whoever resumes it: nothing is drawn anew."""
    plan = quick_plan("private-evolution")
    state = new_state(plan, seed=0)
    steps = fit(plan, DIGITS, state)
    for _ in range(3):
        next(steps)
    kept = state.checkpoint()
    candidates = kept["modules"]["candidates"]["images"].clone()
    resumed = new_state(plan)
    resumed.restore(kept)
    spent: list[tuple[str, int]] = []
    resumed.spend = lambda stage, step: spent.append((stage, step))
    list(fit(plan, DIGITS, resumed))
    assert spent == [("votes", 2)]
    assert torch.equal(resumed.modules["candidates"].images, candidates)


def test_what_is_released_draws_the_same_where_a_model_varies_it() -> None:
    plan = quick_plan("private-evolution", overrides={"selection.variations": ("denoise",), "selection.denoiser.steps": 2})
    state, loaded = new_state(plan, seed=0), new_state(plan, seed=0)
    for _ in fit(plan, DIGITS, state):
        pass
    loaded.load_part(state.part(plan.build().released_parts))
    assert np.array_equal(sample(plan, state, 20).records, sample(plan, loaded, 20).records)
    loaded.modules["selection_denoiser"].load_state_dict(new_state(plan, seed=1).modules["selection_denoiser"].state_dict())
    assert not np.array_equal(sample(plan, state, 20).records, sample(plan, loaded, 20).records), "the model is a part of it"
