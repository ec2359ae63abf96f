"""The whole flow, and the first file to read: load, plan, fit, sample, evaluate.

    dataset = load("digits")
    plan = make_plan("dp-promise", dataset.facts, epsilon=10)
    state = new_state(plan)
    for step in fit(plan, dataset, state): ...
    samples = sample(plan, state, 1500)
    results = evaluate(plan, state, dataset)

The command line, the pages, the notebooks and the background worker call these functions and hold no logic of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench import evaluation
from workbench.datasets import Dataset, DatasetFacts
from workbench.datasets.reference import DatasetRef
from workbench.errors import WorkbenchError
from workbench.evaluation import MetricResult
from workbench.methods.protocols import BoundedInTerms, Classifying, VariationallyBounded
from workbench.models.sample_request import SampleRequest
from workbench.plan import Plan, check_trainable
from workbench.planning import make_plan
from workbench.records import Records
from workbench.training.randomness import Randomness
from workbench.training.state import PerformanceSettings, State, Step
from workbench.training_data import check_apart, check_records, check_same, pretraining_records, public_dataset
from workbench.workspace import Workspace

if TYPE_CHECKING:
    from torch import distributed as dist

__all__ = ["Plan", "evaluate", "fit", "load", "make_plan", "new_state", "sample"]

DEFAULT_NUM_SAMPLES = 1500


def load(dataset: DatasetRef | str | Path, known: DatasetFacts | None = None, workspace: Workspace | None = None) -> Dataset:
    """Step 1: a dataset by registry name, or from a folder of class subfolders or an .npz file.

    `known` are facts that it was planned by: it is read under their name, with their classes and at their shape. Downloads are kept in
    `workspace`, by default the default one, as everywhere here.
    """
    return (dataset if isinstance(dataset, DatasetRef) else DatasetRef.parse(dataset, workspace=workspace)).load(known, workspace)


def new_state(
    plan: Plan,
    performance: PerformanceSettings | None = None,
    seed: int | None = None,
    spend: Callable[[str, int], None] | None = None,
    group: dist.ProcessGroup | None = None,
) -> State:
    """A freshly initialised state; without `seed` its noise key comes from the operating system.

    The ranks of `group` share each private batch, and the first one's key (see `workbench.training.distributed`).
    """
    from workbench.training.distributed import shared_randomness

    randomness = shared_randomness(Randomness.fresh() if seed is None else Randomness.from_seed(seed), group)
    planned = {stage.name: stage for stage in plan.stages}
    state = State(plan.facts, randomness, performance or PerformanceSettings(), planned=planned, group=group)
    if spend is not None:
        state.spend = spend
    return plan.build().initial_state(plan.facts, state)


def fit(plan: Plan, dataset: Dataset, state: State, workspace: Workspace | None = None) -> Iterator[Step]:
    """Step 3: train on the dataset's training records, changing `state` in place; stop, save and plot as you like."""
    check_trainable(plan)
    check_records(plan, dataset)
    public = pretraining_records(plan, workspace or Workspace.default())
    train = dataset.drawn(state.randomness)
    plan.facts.check(train)
    if public is not None:
        check_apart(train, public)
        check_same(state, public)
    yield from plan.build().fit(train, public, state)


def sample(plan: Plan, state: State, num_samples: int, **request: Any) -> Records:
    """Step 4: generate records from a fitted state; further fields of `SampleRequest` by name.

    What the sampler itself spends on private records is recorded by `state.spend` first.
    """
    if num_samples < 1:
        raise WorkbenchError(f"Expected at least 1 sample, got {num_samples}.")
    method, sample_request = plan.build(), SampleRequest(num_samples, **request)
    for stage in method.sampling_stages(state.facts, sample_request):
        for step in range(1, stage.steps + 1) if stage.spent != "free" else ():
            state.spend(stage.name, step)
    return method.sample(state, sample_request)


def evaluate(
    plan: Plan,
    state: State,
    dataset: Dataset,
    num_samples: int = DEFAULT_NUM_SAMPLES,
    seed: int = 0,
    workspace: Workspace | None = None,
    **options: Any,
) -> list[MetricResult]:
    """Step 5: sample and measure, with the real-data ceiling and the epsilon-0 row beside every value."""
    workspace = workspace or Workspace.default()
    samples = sample(plan, state, num_samples)
    method = plan.build()
    before = method.has_public_model
    public = sample(plan, state, num_samples, source="public", purpose="public samples") if before else None
    bits = partial(method.bits_per_dimension, state) if isinstance(method, VariationallyBounded) else None
    terms = partial(method.bound_terms, state) if isinstance(method, BoundedInTerms) else None
    classes = partial(method.classify, state) if isinstance(method, Classifying) else None
    results = evaluation.evaluate(
        samples,
        dataset,
        public_samples=public,
        public=public_dataset(plan, workspace),
        bits=bits,
        terms=terms,
        classes=classes,
        seed=seed,
        workspace=workspace,
        **options,
    )
    releasable = plan.bound.is_finite and state.randomness.releasable
    return [result.of_run(releasable) for result in results]
