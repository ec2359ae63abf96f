"""The Runs page: the table, one run, several side by side, and what can be done with them."""

import io
import json
import math
import zipfile
from collections.abc import Callable
from typing import Any

import pytest
from pages.conftest import app_at
from pages.reading import blocks, elements, text_of
from streamlit.testing.v1 import AppTest
from support.homes import here
from support.launchers import Nowhere
from support.odd_methods import odd
from support.tables import toy_table

from workbench import runs
from workbench.datasets import DATASETS, DatasetEntry, load
from workbench.jobs.launchers import LAUNCHERS
from workbench.jobs.lifecycle import Jobs
from workbench.methods import METHODS
from workbench.pages.runs.page import NONE_YET, look_at_marked
from workbench.pages.runs.release import export_bytes
from workbench.pages.runs.tables import run_table
from workbench.planning import make_plan
from workbench.privacy.spending.ledger import Ledger
from workbench.runs import finished
from workbench.runs.run import Run
from workbench.runs.samples import sample_sets
from workbench.runs.samples.drawn import request_samples
from workbench.runs.store import RunStore
from workbench.training.state import PerformanceSettings
from workbench.ui.formats import number
from workbench.ui.links import clone_link
from workbench.ui.runs import results_of, run_label

OpenPage = Callable[..., AppTest]
TrainHere = Callable[..., Run]


def test_runs_are_filtered_and_sorted(open_page: OpenPage) -> None:
    table = open_page("runs", runs_order="bound, small first").dataframe[0].value
    assert table["Upper bound"].tolist() == sorted(table["Upper bound"], key=float)
    assert "No run fits these filters." in text_of(open_page("runs", runs_state="failed"))


def test_a_run_is_named_tagged_and_found_by_its_tag(open_page: OpenPage) -> None:
    run, other = RunStore(here()).list()
    app = open_page("runs", runs_chosen=run.id)
    app.text_input(key=f"runs_{run.id}_name").set_value("The *good* one")
    app.text_input(key=f"runs_{run.id}_tags").set_value("paper, v2")
    app.text_area(key=f"runs_{run.id}_note").set_value("Look again.")
    app.run()
    assert not app.exception
    assert (kept := RunStore(here()).get(run.id)).tags == ("paper", "v2")
    assert (kept.name, kept.note) == ("The *good* one", "Look again.")
    assert f"Run {run.id}: The \\*good\\* one" in [header.value for header in app.header]
    shown = open_page("runs", runs_tags="paper")
    assert shown.dataframe[0].value[["Run", "Name", "Tags"]].values.tolist() == [[run.id, "The *good* one", "paper, v2"]]
    assert "on the disk" in text_of(shown)
    assert other.id not in shown.dataframe[0].value["Run"].tolist()


def test_two_runs_are_compared(open_page: OpenPage) -> None:
    app = open_page("runs")
    app.multiselect(key="runs_chosen").set_value([run.id for run in RunStore(here()).list()]).run()
    assert not app.exception
    assert "Comparison" in [header.value for header in app.header]
    measures = app.dataframe[1].value.set_index("Measure")
    assert measures.loc["Delta of both"].tolist() == [number(run.delta) for run in RunStore(here()).list()]
    differing = app.dataframe[-1].value
    assert differing["Setting"].tolist() == ["noise_multiplier"]


def test_a_claim_that_nobody_evaluated_is_not_infinite(home_with_runs: object) -> None:
    run = RunStore(here()).list()[0]
    silent = run.model_copy(update={"claim": run.claim.model_copy(update={"epsilon": math.inf, "status": "not_evaluated"})})
    assert run_table([run, silent])["Claim"].tolist() == [number(run.claim.epsilon), "–"]


def test_a_run_s_replace_one_bound_stands_beside_its_own(open_page: OpenPage, home_with_runs: object) -> None:
    """In the run's detail, in the comparison and for the run at work; not once more than the plan has been paid for."""
    runs = RunStore(here()).list()
    beside = [run.replace_one for run in runs]
    assert all(value is not None and value.epsilon > run.bound.epsilon for value, run in zip(beside, runs, strict=True))
    assert beside[0] is not None
    app = open_page("runs")
    assert [metric.value for metric in app.metric if metric.label == "One record replaced"] == [number(beside[0].epsilon, 4)]
    app.multiselect(key="runs_chosen").set_value([run.id for run in runs]).run()
    row = app.dataframe[1].value.set_index("Measure").loc["Upper bound, one record replaced"]
    assert row.tolist() == [number(value.epsilon) for value in beside if value is not None]
    watched = open_page("train", train_run=runs[0].id)
    (metric,) = [metric for metric in watched.metric if metric.label == "Upper bound when done"]
    assert "replaced" in metric.help
    assert runs[0].model_copy(update={"epsilon_spent": runs[0].bound.epsilon * 1.01}).replace_one is None


