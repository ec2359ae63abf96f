"""Methods that pre-train on public images and may take selected ones: the split of the budget, the order of stages, what may be asked."""

import math
from typing import Any

import pytest
import torch
from support.mechanism import bench_of, findings, violations
from support.quick import QUICK, quick_dataset, quick_plan

from workbench.errors import WorkbenchError
from workbench.experiment import fit, new_state
from workbench.methods import METHODS
from workbench.methods.pretrained import Pretrained
from workbench.models.selection.config import CANDIDATES, SELECTIVE, VOTES
from workbench.models.settings import PRETRAINING
from workbench.plan import Plan
from workbench.privacy.accounting.gaussian import gdp_mu

METHODS_TO_TRY = [name for name, method in METHODS.items() if issubclass(method, Pretrained)]
DELTA = 1e-5
SMALL = {
    "selected.selection.candidates": 5,
    "selected.selection.choices": 1,
    "selected.selection.rounds": 2,
    "selected.selection.records": 50,
    "selected.records": 20,
    "selected.steps": 2,
    "selected.batch_size": 8,
}
PUBLIC = {"pretraining.dataset": "glyphs"}


def plan_of(method: str, **options: Any) -> Plan:
    overrides = SMALL | PUBLIC | options.pop("overrides", {})
    return quick_plan(method, preset="selected", delta=DELTA, overrides=overrides, **options)


def test_all_that_pre_train_the_image_model_are_here() -> None:
    assert METHODS_TO_TRY == ["dp-promise", "dp-sgd-dm", "dpdm", "dp-feta", "dp-diffusion", "dp-ldm", "dp-lora"]


@pytest.mark.parametrize("method", METHODS_TO_TRY)
def test_votes_take_their_share_and_the_private_steps_the_rest(method: str) -> None:
    plan = plan_of(method, overrides={"selected.share": 0.4})
    assert share_of_votes(plan) == pytest.approx(0.4)
    assert 0.995 * 10 <= plan.bound.epsilon <= 10
    assert plan.claim.status == "not_evaluated"
    assert "selected" in plan.claim.reason


def share_of_votes(plan: Plan) -> float:
    """Part of the target's mu^2 that two rounds of votes have."""
    mu = math.sqrt(2) / plan.config["selected"]["selection"]["noise_multiplier"]
    return (mu / gdp_mu(10, DELTA)) ** 2


@pytest.mark.parametrize(("method", "only"), [("dp-promise", None), ("dpdm", VOTES)])
def test_every_stage_does_what_it_is_charged_for(method: str, only: str | None) -> None:
    assert not violations(findings(bench_of(method, SMALL | PUBLIC), only=only))


@pytest.mark.parametrize("method", METHODS_TO_TRY)
def test_the_public_model_is_from_before_any_vote(method: str) -> None:
    plan = plan_of(method)
    state, before = new_state(plan, seed=0), dict[str, torch.Tensor]()
    for step in fit(plan, quick_dataset(method), state):
        if step.stage == PRETRAINING:
            before = {name: value.clone() for name, value in state.modules["ema"].state_dict().items()}
        if step.stage == SELECTIVE and step.step == step.steps:
            assert not all(torch.equal(state.modules["ema"].state_dict()[name], value) for name, value in before.items())
    assert all(torch.equal(state.modules["public_ema"].state_dict()[name], value) for name, value in before.items())
    assert list(state.steps)[:4] == [PRETRAINING, CANDIDATES, VOTES, SELECTIVE]
    assert len(state.steps) > 4


def test_a_selection_may_be_all_the_pre_training_there_is() -> None:
    plan = quick_plan("dpdm", preset="selected", delta=DELTA, overrides=SMALL | {"pretraining.dataset": ""})
    method = plan.build()
    assert (method.public_dataset, method.public_records, method.has_public_model) == ("glyphs", 50, False)
    assert plan.releases[0].name == CANDIDATES
    state = new_state(plan, seed=0)
    assert {step.stage for step in fit(plan, quick_dataset("dpdm"), state)} >= {VOTES, SELECTIVE}


@pytest.mark.parametrize("method", METHODS_TO_TRY)
def test_without_rounds_nothing_is_selected(method: str) -> None:
    plan = quick_plan(method)
    assert not {VOTES, SELECTIVE, CANDIDATES} & {stage.name for stage in plan.releases}
    assert "votes" not in new_state(plan, seed=0).tensors
    assert plan.claim.status != "not_evaluated"


def test_what_cannot_be_is_refused_before_anything_is_spent() -> None:
    with pytest.raises(WorkbenchError, match="Expected a selection from the public images of the pre-training, 50 of glyphs, got 60"):
        plan_of("dp-promise", overrides={"selected.selection.records": 60})
    with pytest.raises(WorkbenchError, match=r"conditional=true"):
        plan_of("dp-promise", overrides={"conditional": False})
    with pytest.raises(WorkbenchError, match=r"selected\.selection\.noise_multiplier="):
        plan_of("dp-sgd-dm", overrides={"selected.selection.noise_multiplier": 0.3})
    assert QUICK["dp-promise"]["pretraining.records"] == SMALL["selected.selection.records"]


def test_a_sound_teacher_goes_on_with_selected_images() -> None:
    plan = plan_of("dp-sad", overrides={"adversarial_weight": 0.0, "selected.share": 0.4})
    assert [stage.name for stage in plan.stages] == [PRETRAINING, CANDIDATES, VOTES, SELECTIVE, "student"]
    assert share_of_votes(plan) == pytest.approx(0.4)
    assert 0.995 * 10 <= plan.bound.epsilon <= 10
    assert plan.claim.status == "not_evaluated"
    state, teachers = new_state(plan, seed=0), dict[str, torch.Tensor]()
    for step in fit(plan, quick_dataset("dp-sad"), state):
        if step.step == step.steps and step.stage in (PRETRAINING, SELECTIVE):
            teachers[step.stage] = torch.cat([weight.flatten() for weight in state.modules["teacher_ema"].parameters()]).clone()
    public = torch.cat([weight.flatten() for weight in state.modules["public_ema"].parameters()])
    assert torch.equal(teachers[PRETRAINING], public), "epsilon 0 is the teacher before any vote"
    assert not torch.equal(teachers[SELECTIVE], public)
    with pytest.raises(WorkbenchError, match="given where images are selected"):
        plan_of("dp-sad", overrides={"labels.source": "public"})


@pytest.mark.parametrize(
    ("method", "field", "stage"), [("dp-promise", "phase_two", "phase two"), ("selective-pretraining", "refinement", "refinement")]
)
def test_private_steps_may_train_the_way_up_alone(method: str, field: str, stage: str) -> None:
    plan = quick_plan(method, overrides={f"{field}.trained": "up"})
    assert plan.bound == quick_plan(method).bound
    state, before = new_state(plan, seed=0), dict[str, torch.Tensor]()
    for step in fit(plan, quick_dataset(method), state):
        if step.stage != stage:
            before = {name: value.clone() for name, value in state.modules["ema"].module.state_dict().items()}  # type: ignore[union-attr]
    after = state.modules["network"].state_dict()
    changed = {name.split(".")[0] for name, value in after.items() if not torch.equal(value, before[name])}
    assert changed
    assert changed <= {"up", "upsample", "norm", "conv_out"}
