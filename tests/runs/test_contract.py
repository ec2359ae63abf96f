"""Every method through a whole run: train, cancel, resume, sample, evaluate, neighbours, on configurations of seconds."""

import signal
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from support.drawn_faces import toy_faces
from support.homes import here
from support.odd_methods import join_registry
from support.quick import ALL_METHODS, quick_dataset, quick_plan
from support.tables import toy_table

from workbench import experiment, runs
from workbench.datasets import DATASETS, DatasetEntry
from workbench.evaluation import METRICS
from workbench.models.sample_request import SampleRequest
from workbench.privacy.spending.ledger import Ledger
from workbench.runs import finished
from workbench.runs.samples import sample_set
from workbench.runs.store import RunStore
from workbench.tasks import worker
from workbench.training.state import PerformanceSettings


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Odd methods and a small table, by registry alone."""
    join_registry(monkeypatch)
    entry = DatasetEntry("A small table.", "toy-table", lambda _: toy_table().facts, lambda _: toy_table())
    monkeypatch.setitem(DATASETS, "toy-table", entry)
    monkeypatch.setitem(
        DATASETS, "toy-faces", DatasetEntry("A few faces.", "toy-faces", lambda _: toy_faces().facts, lambda _: toy_faces())
    )


@pytest.mark.parametrize("method", ALL_METHODS)
def test_a_whole_run(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, dataset = quick_plan(method), quick_dataset(method)
    run = runs.register(here(), plan, dataset.facts.name, performance=PerformanceSettings(device="cpu", num_threads=1), seed=0)
    RunStore(here()).change(run.id, {"queued"}, "started", state="starting", attempt=1)

    # cancel after the first step, with a checkpoint
    whole = experiment.fit

    def cancelled_after_one(*arguments: Any) -> Iterator[Any]:
        for step in whole(*arguments):
            signal.raise_signal(signal.SIGTERM)
            yield step

    steps = sum(stage.steps for stage in plan.stages)
    if steps > 1:
        monkeypatch.setattr(experiment, "fit", cancelled_after_one)
        worker.main(here(), run.id)
        assert RunStore(here()).get(run.id).state == "cancelled"
        monkeypatch.setattr(experiment, "fit", whole)
        RunStore(here()).change(run.id, {"cancelled"}, "started", state="starting", attempt=2, process=None)

    # resume to the end: everything planned was spent, once
    worker.main(here(), run.id)
    done = RunStore(here()).get(run.id)
    assert (done.state, done.step, done.error) == ("done", done.steps, None)
    spent = {stage.stage: (stage.charged, stage.charged_again) for stage in Ledger(here().ledger).spent(run.id) if stage.spent != "free"}
    assert spent == {stage.name: (stage.steps, 0) for stage in plan.stages if stage.spent != "free"}
    assert not done.releasable, "a seeded run is repeatable and not releasable"

    # sample, evaluate with the metrics of its kind of data, look at neighbours
    samples = sample_set(here(), run.id).records(40)
    assert samples.records.shape == (40, *plan.facts.shape)
    paid = [stage.name for stage in plan.build().sampling_stages(plan.facts, SampleRequest(40)) if stage.spent != "free"]
    charged = [entry for entry in Ledger(here().ledger).entries() if entry.purpose == "sampling"]
    assert [stage.stage for entry in charged for stage in entry.stages if stage.charged == stage.steps] == paid
    raised = RunStore(here()).get(run.id).bound.epsilon > plan.bound.epsilon
    assert raised == (bool(paid) and plan.bound.is_finite)
    cheap = [name for name, metric in METRICS.items() if plan.facts.kind.name in metric.kinds and name in CHEAP]
    evaluation = finished.evaluate_run(here(), run.id, 40, metrics=cheap)
    assert [result["name"] for result in evaluation["results"]] == cheap
    assert all(np.isfinite(float(result["value"])) for result in evaluation["results"])
    neighbours = finished.neighbours_run(here(), run.id, "pixels", k=3, num_samples=40)
    assert neighbours.indices.shape == (40, 3)
    assert (np.diff(neighbours.distances, axis=1) >= 0).all()


CHEAP = ("accuracy_logistic_regression", "nearer_to_training")
