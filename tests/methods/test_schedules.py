"""A setting that is offered does something: where a learning rate moves what is trained, its schedule does too."""

from collections.abc import Iterator

import pytest
import torch
from pydantic import BaseModel
from support.mechanism.cases import Case

from workbench.experiment import fit, new_state
from workbench.methods import METHODS
from workbench.methods.fields import value_at
from workbench.request import nested_model

ANOTHER = {"constant": "cosine", "cosine": "constant"}


def parts_with_a_schedule(config: type[BaseModel], before: str = "") -> Iterator[str]:
    """Dotted beginnings of the names of parts that have both fields."""
    if {"learning_rate", "schedule"} <= set(config.model_fields):
        yield before
    for name, field in config.model_fields.items():
        if (part := nested_model(field)) is not None:
            yield from parts_with_a_schedule(part, f"{before}{name}.")


def trained(case: Case) -> list[torch.Tensor]:
    """All that a state of seed 0 has at the end."""
    plan = case.plan()
    state = new_state(plan, seed=0)
    for _ in fit(plan, case.dataset, state):
        pass
    return [*state.tensors.values(), *(weights for module in state.modules.values() for weights in module.state_dict().values())]


def alike(ones: list[torch.Tensor], others: list[torch.Tensor]) -> bool:
    """Whether two states are the same to the bit."""
    return all(torch.equal(one, other) for one, other in zip(ones, others, strict=True))


@pytest.mark.parametrize("method", [name for name, kind in METHODS.items() if any(parts_with_a_schedule(kind.Config))])
def test_where_a_learning_rate_matters_its_schedule_does_too(method: str) -> None:
    case = Case(method)
    before, config = trained(case), case.plan().build().config
    ignored = []
    for part in parts_with_a_schedule(METHODS[method].Config):
        changed = {f"{part}schedule": ANOTHER[value_at(config, f"{part}schedule")]}
        if alike(before, trained(Case(method, changed))):
            rate = {f"{part}learning_rate": value_at(config, f"{part}learning_rate") / 2}
            if not alike(before, trained(Case(method, rate))):
                ignored += changed
    assert ignored == [], "A schedule changes nothing: take the rate from `learning_rate_at(step)` of the settings."
