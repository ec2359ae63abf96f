"""A sampler that touches private records: what is shown before launch is what is charged when the run's own samples are drawn."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.homes import here
from support.odd_methods import join_registry, odd
from support.quick import quick_dataset, quick_plan
from typer.testing import CliRunner

from workbench import experiment, runs
from workbench.cli.commands import app
from workbench.datasets import DATASETS, DatasetEntry
from workbench.errors import BudgetWarning, WorkbenchError
from workbench.methods.base import Method
from workbench.models.sample_request import SampleRequest
from workbench.plan import Plan
from workbench.privacy import accountant_values
from workbench.privacy.spending.ledger import Ledger
from workbench.privacy.spending.totals import LedgerEntry
from workbench.runs.folder import RunFolder
from workbench.runs.paid import accountants_of
from workbench.runs.release import export_run, verify
from workbench.runs.release.export import card_of, restated_plan
from workbench.runs.release.verify import wrong_card
from workbench.runs.run import Run
from workbench.runs.samples import sample_set
from workbench.runs.store import RunStore
from workbench.serialization import jsonable
from workbench.tasks import worker
from workbench.training.state import PerformanceSettings


@pytest.fixture
def plan(monkeypatch: pytest.MonkeyPatch) -> Plan:
    """A plan whose sampler pays by the sample, on the small table."""
    kind = odd("odd-paying-sampler")
    join_registry(monkeypatch)
    dataset = quick_dataset(kind.name)
    monkeypatch.setitem(
        DATASETS, dataset.facts.name, DatasetEntry("A small table.", dataset.facts.name, lambda _: dataset.facts, lambda _: dataset)
    )
    whole = kind.sampling_stages

    def by_number(method: Method, facts: Any, request: SampleRequest) -> list[Any]:
        return [replace(stage, spent="per_step", steps=1 + request.num_samples // 100) for stage in whole(method, facts, request)]

    monkeypatch.setattr(kind, "sampling_stages", by_number)
    return quick_plan(kind.name, epsilon=3.0)


def trained(plan: Plan, seed: int | None = None) -> Run:
    """A finished run, trained in this process."""
    run = runs.register(here(), plan, plan.facts.name, performance=PerformanceSettings(device="cpu", num_threads=1), seed=seed)
    RunStore(here()).change(run.id, {"queued"}, "started", state="starting", attempt=1)
    worker.main(here(), run.id)
    return RunStore(here()).get(run.id)


@pytest.mark.usefixtures("handlers")
def test_the_price_that_the_plan_shows_is_charged(plan: Plan, tmp_path: Path) -> None:
    assert plan.sampling is not None
    assert (plan.sampling.start, plan.sampling.stop, plan.num_samples) == (0, 240, 240)
    assert [(stage.name, stage.steps) for stage in plan.sampling_stages] == [("answer", 3)]
    assert plan.sampling.bound.epsilon > plan.bound.epsilon
    run = trained(plan)
    assert (run.bound, run.replace_one) == (plan.bound, plan.replace_one)
    assert accountants_of(here(), run) == run.plan.accountants
    assert plan.replace_one is not None
    samples = sample_set(here(), run.id)
    assert len(samples.records()) == plan.num_samples
    assert sampling_entry().paid_stages() == plan.sampling_stages
    paid = RunStore(here()).get(run.id)
    assert (paid.bound, paid.replace_one) == (plan.sampling.bound, None), "of training alone there is another"
    both = accountant_values([*plan.stages, *plan.sampling_stages], plan.delta)
    assert accountants_of(here(), paid) == jsonable(both) != run.plan.accountants
    export_run(here(), run.id, tmp_path / "run.zip")
    card = card_of(here(), paid, restated_plan(plan)).model_copy(update={"replace_one": plan.replace_one})
    assert verify(tmp_path / "run.zip").holds
    assert "bound where one record is replaced" in wrong_card(card, plan, card.markdown.encode())
    assert (RunFolder(here(), run.id).drawing_seconds() or 0.0) > 0.0  # as of samples that cost nothing


@pytest.mark.usefixtures("handlers")
def test_samples_are_paid_for_before_they_are_drawn_and_again_by_a_second_attempt(
    plan: Plan, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run = trained(plan)
    with monkeypatch.context() as broken:
        broken.setattr(type(plan.build()), "sample", out_of_memory)
        with pytest.raises(MemoryError):
            sample_set(here(), run.id).records()
    assert sampling_entry().paid_stages() == plan.sampling_stages
    assert plan.sampling is not None
    assert RunStore(here()).get(run.id).bound == plan.sampling.bound, "as the ledger has it, though there is no sample"
    export_run(here(), run.id, tmp_path / "run.zip")
    assert verify(tmp_path / "run.zip").holds
    sample_set(here(), run.id).records()
    assert [stage.steps for stage in sampling_entry().paid_stages()] == [2 * stage.steps for stage in plan.sampling_stages]
    assert RunStore(here()).get(run.id).bound.epsilon > plan.sampling.bound.epsilon


def out_of_memory(*_arguments: Any) -> None:
    """What takes the place of a draw that fails."""
    raise MemoryError


def sampling_entry() -> LedgerEntry:
    """The one entry of the ledger for samples."""
    (entry,) = [entry for entry in Ledger(here().ledger).entries() if entry.purpose == "sampling"]
    return entry


@pytest.mark.usefixtures("handlers")
def test_paying_for_samples_makes_no_seeded_run_releasable(plan: Plan) -> None:
    run = trained(plan, seed=3)
    sample_set(here(), run.id).records()
    paid = RunStore(here()).get(run.id)
    assert plan.sampling is not None
    assert (paid.bound, paid.releasable) == (plan.sampling.bound, False)


def test_the_flow_draws_nothing_that_could_not_be_charged(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_stage: str, _step: int) -> None:
        raise WorkbenchError("the ledger could not be written")

    monkeypatch.setattr(type(plan.build()), "sample", out_of_memory)
    with pytest.raises(WorkbenchError, match="could not be written"):
        experiment.sample(plan, experiment.new_state(plan, seed=0, spend=refused), plan.num_samples)


def test_the_flow_without_runs_spends_the_same(plan: Plan) -> None:
    spent: list[tuple[str, int]] = []
    state = experiment.new_state(plan, seed=0)
    for _ in experiment.fit(plan, quick_dataset(plan.method), state):
        pass
    state.spend = lambda stage, step: spent.append((stage, step))
    experiment.sample(plan, state, plan.num_samples)
    assert spent == [(stage.name, step) for stage in plan.sampling_stages for step in range(1, stage.steps + 1)]


def test_the_command_shows_it_before_launch(plan: Plan) -> None:
    assert plan.sampling is not None
    said = CliRunner(env={"COLUMNS": "400"}).invoke(app, ["plan", plan.method, "--dataset", plan.facts.name, "--epsilon", "3"]).stdout
    passage = said.split("bound with its 240 samples")[1].split("accountants")[0]
    assert f"{plan.sampling.bound.epsilon:.4g}" in passage
    assert f"with the run's own 240 samples the bound is epsilon {plan.sampling.bound.epsilon:.4g}" in said


def test_a_budget_that_the_samples_exceed_is_warned_of_before_launch(plan: Plan) -> None:
    assert plan.sampling is not None
    Ledger(here().ledger).set_budget(plan.facts.name, (plan.bound.epsilon + plan.sampling.bound.epsilon) / 2, plan.delta)
    with pytest.warns(BudgetWarning):
        runs.register(here(), plan, plan.facts.name)


@pytest.mark.parametrize("cheaper", [lambda plan: None, lambda plan: plan.sampling.model_copy(update={"bound": plan.bound})])
def test_a_price_that_is_not_that_of_the_sampler_is_refused(plan: Plan, cheaper: Callable[[Plan], Any]) -> None:
    with pytest.raises(WorkbenchError, match="plan again"):
        plan.model_copy(update={"sampling": cheaper(plan)}).check()


def test_post_processing_has_no_price() -> None:
    assert quick_plan("dp-merf").sampling is None
