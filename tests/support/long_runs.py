"""What figures of long runs rest on: the plans of a recipe's lines, and what a seeded short run of their method computes.

While both are the same on a machine that computes alike, training again would give the same weights.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from digests import SPEED, of_fit, one_thread

from support.quick import quick_dataset, quick_plan
from workbench import datasets, experiment
from workbench.plan import Plan
from workbench.recipes.lines import load_recipe
from workbench.serialization import jsonable
from workbench.training.arithmetic import arithmetic


def described(recipe: str, method: str) -> dict[str, Any]:
    """Plain values to be kept: `plans`, `short_run`, and how this machine computes (`arithmetic`)."""
    return {"plans": [jsonable(plan) for plan in plans(recipe, method)], "short_run": short_run(method), "arithmetic": this_machine()}


def are_the_same(kept: Mapping[str, Any], recipe: str, method: str) -> bool:
    """Whether what was `described` still holds; plans are read as plans of before are, so that a renamed field is no other plan.

    What a plan says of itself in words (reasons, warnings) may change.
    """
    if [essence(Plan.model_validate(plan)) for plan in kept["plans"]] != [essence(plan) for plan in plans(recipe, method)]:
        return False
    return kept["arithmetic"] == this_machine() and kept["short_run"] == short_run(method)


@cache
def this_machine() -> str:
    """A digest of how this machine computes, to the bit."""
    with one_thread():
        return arithmetic(SPEED, datasets.facts("digits"), [])


@cache
def plans(recipe: str, method: str) -> list[Plan]:
    """The plans of the recipe's lines of `method`, made now."""
    return [experiment.make_plan(line.request) for line in load_recipe(recipe).runs if line.method == method]


def essence(plan: Plan) -> dict[str, Any]:
    """What of a plan decides what is trained and at what bound; a field that came later has its default in a plan of before."""
    return {
        "facts": plan.facts,
        "config": plan.configuration or plan.config,
        "releases": [planned.model_dump(exclude={"reason", "sampling"}) for planned in plan.releases],
        "delta": plan.delta,
        "target": plan.target,
        "bound": plan.bound.epsilon,
        "claim": plan.claim.epsilon,
    }


@cache
def short_run(method: str) -> dict[str, Any]:
    """Digests of the method's seeded short run: weights, samples and measures to the bit; at the delta of the first records."""
    return jsonable(of_fit(quick_plan(method, delta=1 / (2 * quick_dataset(method).facts.num_records))))