def test_runs_of_a_table_stand_above_real_and_simple_rows(open_page: OpenPage, train_here: Callable[..., Run]) -> None:
    chosen = [train_here("independent-marginals", load("breast-cancer"), epsilon).id for epsilon in (1.0, 10.0)]
    app = open_page("runs")
    app.multiselect(key="runs_chosen").set_value(chosen).run()
    assert "None of these runs has been evaluated" in text_of(app)
    finished.evaluate_run(here(), chosen[0], 100, metrics=["two_way_marginals"])
    (beside,) = [table.value for table in app.run().dataframe if "Line" in table.value]
    assert beside["Line"].tolist()[-3:] == ["bootstrap of the real rows", "half of the real rows", "independent columns"]
    assert beside["Two-way marginals"].str.endswith("(private)").tolist() == [False, *[True] * (len(beside) - 1)], "one was not evaluated"


def test_the_list_counts_its_runs_shows_their_accuracy_and_opens_the_marked_rows(open_page: OpenPage) -> None:
    app = open_page("runs")
    newer, older = RunStore(here()).list()[:2]
    assert "2 of 2 runs." in text_of(app)
    reached = next(row for row in results_of(older.id) if row["name"] == "accuracy_logistic_regression")
    assert app.dataframe[0].value["Accuracy"].tolist()[1] == f"{number(reached['value'])} (private)"
    assert app.header[0].value == f"Run {newer.id}"
    with pytest.MonkeyPatch.context() as patch:
        chosen: dict[str, Any] = {"runs_table": {"selection": {"rows": [1]}}}
        patch.setattr("streamlit.session_state", chosen)
        look_at_marked([newer, older])
    assert chosen["runs_chosen"] == [older.id]
    (measures,) = [table.value for table in app.dataframe if "Measure" in table.value]
    assert set(measures["Measure"]) == {"Accuracy, logistic regression", "Nearer to training"}
    assert not [text for text in [*measures["Measure"], *measures["Against"]] if "_" in text]


