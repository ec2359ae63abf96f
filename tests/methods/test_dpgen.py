"""DPGEN: it rests on its claim, its triples are made once, and its samples are labelled where the triples were."""

import math

import pytest
from support.quick import quick_dataset, quick_plan

from workbench.datasets import facts
from workbench.errors import WorkbenchError
from workbench.experiment import fit, new_state, sample
from workbench.planning import make_plan
from workbench.privacy import proved_bound


def test_an_epsilon_is_that_of_the_randomised_response_and_of_nothing_else() -> None:
    plan = quick_plan("dpgen", epsilon=5.0)
    assert plan.config["responses"]["epsilon"] == plan.claim.epsilon == 5.0
    assert plan.claim.status == plan.bound.status == "refuted"
    assert plan.bound.epsilon == math.inf
    assert plan.claim_only
    with pytest.raises(WorkbenchError, match=r"No setting bounds this run.*Use the target .claim."):
        make_plan("dpgen", facts("digits"), epsilon=5)


def test_what_is_claimed_of_the_responses_costs_the_claim() -> None:
    plan = quick_plan("dpgen", epsilon=5.0)
    bound = proved_bound(plan.build().claimed_stages(plan.facts), 1e-12)
    assert bound.epsilon == pytest.approx(plan.claim.epsilon, rel=1e-3)


def test_it_trains_on_its_claim_alone() -> None:
    plan = quick_plan("dpgen", target="bound", epsilon=None)
    assert plan.claim.epsilon == 10.0
    with pytest.raises(WorkbenchError, match="no finite bound"):
        next(iter(fit(plan, quick_dataset("dpgen"), new_state(plan, seed=0))))


@pytest.mark.parametrize("conditional", [True, False])
def test_samples_have_labels_where_the_triples_had(conditional: bool) -> None:
    plan = quick_plan("dpgen", overrides={"responses.conditional": conditional})
    state = new_state(plan, seed=0)
    steps = [(step.stage, step.kept) for step in fit(plan, quick_dataset("dpgen"), state)]
    assert steps[0] == ("randomised responses", True)
    assert len(state.tensors["levels"]) == plan.num_records
    drawn = sample(plan, state, 20)
    assert (drawn.labels is not None) == conditional
    assert list(state.part(plan.build().released)["tensors"]) == [], "no triple leaves"
