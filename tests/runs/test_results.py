"""Samples, evaluation and neighbours of a finished run: made once, kept, and marked with what may be done with them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.homes import here
from support.notes import read_notes

from workbench.datasets import facts
from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.dp_merf import DPMERF
from workbench.models.sample_request import SampleRequest
from workbench.plan import Plan
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.spending.ledger import Ledger
from workbench.records import Column, Records, TableKind
from workbench.runs import finished
from workbench.runs.folder import RunFolder
from workbench.runs.run import Run
from workbench.runs.sample_files import read_records, write_records
from workbench.runs.samples import SamplesRequest, drawing, drawn, sample_set
from workbench.runs.store import RunStore
from workbench.workspace import Workspace

Make = Callable[..., Run]
PlanMaker = Callable[..., Plan]


def test_samples_are_kept_and_only_ever_added_to(quick_plan: PlanMaker, train_here: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    run = train_here(quick_plan())
    monkeypatch.setattr(drawing, "SAMPLE_CHUNK", 8)
    shares: list[float] = []
    first = sample_set(here(), run.id).records(12, shares.append)
    assert shares == [8 / 12, 1.0]
    assert first.records.shape == (12, 1, 8, 8)
    assert first.records.dtype == np.uint8
    assert first.labels is not None
    assert first.labels.tolist() == [*range(10), 0, 1]
    more = sample_set(here(), run.id).records(20)
    assert np.array_equal(more.records[:12], first.records)
    assert more.labels is not None
    assert more.labels.tolist() == [*range(10)] * 2
    assert len(np.unique(more.records.reshape(20, -1), axis=0)) == 20
    assert np.array_equal(sample_set(here(), run.id).records(5).records, first.records[:5])
    kept = sample_set(here(), run.id).kept_records()
    assert kept is not None
    assert len(kept) == 20


def test_the_samples_of_a_seeded_run_repeat(quick_plan: PlanMaker, train_here: Make) -> None:
    one, other = (train_here(quick_plan(), seed=4) for _ in range(2))
    assert np.array_equal(sample_set(here(), one.id).records(6).records, sample_set(here(), other.id).records(6).records)


def test_a_file_of_samples_says_what_may_be_done_with_them(quick_plan: PlanMaker, train_here: Make) -> None:
    run = train_here(quick_plan())
    sample_set(here(), run.id).records(10)
    path = RunFolder(here(), run.id).samples / "samples.npz"
    notes = read_notes(path)
    assert (notes["run"], notes["releasable"], notes["claim_only"]) == (run.id, True, False)
    assert notes["bound"]["epsilon"] == run.bound.epsilon
    with np.load(path, allow_pickle=False) as file:
        assert file["images"].shape == (10, 8, 8, 1)


def _drawn(workspace: Workspace, run_id: str) -> Records:
    return sample_set(workspace, run_id).records()


def test_only_a_finished_run_gives_samples(quick_plan: PlanMaker, queue: Make) -> None:
    run = queue(quick_plan())
    for make in (_drawn, finished.evaluate_run, finished.neighbours_run):
        with pytest.raises(WorkbenchError, match=r"Expected a finished run, got .* which is starting"):
            make(here(), run.id)


def test_the_default_number_is_that_of_the_training_records_at_most_10_000(quick_plan: PlanMaker, queue: Make) -> None:
    run = queue(quick_plan())
    assert drawn.RunSamples(here(), run, SamplesRequest()).default_num_samples == 1500
    larger = run.plan.model_copy(update={"facts": facts("mnist")})
    larger_run = run.model_copy(update={"plan": larger})
    assert drawn.RunSamples(here(), larger_run, SamplesRequest()).default_num_samples == 10_000


def test_an_evaluation_is_kept_until_another_is_asked_for(quick_plan: PlanMaker, train_here: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    from workbench import evaluation

    run = train_here(quick_plan("dp-promise"))
    shares: list[float] = []
    measured = finished.evaluate_run(here(), run.id, 40, metrics=["accuracy_logistic_regression"], progress=shares.append)
    assert [result["name"] for result in measured["results"]] == ["accuracy_logistic_regression"]
    result = measured["results"][0]
    assert 0 <= result["value"] <= 1
    assert result["num_samples"] == 40
    assert result["releasable"] is False
    assert result["epsilon_zero"] is not None
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert json.loads(RunFolder(here(), run.id).evaluation.read_text()) == measured

    def unexpected(*_arguments: Any, **_options: Any) -> Any:
        raise AssertionError("measured again")

    monkeypatch.setattr(evaluation, "evaluate", unexpected)
    assert finished.evaluate_run(here(), run.id, 40, metrics=["accuracy_logistic_regression"]) == measured
    assert finished.kept_evaluation(here(), run.id) == measured
    with pytest.raises(AssertionError, match="measured again"):
        finished.evaluate_run(here(), run.id, 40, seed=1, metrics=["accuracy_logistic_regression"])


def test_a_complete_evaluation_answers_for_its_parts_and_gives_way_to_none(
    quick_plan: PlanMaker, train_here: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    from workbench import evaluation

    run = train_here(quick_plan())
    measured = [{"name": "privacy_score", "value": 0.5}, {"name": "accuracy_mlp", "value": 0.7}]
    complete = {"run": run.id, "num_samples": 40, "seed": 0, "metrics": None, "results": measured}
    RunFolder(here(), run.id).evaluation.write_text(json.dumps(complete))
    taken: list[list[str]] = []
    monkeypatch.setattr(evaluation, "evaluate", lambda *_arguments, **options: (taken.append(options["metrics"]), [])[1])
    assert finished.evaluate_run(here(), run.id, 40, metrics=["accuracy_mlp"])["results"] == measured[1:]
    part: dict[str, Any] = {"num_samples": 40, "seed": 1, "metrics": ["accuracy_mlp"]}
    assert finished.evaluate_run(here(), run.id, **part)["results"] == []
    assert finished.evaluate_run(here(), run.id, 40, metrics=["accuracy_semi_supervised"])["results"] == [], "what needs a name is no part"
    assert taken == [["accuracy_mlp"], ["accuracy_semi_supervised"]]
    assert finished.kept_evaluation(here(), run.id) == complete
    monkeypatch.setattr(evaluation, "evaluate", lambda *_arguments, **_options: pytest.fail("measured again"))
    assert finished.evaluate_run(here(), run.id, **part)["results"] == [], "kept beside it"


def test_a_method_without_a_public_model_has_no_epsilon_zero(quick_plan: PlanMaker, train_here: Make) -> None:
    assert sample_set(here(), train_here(quick_plan()).id).public_records(5) is None


def test_neighbours_are_found_once(quick_plan: PlanMaker, train_here: Make) -> None:
    run = train_here(quick_plan())
    neighbours = finished.neighbours_run(here(), run.id, "pixels", 3, 10)
    assert neighbours.indices.shape == (10, 3)
    assert np.all(np.diff(neighbours.distances, axis=1) >= 0)
    again = finished.neighbours_run(here(), run.id, "pixels", 3, 10)
    assert again.features == neighbours.features
    assert np.array_equal(again.held_out_indices, neighbours.held_out_indices)
    with pytest.raises(WorkbenchError, match="Unknown feature space 'telepathy'"):
        finished.neighbours_run(here(), run.id, "telepathy")


def test_a_sampler_that_touches_records_pays_first_and_raises_the_bound(
    quick_plan: PlanMaker, train_here: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sampling_stages(method: DPMERF, facts: DatasetFacts, _request: SampleRequest) -> list[Stage]:
        return [Stage("guidance", method.stages(facts)[0].event, "once", relations=("REPLACE_ONE", "REPLACE_SPECIAL"))]

    monkeypatch.setattr(DPMERF, "sampling_stages", sampling_stages)
    run = train_here(quick_plan())
    assert RunFolder(here(), run.id).preview() is None
    paid: list[int] = []
    real = DPMERF.sample

    def sample(method: DPMERF, state: Any, request: SampleRequest) -> Records:
        paid.append(sum(entry.purpose == "sampling" for entry in Ledger(here().ledger).entries()))
        return real(method, state, request)

    monkeypatch.setattr(DPMERF, "sample", sample)
    sample_set(here(), run.id).records(4)
    once = RunStore(here()).get(run.id)
    sample_set(here(), run.id).records(4)
    sample_set(here(), run.id).records(6)
    twice = RunStore(here()).get(run.id)
    assert paid == [1, 2]
    assert run.bound.epsilon < once.bound.epsilon < twice.bound.epsilon
    assert twice.epsilon_spent == twice.bound.epsilon
    assert read_notes(RunFolder(here(), run.id).samples / "samples.npz")["bound"]["epsilon"] == twice.bound.epsilon


def test_table_rows_go_through_a_file(tmp_path: Path) -> None:
    rows = Records(np.arange(6).reshape(3, 2), None, {"age": np.array([1, 0, 1])})
    kind = TableKind(columns=(Column(name="a", categories=tuple("uvwxy")), Column.of_ranges("b", (0, 1, 2, 4, 8, 16, 32))))
    facts = DatasetFacts(name="t", kind=kind, num_records=3, attributes={"age": ("young", "old")})
    write_records(rows, tmp_path / "rows.npz", {"releasable": False}, facts)
    again = read_records(tmp_path / "rows.npz")
    assert np.array_equal(again.records, rows.records)
    assert again.labels is None
    assert np.array_equal(again.attributes["age"], rows.attributes["age"])