def test_an_empty_home_has_no_filters_to_blame(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.pages.runs.page.example_notice", lambda _: None)
    app = app_at("runs").run()
    assert [info.value for info in app.info] == [NONE_YET]


def test_a_run_is_deleted_only_when_confirmed_and_stays_in_the_ledger(open_page: OpenPage) -> None:
    app = open_page("runs")
    run = RunStore(here()).list()[0]
    behind = [element.key for block in blocks(app.main, "popover") for element in elements(block) if element.type == "button"]
    assert f"runs_{run.id}_delete" in behind, "the button lies behind another one"
    app.button(key=f"runs_{run.id}_delete").click().run()
    assert not app.exception
    assert run.id not in {kept.id for kept in RunStore(here()).list()}
    assert run.id in {entry.run_id for entry in Ledger(here().ledger).entries()}


def test_a_run_is_cloned_for_editing_with_its_settings(open_page: OpenPage) -> None:
    app = open_page("runs")
    app.button(key=f"runs_{RunStore(here()).list()[0].id}_clone").click().run()
    assert not app.exception
    assert app.title[0].value == "Train"
    assert app.number_input(key="train_set.training.steps").value == 30
    assert app.number_input(key="train_epsilon").value == 1.0
    assert app.number_input(key="train_set.noise_multiplier").value is None


def test_a_clone_carries_what_was_set_and_not_what_was_calibrated(open_page: OpenPage, home_with_runs: object) -> None:
    dataset = load("digits")
    overrides = {"pretraining": {"dataset": ""}, "phase_one": {"steps": 3}, "network": {"attention_resolutions": []}}
    plan = make_plan("dp-promise", dataset.facts, epsilon=5.0, settings=overrides)
    settings = PerformanceSettings(device="cpu", num_threads=1)
    run = runs.register(here(), plan, "digits", performance=settings, loaded=dataset)
    RunStore(here()).change(run.id, {"queued"}, "failed", state="failed")  # with nothing spent: a clone of it is no repetition
    app = open_page("train", **clone_link(run, "train_"))
    assert not app.error
    assert app.number_input(key="train_epsilon").value == 5.0
    assert app.number_input(key="train_set.phase_one.steps").value == 3
    unset = [app.number_input(key=f"train_set.{name}").value for name in ("boundary", "phase_two.noise_multiplier")]
    assert unset == [None, None]
    assert (app.text_input(key="train_set.pretraining.dataset").value, app.selectbox(key="train_device").value) == ("none", "cpu")
    before = {kept.id for kept in RunStore(here()).list()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(LAUNCHERS, "local", Nowhere())
        app.button(key="train_launch").click().run()
    assert not app.exception
    clone = next(kept for kept in RunStore(here()).list() if kept.id not in before)
    assert (clone.config, clone.performance) == (run.config, run.performance)


def test_a_run_whose_model_is_whole_can_be_finished_early(open_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = load("digits")
    plan = make_plan("dp-promise", dataset.facts, epsilon=5.0, settings={"pretraining.dataset": ""})
    run = runs.register(here(), plan, "digits", performance=PerformanceSettings(device="cpu", num_threads=1), loaded=dataset)
    RunStore(here()).change(run.id, {"queued"}, "cancelled", state="cancelled", stage="phase one")
    assert f"runs_{run.id}_finish" not in [button.key for button in open_page("runs", runs_chosen=run.id).button]
    RunStore(here()).change(run.id, {"cancelled"}, "moved on", stage="phase two")
    ended: list[str] = []
    monkeypatch.setattr(runs, "end_early", lambda _workspace, run_id: ended.append(run_id))
    app = open_page("runs", runs_chosen=run.id)
    assert "Its bound stays that of all its steps" in text_of(app)
    app.button(key=f"runs_{run.id}_finish").click().run()
    assert not app.exception
    assert ended == [run.id]


def test_a_run_that_the_address_names_and_nobody_knows_is_told(open_page: OpenPage) -> None:
    app = open_page("runs", runs_chosen="a run that was deleted")
    assert any("a run that was deleted" in warning.value for warning in app.warning)
    assert not open_page("runs").warning


def test_an_id_alone_names_a_run_in_the_address(open_page: OpenPage) -> None:
    older, newer = RunStore(here()).list()[1], RunStore(here()).list()[0]
    app = open_page("runs", runs_chosen=[older.id, run_label(newer)])
    assert not app.warning
    assert app.multiselect(key="runs_chosen").value == [older.id, newer.id]
    app.multiselect(key="runs_chosen").set_value([newer.id]).run()
    assert app.multiselect(key="runs_chosen").value == [newer.id]
    assert not app.exception


def test_an_id_alone_may_stand_beside_filters_in_the_address(open_page: OpenPage) -> None:
    older = RunStore(here()).list()[1]
    app = open_page("runs", runs_chosen=older.id, runs_method=older.method)
    assert not app.exception
    assert app.multiselect(key="runs_chosen").value == [older.id]
    assert app.multiselect(key="runs_method").value == [older.method]


def test_other_samples_are_drawn_by_a_job_as_a_set_of_their_own(open_page: OpenPage) -> None:
    app = open_page("runs")
    run = RunStore(here()).list()[0]
    planned = run.plan.num_samples
    assert f"Set default, as planned: {planned:,} samples, 40 of them are there." in text_of(app)
    app.multiselect(key=f"runs_{run.id}_sample_classes").set_value(["3", "7"])
    app.number_input(key=f"runs_{run.id}_sample_number").set_value(6)
    app.number_input(key=f"runs_{run.id}_sample_seed").set_value(5).run()
    app.button(key=f"runs_{run.id}_sample_draw").click().run()
    assert not app.exception
    (job,) = [job for job in Jobs(here()).of(run.id) if job.task == "sample"]
    (_, other) = sample_sets(here(), run.id)
    assert (job.state, job.request) == ("done", {"samples": other.id, "num_samples": 6})
    assert other.summary == "classes 3, 7; seed 5"
    kept = other.kept_records()
    assert kept is not None
    assert list(kept.labels) == [3, 7] * 3
    assert f"Set {other.id}, classes 3, 7; seed 5: 6 samples, 6 of them are there." in text_of(app)
    assert app.button(key=f"runs_{run.id}_sample_draw").disabled
    assert f"{other.id} · {other.summary}" in app.selectbox(key="runs_samples").options


def test_the_price_of_other_samples_is_shown_before_they_are_drawn(
    open_page: OpenPage, train_here: TrainHere, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, dataset = "odd-paying-sampler", toy_table()
    monkeypatch.setitem(METHODS, name, odd(name))
    monkeypatch.setitem(DATASETS, "toy-table", DatasetEntry("A table.", "toy-table", lambda _: dataset.facts, lambda _: dataset))
    run = train_here(name, dataset)
    app = open_page("runs", runs_chosen=run_label(run))
    app.number_input(key=f"runs_{run.id}_sample_number").set_value(10).run()
    price = request_samples(here(), run.id).plan(10).bound.epsilon
    assert f"the run is at epsilon {number(price)} with them" in text_of(app)
    assert RunStore(here()).get(run.id).bound == run.bound, "asking costs nothing"
    app.button(key=f"runs_{run.id}_sample_draw").click().run()
    assert RunStore(here()).get(run.id).bound.epsilon == price > run.bound.epsilon
    app.number_input(key=f"runs_{run.id}_sample_seed").set_value(1).run()
    assert "Expected no seed: the sampler of odd-paying-sampler adds noise" in text_of(app)


def test_a_run_is_exported_and_one_without_a_bound_only_when_that_is_said(open_page: OpenPage, home_with_runs: object) -> None:
    run = RunStore(here()).list()[0]
    assert not download(open_page("runs", runs_chosen=run_label(run)), run).disabled
    with zipfile.ZipFile(io.BytesIO(export_bytes(run.id))) as archive:
        assert json.loads(archive.read("card.json"))["bound"]["epsilon"] == run.bound.epsilon
    RunStore(here()).change(run.id, {"done"}, "changed", releasable=False, seed=1)
    app = open_page("runs", runs_chosen=run_label(run))
    assert download(app, run).disabled
    app.checkbox(key=f"runs_{run.id}_not_private").check().run()
    assert not download(app, run).disabled


def download(app: AppTest, run: Run) -> Any:
    """The button that writes a run's file."""
    return next(button.proto for button in app.get("download_button") if f"runs_{run.id}_export" in button.proto.id)
