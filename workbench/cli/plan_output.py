"""A plan for people: its numbers, its warnings, its settings."""

import textwrap
from typing import TYPE_CHECKING, Any

from workbench.cli.output import bounds_of, describe_value, line_width, print_fields, strict_fields
from workbench.escaping import terminal
from workbench.serialization import jsonable

if TYPE_CHECKING:
    from workbench.plan import Plan


def print_plan(plan: "Plan", everything: bool = False) -> None:
    """A plan for people: bounds and claim, accountants, what the method offers that is no DP, and then its settings."""
    from workbench.methods.protocols import offered_features

    facts: dict[str, Any] = {"method": plan.method, "dataset": plan.facts.name, "num_records": plan.num_records, "delta": plan.delta}
    facts |= {} if plan.facts.persons is None else {"persons": plan.facts.persons.number}
    facts |= {"protects": plan.facts.unit}
    bounds = bounds_of(plan.bound, plan.replace_one) | strict_fields(plan)
    print_fields({**facts, **bounds, "claim": describe_value(plan.claim)})
    if plan.sampling is not None:
        print_fields({f"bound with its {plan.sampling.stop} samples": describe_value(plan.sampling.bound)})
    print_fields({"accountants": jsonable(plan.accountants)})
    for words in offered_features(plan.build()):
        print(textwrap.fill(f"Not protected: {words}", line_width()))
    if plan.claim_only:
        print("CLAIM ONLY: the paper claims a finite epsilon, and no finite bound is proved.")
    for warning in plan.warnings:
        print(textwrap.fill(f"Warning: {terminal(warning)}", line_width()))
    print_settings(plan, everything)


def print_settings(plan: "Plan", everything: bool) -> None:
    """The fields of the configuration that are not at their defaults, or all of them."""
    from workbench.methods.fields import dotted

    if everything:
        print_fields({"config": plan.config})
        return
    now, usual = dotted(plan.config), dotted(type(plan.build()).Config().model_dump(mode="json"))
    changed = {name: value for name, value in now.items() if value != usual.get(name)}
    print_fields({"settings that are not at their defaults": changed})
    print(f"`workbench plan --all` shows the other {len(now) - len(changed)}.")
