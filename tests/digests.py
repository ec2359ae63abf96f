"""What the methods do, as digests: to show that a change of shape is none of behaviour.

    python tests/digests.py        (in the checkout; prints JSON)

Seeded short runs of every method: stages, claim, bound, weights, samples and measures; the claims; the plans of the digits
recipe. Two states of the code that print the same on one machine give the same numbers, weights to the bit.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from support.quick import quick_dataset, quick_plan

from workbench import experiment
from workbench.datasets import Dataset
from workbench.methods import METHODS
from workbench.plan import Plan
from workbench.serialization import jsonable
from workbench.training.state import PerformanceSettings, State

SPEED = PerformanceSettings(device="cpu", num_threads=1)


@contextmanager
def one_thread() -> Iterator[None]:
    """torch on one thread, as sums depend on how many share them."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def sha(*parts: bytes) -> str:
    """SHA-256 of `parts`, 16 hexadecimal digits."""
    total = hashlib.sha256()
    for part in parts:
        total.update(hashlib.sha256(part).digest())
    return total.hexdigest()[:16]


def of_tensors(values: Mapping[str, torch.Tensor]) -> str:
    """Of named tensors, by name, type, shape and bits."""
    return sha(*(f"{name} {v.dtype} {tuple(v.shape)}".encode() + v.contiguous().numpy().tobytes() for name, v in sorted(values.items())))


def of_plan(plan: Plan) -> dict[str, Any]:
    """What a plan promises: stages as they will be spent, claim, bounds, what each accountant says, warnings."""
    stages = [
        {
            "name": stage.name,
            "spent": stage.spent,
            "steps": stage.steps,
            "event": stage.event and repr(stage.event),
            "relations": list(stage.relations),
            "sampling": stage.sampling,
            "reason": stage.reason,
            "sampler_distance": stage.sampler_distance,
        }
        for stage in plan.stages
    ]
    names = (
        "method",
        "preset",
        "num_records",
        "delta",
        "target",
        "target_epsilon",
        "claim",
        "bound",
        "replace_one",
        "accountants",
        "warnings",
    )
    return {"stages": stages, **{name: jsonable(getattr(plan, name)) for name in names}}


def of_fit(plan: Plan, seed: int = 0) -> dict[str, Any]:
    """Weights and samples of a seeded fit, to the bit, the losses on the way, and what evaluation says of the samples."""
    dataset = quick_dataset(plan.method)
    with one_thread():
        state, digests = trained(plan, dataset, seed)
        return digests | _of_samples(plan, dataset, state)


def trained(plan: Plan, dataset: Dataset, seed: int = 0) -> tuple[State, dict[str, Any]]:
    """A seeded fit, with its steps and the digest of its weights."""
    state = experiment.new_state(plan, SPEED, seed=seed)
    steps = [(step.stage, step.step) for step in experiment.fit(plan, dataset, state)]
    method = plan.build()
    weights = state.part([*method.released_parts, *method.kept_private])
    flat = {f"{name}.{key}": value for name, values in weights["modules"].items() for key, value in values.items()} | weights["tensors"]
    return state, {"steps": steps, "weights": of_tensors(flat)}


def _of_samples(plan: Plan, dataset: Dataset, state: State) -> dict[str, Any]:
    samples = experiment.sample(plan, state, 64)
    measured = experiment.evaluate(plan, state, dataset, num_samples=64) if plan.facts.kind.name == "image" else []
    return {
        "samples": sha(np.ascontiguousarray(samples.records).tobytes(), b"" if samples.labels is None else samples.labels.tobytes()),
        "measures": [{key: value for key, value in jsonable(result).items() if key != "seconds"} for result in measured],
    }


def short_runs(methods: Sequence[str] = tuple(METHODS)) -> dict[str, Any]:
    """The seeded short run of each method, and its plan."""
    digests = {}
    for name in methods:
        plan = quick_plan(name)
        digests[name] = {"plan": of_plan(plan), "fit": of_fit(plan)}
    return digests


def recipe_plans(name: str = "digits") -> list[dict[str, Any]]:
    """The plans of a recipe's lines."""
    from workbench.recipes.lines import load_recipe

    return [of_plan(experiment.make_plan(line.request)) for line in load_recipe(name).runs]


def claims() -> list[Any]:
    """Every row of the claims table."""
    from workbench.claims import claims_table

    return [jsonable(row) for row in claims_table()]


def main() -> None:
    """Print all of it."""
    print(json.dumps({"runs": short_runs(), "recipe": recipe_plans(), "claims": claims()}, indent=1, sort_keys=True, default=str))


if __name__ == "__main__":
    main()
