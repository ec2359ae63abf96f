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
SELECTED = {"records": 20, "steps": 1, "batch_size": 8}  # training on what was selected
VOTED = {"candidates": 6, "records": 50, "classifier.steps": 2, "classifier.batch_size": 8, "denoiser.steps": 2, "denoiser.batch_size": 8}
SMALLER: dict[str, Any] = {  # where a method has the field
    "network.channel_multipliers": (1,),
    "pretraining.dataset": "glyphs",
    "pretraining.steps": 2,
    "phase_one.steps": 2,
    "phase_two.steps": 2,
    **{f"selected.{name}": value for name, value in SELECTED.items()},
    **{f"selected.selection.{name}": value for name, value in VOTED.items()},
    **{f"selection.{name}": value for name, value in VOTED.items()},
    "labels.clusters": 4,
    "labels.rounds": 2,
    "labels.self_supervision.steps": 2,
    "labels.self_supervision.batch_size": 8,
    "latents.steps": 2,
    "latents.batch_size": 8,
    "latents.width": 4,
    "private.steps": 2,
    "private.batch_size": 20,
    "unprotected.steps": 2,
    "unprotected.batch_size": 8,
}


def few(dataset: Dataset) -> Dataset:
    """Its first records."""
    facts = dataset.facts.model_copy(update={"num_records": NUM_RECORDS})
    return Dataset(facts, dataset.train.take(slice(NUM_RECORDS)), dataset.held_out)


def has_field(fields: Mapping[str, FieldInfo], name: str) -> bool:
    """Whether a configuration has the dotted field `name`."""
    first, _, rest = name.partition(".")
    return first in fields and (not rest or has_field(getattr(fields[first].annotation, "model_fields", {}), rest))


def settings_of(method: str, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """The method's quick settings, smaller still, and over them what is asked for."""
    fields = methods.METHODS[method].Config.model_fields
    smaller = {name: value for name, value in SMALLER.items() if has_field(fields, name)}
    return smaller | QUICK.get(method, {}) | {name: SMALLER[name] for name in SHORTER if name in smaller} | dict(overrides)


SHORTER = ("network.channel_multipliers", "pretraining.steps", "phase_one.steps", "phase_two.steps")  # than the quick ones


def bench_of(method: str, overrides: Mapping[str, Any] | None = None) -> Bench:
    """A bench of the method on the first records of what its quick tests run on."""
    dataset = few(quick_dataset(method))
    return Bench(make_plan(method, dataset.facts, settings=settings_of(method, overrides or {}), **asked_of(method)), dataset)
