"""A bench for every method of the registry, at a configuration of seconds and on few records."""

from collections.abc import Mapping
from typing import Any

from pydantic.fields import FieldInfo

from support.mechanism.recording import Bench
from support.quick import QUICK, asked_of, quick_dataset
from workbench import methods
from workbench.datasets import Dataset
from workbench.planning import make_plan

NUM_RECORDS = 120
SMALLER: dict[str, Any] = {  # where a method has the field
    "network.channel_multipliers": (1,),
    "pretraining.steps": 2,
    "phase_one.steps": 2,
    "phase_two.steps": 2,
}


def few_records(method: str) -> Dataset:
    """The first records of what the method's quick tests run on."""
    whole = quick_dataset(method)
    facts = whole.facts.model_copy(update={"num_records": NUM_RECORDS})
    return Dataset(facts, whole.train.take(slice(NUM_RECORDS)), whole.held_out)


def has_field(fields: Mapping[str, FieldInfo], name: str) -> bool:
    """Whether a configuration has the dotted field `name`."""
    part, field = name.split(".")
    return part in fields and field in getattr(fields[part].annotation, "model_fields", {})


def bench_of(method: str, overrides: dict[str, Any] | None = None) -> Bench:
    """The method's quick configuration at epsilon 10 (where it takes one), smaller still."""
    dataset = few_records(method)
    fields = methods.METHODS[method].Config.model_fields
    smaller = {name: value for name, value in SMALLER.items() if has_field(fields, name)}
    plan = make_plan(method, dataset.facts, **asked_of(method), settings=QUICK.get(method, {}) | smaller | (overrides or {}))
    return Bench(plan, dataset)
