"""Each check of what a card states, by itself: of a whole forged file another check may say the same, and hide that one is gone."""

import math
from collections.abc import Callable
from typing import Any

import pytest
from support.homes import here

from workbench.plan import Plan, SamplingPlan
from workbench.privacy.accounting.planned_stage import PlannedStage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.runs.audits import RELATION
from workbench.runs.release.card import PrivacyCard
from workbench.runs.release.export import contents
from workbench.runs.release.statements import alike, difference_words, is_below, wrong_audit, wrong_bound, wrong_place, wrong_spending
from workbench.runs.run import Run

Make = Callable[..., Run]
PlanMaker = Callable[..., Plan]


@pytest.fixture
def told(quick_plan: PlanMaker, train_here: Make) -> tuple[PrivacyCard, Plan]:
    """Card and plan of a run that is number 2 of 2 on its account."""
    train_here(quick_plan())
    content = contents(here(), train_here(quick_plan()).id)
    return content.card, content.plan


def with_(value: Any, **changed: Any) -> Any:
    return value.model_copy(update=changed)


def test_what_was_spent_is_all_that_the_plan_releases_and_what_drawing_spends(told: tuple[PrivacyCard, Plan]) -> None:
    card, plan = told
    [stage] = card.spent
    steps = with_(stage, spent="per_step", steps=5)
    drawing = with_(stage, name="drawing")
    of_steps, that_draws = (
        with_(plan, releases=(steps,)),
        with_(plan, sampling=SamplingPlan(start=0, stop=10, releases=(drawing,), bound=card.bound)),
    )

    def complaint(plan: Plan, *spent: PlannedStage, has_samples: bool = True) -> str:
        return wrong_spending(with_(card, spent=spent), plan, has_samples)

    assert complaint(plan, stage) == complaint(of_steps, steps) == complaint(of_steps, with_(steps, steps=2), with_(steps, steps=3)) == ""
    assert complaint(plan, with_(stage, relations=("REPLACE_ONE",))).endswith("0 of them are on the card.")
    assert complaint(with_(plan, releases=(with_(stage, sampler_distance=0.5),)), stage).endswith("0 of them are on the card.")
    assert "planned with 5 steps, and 4" in complaint(of_steps, with_(steps, steps=4))
    assert "no release of the plan or of drawing samples" in complaint(plan, stage, with_(stage, name="more"))
    assert "drawing is what drawing samples spends" in complaint(that_draws, stage)
    assert complaint(that_draws, stage, drawing) == complaint(that_draws, stage, has_samples=False) == ""


def test_a_bound_is_that_of_what_was_spent_and_no_less_than_the_plan_s(told: tuple[PrivacyCard, Plan]) -> None:
    card, plan = told
    assert wrong_bound(card, plan, card.bound) == ""
    less = with_(card.bound, epsilon=card.bound.epsilon * 0.99)
    assert "by what was spent" in wrong_bound(with_(card, bound=less), plan, card.bound)
    assert "of what the plan releases" in wrong_bound(with_(card, bound=less), plan, less)


def test_a_total_is_no_less_than_its_run_s_and_told_as_a_ledger_tells_it(told: tuple[PrivacyCard, Plan]) -> None:
    card, plan = told

    def complaint(**changed: Any) -> str:
        return wrong_place(with_(card, ledger=with_(card.ledger, total=with_(card.ledger.total, **changed))), plan)

    assert complaint() == complaint(epsilon=card.ledger.total.epsilon * 2) == ""
    assert "of this run alone" in complaint(epsilon=card.ledger.total.epsilon * 0.3)
    otherwise = "told otherwise than a ledger tells it"
    assert otherwise in complaint(reason="Nothing else was spent.")
    assert otherwise in complaint(status="approximation")
    assert otherwise in complaint(epsilon=math.inf)
    assert complaint(epsilon=math.inf, status="not_proved") == ""


def test_an_audit_is_a_lower_bound_and_lies_below_the_bound(told: tuple[PrivacyCard, Plan]) -> None:
    card, plan = told
    audit = PrivacyValue(
        epsilon=0.5, delta=plan.delta, status="measured", source="audit of run abcdefgh", reason="x", neighboring_relation=RELATION
    )
    lax = with_(card, claim=with_(card.claim, epsilon=2 * card.bound.epsilon))

    def complaint(**changed: Any) -> str:
        return wrong_audit(with_(lax, audit=with_(audit, **changed)), plan)

    assert complaint() == complaint(epsilon=card.bound.epsilon) == ""
    assert "above its bound" in complaint(epsilon=card.bound.epsilon * 1.5)
    for changed in ({"epsilon": -0.1}, {"epsilon": math.inf}, {"status": "proved"}, {"delta": 0.1}, {"source": "a friend"}, {"reason": ""}):
        assert "told otherwise" in complaint(**changed), changed


def test_numbers_agree_as_far_as_machines_do_and_all_else_at_all() -> None:
    assert alike({"a": (1.0, True)}, {"a": [1.0 + 1e-7, True]})
    for one, other in ((1.0, 1.0001), (1, True), ("1", 1), ({"a": 1}, {"b": 1}), ([1], [1, 1]), (math.nan, math.nan), (None, 0)):
        assert not alike(one, other), (one, other)
    value = PrivacyValue(epsilon=1.0, delta=1e-5, status="proved")
    assert difference_words("bound", value, with_(value, epsilon=1.0 + 1e-7)) == ""
    assert "bound is epsilon 1 (proved)" in difference_words("bound", with_(value, epsilon=0.99), value)
    assert "another delta" in difference_words("bound", with_(value, delta=1e-3), value)
    assert [is_below(*pair) for pair in ((0.9, 1.0), (1.0, 1.0), (1.0 - 1e-8, 1.0), (math.nan, 1.0), (math.inf, 1.0))] == [
        True, False, False, True, False,
    ]  # fmt: skip
