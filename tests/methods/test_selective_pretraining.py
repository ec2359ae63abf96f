"""Selective pre-training: the split of the budget, what each stage sees, and where samples start."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from support.quick import quick_dataset, quick_plan
from torch import Tensor

from workbench.diffusion import GaussianDiffusion
from workbench.errors import WorkbenchError
from workbench.experiment import fit, new_state, sample
from workbench.methods.selective_pretraining import training
from workbench.methods.selective_pretraining.method import REFINEMENT
from workbench.models.selection.config import SELECTIVE, VOTES
from workbench.models.selection.pretraining import selected_images
from workbench.models.settings import PRETRAINING
from workbench.plan import Plan
from workbench.privacy.accounting.gaussian import gdp_mu
from workbench.training.state import State

NAME = "selective-pretraining"
DELTA = 1e-5


def plan_of(epsilon: float = 10.0, **overrides: Any) -> Plan:
    return quick_plan(NAME, epsilon=epsilon, delta=DELTA, overrides={name.replace("__", "."): value for name, value in overrides.items()})


def fitted(plan: Plan) -> State:
    state = new_state(plan, seed=0)
    for _ in fit(plan, quick_dataset(NAME), state):
        pass
    return state


@pytest.mark.parametrize(("epsilon", "share"), [(1.0, 0.25), (10.0, 0.6)])
def test_the_votes_take_their_share_of_mu_squared_and_the_refinement_the_rest(epsilon: float, share: float) -> None:
    plan = plan_of(epsilon, selection_share=share)
    mu = math.sqrt(2) / plan.config["selection"]["noise_multiplier"]  # of two rounds
    assert mu**2 == pytest.approx(share * gdp_mu(epsilon, DELTA) ** 2)
    assert 0.995 * epsilon <= plan.bound.epsilon <= epsilon
    assert (
        plan_of(epsilon, selection_share=share / 2).config["refinement"]["noise_multiplier"] < plan.config["refinement"]["noise_multiplier"]
    )


def test_votes_of_ones_own_noise_are_kept_or_refused_with_one_that_does() -> None:
    kept = plan_of(selection__noise_multiplier=2.0)
    assert kept.config["selection"]["noise_multiplier"] == 2.0
    assert kept.bound.epsilon == pytest.approx(10, rel=0.005)
    with pytest.raises(WorkbenchError, match=r"alone reach \d+\.\d+ .* selection\.noise_multiplier=1\.414"):
        plan_of(selection__noise_multiplier=0.5)
    assert plan_of(selection__noise_multiplier=1.414).bound.epsilon <= 10


def test_without_an_epsilon_the_noise_of_the_votes_is_asked_for() -> None:
    given = {"refinement.noise_multiplier": 1.0}
    assert quick_plan(NAME, epsilon=None, overrides=given | {"selection.noise_multiplier": 2.0}).bound.is_finite
    with pytest.raises(WorkbenchError, match="Expected a noise_multiplier of the votes"):
        quick_plan(NAME, epsilon=None, overrides=given)


def test_all_training_is_on_time_steps_up_to_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    latest: list[int] = []
    add_noise, row_losses = GaussianDiffusion.add_noise, training.image_diffusion.row_losses

    def noised(self: GaussianDiffusion, x_start: Tensor, noise: Tensor, t: Tensor) -> Tensor:
        if x_start.dtype is torch.float32 and len(t) > 1:  # not one of a private pass's rows, which vmap hides
            latest.append(int(t.max()))
        return add_noise(self, x_start, noise, t)

    def private(diffusion: Any, network: Any, batch: Any, last: int) -> Any:
        assert last == 7
        latest.append(-1)
        return row_losses(diffusion, network, batch, last)

    monkeypatch.setattr(GaussianDiffusion, "add_noise", noised)
    monkeypatch.setattr(training.image_diffusion, "row_losses", private)
    plan = plan_of(start=7)
    fitted(plan)
    assert latest.count(-1) == plan.config["refinement"]["steps"]
    assert 1 <= max(latest) <= 7


def test_samples_are_what_was_selected_where_they_start_at_the_last_step_of_all() -> None:
    """A network as it is made predicts v = 0, that is an image of its own input."""
    plan = plan_of(start=1, sampler__num_inference_steps=1, draws__variation_size=0.0)
    state = new_state(plan, seed=0)
    candidates, public = (state.modules[name].get_buffer("images") for name in ("candidates", "public_candidates"))
    classes = torch.arange(10, dtype=torch.uint8).view(10, 1, 1, 1, 1)
    candidates[:], public[:] = 20 * classes, 20 * classes + 10
    for source, expected in (("model", 0), ("public", 10)):
        made = sample(plan, state, 30, source=source)
        assert made.labels is not None
        distance = np.abs(made.records.astype(float).mean(axis=(1, 2, 3)) - np.clip(20 * made.labels + expected, 0, 255))
        assert distance.max() < 1.5, "noise of the first time step is 1.3 grey levels a pixel"


def test_the_public_model_is_from_before_any_vote() -> None:
    plan = plan_of()
    state, before = new_state(plan, seed=0), dict[str, Tensor]()
    for step in fit(plan, quick_dataset(NAME), state):
        if step.stage == PRETRAINING:
            before = {name: value.clone() for name, value in state.modules["ema"].state_dict().items()}
        assert step.private == (step.stage == REFINEMENT)
    after = state.modules["public_ema"].state_dict()
    assert all(torch.equal(after[name], value) for name, value in before.items())
    assert not all(torch.equal(state.modules["ema"].state_dict()[name], value) for name, value in before.items())
    assert list(state.steps) == [PRETRAINING, "candidates", VOTES, SELECTIVE, REFINEMENT]


def test_without_public_pre_training_there_is_no_public_model() -> None:
    plan = plan_of(pretraining__steps=0)
    assert not plan.build().has_public_model
    assert PRETRAINING not in [stage.name for stage in plan.stages]
    with pytest.raises(WorkbenchError, match="no model from before the votes"):
        sample(plan, fitted(plan), 1, source="public")


def test_training_images_follow_the_votes_evenly_over_the_classes() -> None:
    plan = plan_of(draws__variation_size=0.0)
    state = new_state(plan, seed=0)
    state.modules["candidates"].get_buffer("images")[:, 3] = 255
    state.tensors["votes"][:, 3] = 1000
    config = plan.build().config
    chosen = selected_images(config.selection, config.draws, 40, state)
    assert (chosen.records == 255).all()
    assert np.bincount(chosen.labels).tolist() == [4] * 10


def test_a_start_that_is_none_is_refused_before_anything_is_spent() -> None:
    with pytest.raises(WorkbenchError, match="start of at most the 1000"):
        plan_of(start=1001)
    with pytest.raises(WorkbenchError, match="num_inference_steps of at most the start, 3"):
        plan_of(start=3)
