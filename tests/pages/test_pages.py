"""Every page: opens, says what it must, and carries its choices in the address."""

import itertools
import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
import streamlit as st
from pages.conftest import app_at
from streamlit.testing.v1 import AppTest
from support.homes import here
from support.launchers import Nowhere
from support.odd_methods import odd
from support.tables import toy_table

from workbench.datasets import DATASETS, DatasetEntry, load
from workbench.datasets.reference import DatasetRef
from workbench.evaluation import OUTSIDE_GUARANTEE
from workbench.jobs import runs
from workbench.jobs.folder import RunFolder
from workbench.jobs.launchers import LAUNCHERS
from workbench.jobs.run import Run
from workbench.jobs.samples import sample_set
from workbench.jobs.samples.drawn import request_samples
from workbench.jobs.samples.imported import import_samples
from workbench.jobs.store import RunStore
from workbench.jobs.verdicts import Verdicts
from workbench.methods import METHODS
from workbench.pages import PAGES
from workbench.pages.budget.points import own_points
from workbench.plan import Plan
from workbench.planning import make_plan
from workbench.privacy.spending.ledger import Ledger
from workbench.training.state import PerformanceSettings
from workbench.ui.formats import number
from workbench.ui.links import clone_link
from workbench.ui.runs import run_label

OpenPage = Callable[..., AppTest]
TrainHere = Callable[..., Run]
PICTURES: dict[str, set[str]] = {  # what a page has to have of the kinds that need a description
    "budget": {"plotly_chart", "dataframe"},
    "train": {"image", "dataframe"},
    "runs": {"plotly_chart", "image", "dataframe"},
    "gallery": {"plotly_chart", "image"},
    "claims": {"dataframe"},
}
OF_RUNS = ("budget", "train", "runs", "gallery")  # pages that show runs, and the example where there are none


def text_of(app: AppTest) -> str:
    """All words on the page."""
    kinds = (app.title, app.header, app.markdown, app.caption, app.warning, app.error, app.info)
    return "\n".join(str(element.value) for kind in kinds for element in kind)


def groups(app: AppTest) -> list[Any]:
    """The segmented controls and other groups of buttons, for which the library has no type."""
    return list(app.get("button_group"))


def elements(node: Any) -> Iterator[Any]:
    """Every element under a node of the page."""
    children = getattr(node, "children", None)
    if children:
        for child in children.values():
            yield from elements(child)
    else:
        yield node


def blocks(node: Any, kind: str) -> Iterator[Any]:
    """Every container of a kind under a node of the page."""
    for child in (getattr(node, "children", None) or {}).values():
        if child.type == kind:
            yield child
        yield from blocks(child, kind)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_one_first_heading_and_describes_its_pictures(open_page: OpenPage, page: str) -> None:
    app = open_page(page)
    assert len(app.title) == 1
    assert PICTURES.get(page, set()) <= {element.type for element in elements(app.main)}
    for element in elements(app.main):
        if element.type == "plotly_chart":
            assert element.proto.alt, f"a chart of {page} has no description"
        if element.type == "image":
            assert all(image.alt for image in element.proto.imgs), f"an image of {page} has no description"
        if element.type == "dataframe":
            assert element.proto.alt, f"a table of {page} has no description"


def test_budget_shows_three_numbers_configuration_time_and_memory(open_page: OpenPage) -> None:
    app = open_page("budget", budget_method="dp-merf", budget_epsilon="2.0")
    cards = [metric.value for metric in app.metric if metric.label == "Epsilon"]
    assert len(cards) == 3
    assert 1.99 < float(cards[1]) <= 2.0
    values = {metric.label: metric.value for metric in app.metric}
    assert values["Expected time"] == "about 26 min 43 s"
    assert values["Expected memory"] == "about 1.0 GiB"
    assert float(values["Noise multiplier"]) > 0
    assert "proved upper bound" in text_of(app)


@pytest.mark.usefixtures("workbench_home")
def test_no_page_waits_for_the_example(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[subprocess.Popen[bytes]] = []

    def begin(_workspace: object) -> subprocess.Popen[bytes]:
        begun.append(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]))
        return begun[-1]

    monkeypatch.setattr("workbench.ui.example.begin_example", begin)
    st.cache_resource.clear()
    for page in PAGES:
        app = app_at(page).run()
        assert not app.exception
        assert page not in OF_RUNS or "A small example run is being made" in text_of(app)
    assert begun == [], "the page settles first"
    monkeypatch.setattr("workbench.ui.example.count", lambda: itertools.count(1))  # as when it looks again
    for _ in range(2):
        app_at("budget").run()
    begun[0].kill()
    begun[0].wait()
    assert len(begun) == 1
    assert RunStore(here()).list() == []


def test_pages_plans_and_claims_are_imported_without_torch() -> None:
    modules = "workbench.experiment workbench.privacy " + " ".join(f"workbench.pages.{page}.page" for page in PAGES)
    code = f"import sys, {', '.join(modules.split())}\nfrom workbench import experiment, datasets\n"
    code += "experiment.make_plan('dp-merf', datasets.facts('digits'), epsilon=1.0)\nprint('torch' in sys.modules, 'opacus' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["False", "False"]


def test_another_epsilon_begins_no_other_measurement(open_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.pages.budget.expected.known_pace", lambda *_: None)
    begun: list[float] = []

    class AtWork:
        ended, failure = False, ""

        def __init__(self, _workspace: object, plan: Plan, _performance: PerformanceSettings) -> None:
            begun.append(plan.bound.epsilon)

    monkeypatch.setattr("workbench.pages.budget.expected.Rehearsal", AtWork)
    assert "is being measured" in text_of(open_page("budget", budget_method="dp-merf", budget_epsilon="2.0"))
    assert begun == [], "the page settles first"
    monkeypatch.setattr("workbench.pages.budget.expected.count", lambda: itertools.count(1))  # as when it looks again
    app = open_page("budget", budget_method="dp-merf", budget_epsilon="2.0")
    assert "is being measured" in text_of(app)
    app.number_input(key="budget_epsilon").set_value(3.0).run()
    assert "more than" not in text_of(app)
    assert len(begun) == 1


def test_budget_says_where_no_paper_has_a_row_and_where_epsilon_zero_is_not_defined(open_page: OpenPage) -> None:
    text = text_of(open_page("budget", budget_method="dp-merf"))
    assert "No published row: none of the papers reports a result on digits." in text
    assert "Measured points are the workbench's own" in text
    fashion = text_of(open_page("budget", budget_method="dp-merf", budget_dataset="fashion-mnist"))
    assert "Epsilon 0: not defined. The classes of the public images (glyphs) are not those of fashion-mnist." in fashion
    assert "Real training data: not measured yet." in fashion


def test_budget_has_published_points_where_papers_have_them(open_page: OpenPage) -> None:
    app = open_page("budget", budget_method="dp-merf", budget_dataset="mnist")
    assert app.selectbox(key="budget_measure").value == "accuracy_cnn"
    assert "Published points stand at the epsilon their source prints" in text_of(app)


def test_budget_shows_an_infinite_bound_with_its_reason(open_page: OpenPage) -> None:
    app = open_page("budget", budget_dataset="mnist", budget_preset="published", budget_target="Paper's claim")
    assert [metric.value for metric in app.metric if metric.label == "Epsilon"][1] == "∞"
    text = text_of(app)
    assert "refuted" in text
    assert "Claim only" in text
    assert "An infinite epsilon limits no attack" in text


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"budget_delta": "1.0"}, "Expected delta in (0, 1), got 1.0."),
        ({"budget_epsilon": "0.0"}, "Expected a finite epsilon above 0, got 0.0."),
        ({"budget_preset": "published"}, "No noise multiplier bounds this run."),
        ({"budget_dataset": "/nowhere/at/all"}, "/nowhere/at/all"),
    ],
)
def test_wrong_input_is_one_clear_sentence(open_page: OpenPage, parameters: dict[str, str], sentence: str) -> None:
    app = open_page("budget", **parameters)
    assert len(app.error) == 1
    assert sentence in app.error[0].value


def test_budget_carries_every_choice_to_the_train_page(open_page: OpenPage) -> None:
    app = open_page("budget", budget_method="dp-merf", budget_epsilon="3.0", budget_delta="1e-4")
    app.button(key="budget_carry").click().run()
    assert not app.exception
    assert app.title[0].value == "Train"
    assert app.selectbox(key="train_method").value == "dp-merf"
    assert (app.number_input(key="train_epsilon").value, app.number_input(key="train_delta").value) == (3.0, 1e-4)


def test_the_axis_of_own_runs_is_a_choice_the_address_keeps(open_page: OpenPage) -> None:
    app = open_page("budget", budget_method="dp-merf", budget_axis="Paper's claim", budget_against="Noise multiplier")
    axis = next(group for group in groups(app) if group.key == "budget_axis")
    assert axis.value == "claim"


def test_train_launches_a_run_and_watches_it(open_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LAUNCHERS, "local", Nowhere())
    parameters = {
        "train_method": "dp-merf",
        "train_epsilon": "1.0",
        "train_training.steps": "7",
        "train_device": "cpu",
        "train_speed.num_threads": "1",
    }
    app = open_page("train", **parameters)
    before = {run.id for run in RunStore(here()).list()}
    app.button(key="train_launch").click().run()
    assert not app.exception
    run = next(run for run in RunStore(here()).list() if run.id not in before)
    assert run.config["training"]["steps"] == 7
    assert (run.performance["device"], run.performance["num_threads"], run.seed) == ("cpu", 1, None)
    assert app.selectbox(key="train_run_choice").value == run.id
    assert app.button(key="train_cancel")
    assert app.query_params["train_run"] == run.id


def test_what_comes_and_goes_with_a_run_s_state_moves_nothing_below_it(home_with_runs: object) -> None:
    """The page keeps an old element until a rerun has ended: one that has moved would stand there twice meanwhile."""

    def draw(state: str, error: str | None) -> None:
        from workbench.jobs.store import RunStore
        from workbench.pages.train.watch import show_run
        from workbench.workspace import Workspace

        show_run(RunStore(Workspace.default()).list()[0].model_copy(update={"state": state, "error": error}), "x_")

    places = []
    for state, error in (("running", None), ("cancelling", None), ("done", None), ("failed", "why")):
        app = AppTest.from_function(draw, args=(state, error)).run(timeout=60)
        assert not app.exception
        assert "Preview" in text_of(app)
        places.append([(place, node.type) for place, node in app.main.children.items()])
    assert len(places[0]) == 7
    assert places == places[:1] * 4


def test_a_seed_is_said_to_forbid_release(open_page: OpenPage) -> None:
    assert "repeatable and not releasable" in text_of(open_page("train", train_method="dp-merf", train_seed="3"))


def test_train_takes_no_epsilon_for_a_method_without_a_guarantee(open_page: OpenPage) -> None:
    app = open_page("train", train_method="nonprivate")
    assert app.number_input(key="train_epsilon").disabled
    assert not app.button(key="train_launch").disabled


def test_a_budget_that_a_launch_could_exceed_is_said_beforehand(open_page: OpenPage, home_with_runs: object) -> None:
    Ledger(here().ledger).set_budget(RunStore(here()).list()[0].fingerprint, 0.5, 1e-5)
    assert "its budget" in text_of(open_page("train", train_method="dp-merf"))


def test_runs_are_filtered_and_sorted(open_page: OpenPage) -> None:
    table = open_page("runs", runs_order="bound, small first").dataframe[0].value
    assert table["Upper bound"].tolist() == sorted(table["Upper bound"], key=float)
    assert "No run fits these filters." in text_of(open_page("runs", runs_state="failed"))


def test_two_runs_are_compared(open_page: OpenPage) -> None:
    app = open_page("runs")
    app.multiselect(key="runs_chosen").set_value([run.id for run in RunStore(here()).list()]).run()
    assert not app.exception
    assert "Comparison" in [header.value for header in app.header]
    differing = app.dataframe[-1].value
    assert differing["Setting"].tolist() == ["noise_multiplier"]


def test_a_run_s_replace_one_bound_stands_beside_its_own(open_page: OpenPage, home_with_runs: object) -> None:
    """In the run's detail, in the comparison and for the run at work; not once more than the plan has been paid for."""
    runs = RunStore(here()).list()
    beside = [run.replace_one for run in runs]
    assert all(value is not None and value.epsilon > run.bound.epsilon for value, run in zip(beside, runs, strict=True))
    assert beside[0] is not None
    said = f"Where one record is replaced by another: epsilon {number(beside[0].epsilon, 4)}."
    app = open_page("runs")
    assert said in text_of(app)
    app.multiselect(key="runs_chosen").set_value([run.id for run in runs]).run()
    row = app.dataframe[1].value.set_index("Measure").loc["Upper bound, one record replaced"]
    assert row.tolist() == [number(value.epsilon) for value in beside if value is not None]
    watched = open_page("train", train_run=runs[0].id)
    (metric,) = [metric for metric in watched.metric if metric.label == "Upper bound when done"]
    assert "replaced" in metric.help
    assert runs[0].model_copy(update={"epsilon_spent": runs[0].bound.epsilon * 1.01}).replace_one is None


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
    assert app.number_input(key="train_training.steps").value == 30
    assert app.number_input(key="train_epsilon").value == 1.0
    assert app.number_input(key="train_noise_multiplier").value is None


def test_a_clone_carries_what_was_set_and_not_what_was_calibrated(open_page: OpenPage, home_with_runs: object) -> None:
    dataset = load("digits")
    overrides = {"pretraining": {"dataset": ""}, "phase_one": {"steps": 3}, "network": {"attention_resolutions": []}}
    plan = make_plan("dp-promise", dataset.facts, epsilon=5.0, settings=overrides)
    settings = PerformanceSettings(device="cpu", num_threads=1)
    run = runs.register(here(), plan, "digits", performance=settings, loaded=dataset)
    app = open_page("train", **clone_link(run, "train_"))
    assert not app.error
    assert app.number_input(key="train_epsilon").value == 5.0
    assert app.number_input(key="train_phase_one.steps").value == 3
    assert (app.number_input(key="train_boundary").value, app.number_input(key="train_phase_two.noise_multiplier").value) == (None, None)
    assert (app.text_input(key="train_pretraining.dataset").value, app.selectbox(key="train_device").value) == ("none", "cpu")
    before = {kept.id for kept in RunStore(here()).list()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(LAUNCHERS, "local", Nowhere())
        app.button(key="train_launch").click().run()
    assert not app.exception
    clone = next(kept for kept in RunStore(here()).list() if kept.id not in before)
    assert (clone.config, clone.performance) == (run.config, run.performance)


def test_a_claim_only_run_is_marked_wherever_it_shows(open_page: OpenPage, home_with_runs: object) -> None:
    dataset = load("digits")
    plan = make_plan("dp-promise", dataset.facts, epsilon=5.0, settings={"targets": "paper"}, target="claim")
    run = runs.register(here(), plan, "digits", loaded=dataset)
    RunStore(here()).change(run.id, {"queued"}, "finished", state="done")
    evaluation = json.loads(RunFolder(here(), RunStore(here()).list()[-1].id).evaluation.read_text())
    RunFolder(here(), run.id).evaluation.write_text(json.dumps(evaluation | {"run": run.id}))
    points, _ = own_points([RunStore(here()).get(run.id)], "accuracy_logistic_regression", "claim")
    assert "claim only" in points["label"][0]
    compared = open_page("runs", runs_chosen=[run_label(kept) for kept in RunStore(here()).list()])
    assert any("claim only" in str(column) for frame in compared.dataframe for column in frame.value.columns)
    assert "claim only" in text_of(open_page("runs", runs_chosen=run_label(run)))


def test_the_gallery_refuses_records_that_are_not_the_run_s(open_page: OpenPage, home_with_runs: object) -> None:
    newest = RunStore(here()).list()[0]
    with closing(sqlite3.connect(RunStore(here()).path)) as connection, connection:
        connection.execute("UPDATE runs SET fingerprint = 'another' WHERE id = ?", (newest.id,))
    app = open_page("gallery", gallery_run=newest.id)
    assert any("no longer those that run" in error.value for error in app.error)
    assert not app.get("image")


def test_the_gallery_says_that_it_is_outside_the_guarantee(open_page: OpenPage) -> None:
    app = open_page("gallery")
    assert OUTSIDE_GUARANTEE in text_of(app)
    values = {metric.label: metric.value for metric in app.metric}
    assert 0.0 <= float(values["Nearer to training than to held-out"]) <= 1.0
    assert 0.0 <= float(values["Privacy score"]) <= 1.0


@pytest.mark.parametrize("page", ["gallery", "train"])
def test_the_address_carries_the_run(open_page: OpenPage, home_with_runs: object, page: str) -> None:
    older, newest = RunStore(here()).list()[-1], RunStore(here()).list()[0]
    app = open_page(page, **{f"{page}_run": older.id})
    assert app.selectbox(key=f"{page}_run_choice").value == older.id
    app.selectbox(key=f"{page}_run_choice").set_value(newest.id).run()
    assert app.query_params[f"{page}_run"] == newest.id
    app.selectbox(key=f"{page}_run_choice").set_value(None).run()
    assert f"{page}_run" not in app.query_params


def test_an_unknown_run_in_the_address_is_said(open_page: OpenPage, home_with_runs: object) -> None:
    assert "Unknown run 'zzzzzzzz'" in text_of(open_page("gallery", gallery_run="zzzzzzzz"))


def test_a_verdict_is_kept_with_its_note_and_can_be_undone(open_page: OpenPage) -> None:
    app = open_page("gallery")
    run = RunStore(here()).list()[0].id
    key = next(group.key for group in groups(app) if group.key.endswith("_verdict"))
    sample = int(key.split("_")[2])
    next(group for group in groups(app) if group.key == key).set_value("copied").run()
    app.text_input(key=f"gallery_{run}_{sample}_note").set_value("same stroke").run()
    assert not app.exception
    kept = Verdicts(here().verdicts).of(run)[sample]
    assert (kept.verdict, kept.note) == ("copied", "same stroke")
    assert "1 of 40 samples looked at: 1 copied" in app.get("progress")[-1].proto.text
    app.button(key="gallery_undo").click().run()
    app.button(key="gallery_undo").click().run()
    assert Verdicts(here().verdicts).of(run) == {}
    assert next(group for group in groups(app) if group.key == key).value is None


def test_the_pages_choose_among_a_run_s_sets_and_show_what_was_made_elsewhere(open_page: OpenPage, home_with_runs: object) -> None:
    run = RunStore(here()).list()[0]
    threes = request_samples(here(), run.id, labels=["3"])
    threes.records(5)
    label = f"{threes.id} · classes 3"
    gallery = open_page("gallery", gallery_run=run.id, gallery_samples=label)
    headings = [element.value for element in gallery.markdown if element.value.startswith("**Sample")]
    assert len(headings) == 5
    assert all("class 3" in heading for heading in headings)
    key = next(group.key for group in groups(gallery) if group.key.endswith("_verdict"))
    next(group for group in groups(gallery) if group.key == key).set_value("fine").run()
    assert (len(Verdicts(here().verdicts).of(run.id)), len(Verdicts(here().verdicts).of(run.id, threes.id))) == (0, 1)
    runs = open_page("runs", runs_chosen=run_label(run))
    runs.selectbox(key="runs_samples").set_value(label).run()
    assert not runs.exception
    assert "Not evaluated yet" in text_of(runs)
    other = import_samples(here(), threes.file, DatasetRef(name="digits"), "other")
    shown = open_page("gallery", gallery_run=other.owner)
    assert "epsilon: none known" in text_of(shown)
    assert len([element for element in shown.markdown if element.value.startswith("**Sample")]) == 5


def test_the_gallery_is_filtered_by_class_and_paged(open_page: OpenPage) -> None:
    app = open_page("gallery", gallery_class="3")
    headings = [element.value for element in app.markdown if element.value.startswith("**Sample")]
    assert headings
    assert all("class 3" in heading for heading in headings)
    whole = [element.value for element in open_page("gallery", gallery_page="2").markdown if element.value.startswith("**Sample")]
    assert len(whole) == 12
    assert all(suspicion(heading) <= 1 for heading in whole)


def suspicion(heading: str) -> float:
    """The suspicion a card's heading gives."""
    return float(heading.strip("*").rsplit(" ", 1)[1])


def test_samples_are_sorted_by_suspicion(open_page: OpenPage) -> None:
    headings = [element.value for element in open_page("gallery").markdown if element.value.startswith("**Sample")]
    values = [suspicion(heading) for heading in headings]
    assert values == sorted(values, reverse=True)


def test_a_method_on_a_table_has_its_pages_by_registry_alone(
    open_page: OpenPage, train_here: TrainHere, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "odd-marginals"
    monkeypatch.setitem(METHODS, name, odd(name))
    monkeypatch.setitem(DATASETS, "toy-table", DatasetEntry("A table.", lambda _: toy_table().facts, lambda _: toy_table()))
    budget = open_page("budget", budget_dataset="toy-table")
    assert budget.selectbox(key="budget_method").value == name
    assert all(not measure.startswith("accuracy_cnn") for measure in budget.selectbox(key="budget_measure").options)
    run = train_here(name, toy_table())
    gallery = open_page("gallery", gallery_run=run.id)
    assert not gallery.get("image")
    cards = [frame.value for frame in gallery.dataframe if frame.value.index.name == "record"]
    assert len(cards) == 12
    rows = [row.split(",")[0] for row in cards[0].index]
    assert rows == ["generated", "training 1", "training 2", "training 3", "training 4", "training 5", "held-out"]
    runs = open_page("runs", runs_chosen=run_label(run))
    assert any("column 3" in frame.value for frame in runs.dataframe)


def test_the_price_of_a_run_s_own_samples_is_shown_before_launch_and_charged(
    open_page: OpenPage, train_here: TrainHere, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, dataset = "odd-paying-sampler", toy_table()
    monkeypatch.setitem(METHODS, name, odd(name))
    monkeypatch.setitem(DATASETS, "toy-table", DatasetEntry("A table.", lambda _: dataset.facts, lambda _: dataset))
    chosen = {"dataset": "toy-table", "method": name, "epsilon": "10.0"}
    shown = {page: open_page(page, **{f"{page}_{key}": value for key, value in chosen.items()}) for page in ("budget", "train")}
    run = train_here(name, dataset)
    sample_set(here(), run.id).records()
    charged = Ledger(here().ledger).total("toy-table", delta=run.delta).epsilon
    assert charged == RunStore(here()).get(run.id).bound.epsilon > run.bound.epsilon
    for app in shown.values():
        assert f"with the run's own 240 samples the bound is epsilon {charged:.4g}" in "\n".join(str(item.value) for item in app.warning)
        (releases,) = [frame.value for frame in app.dataframe if "Spends" in frame.value]
        assert list(releases["Stage"]) == ["release", "answer (drawing samples)"]


@pytest.mark.parametrize(("name", "epsilon"), [("odd-teacher", 10.0), ("odd-guided", None)])
def test_a_method_on_images_has_its_pages_by_registry_alone(
    name: str, epsilon: float | None, open_page: OpenPage, train_here: TrainHere, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = odd(name)
    monkeypatch.setitem(METHODS, kind.name, kind)
    assert open_page("budget", budget_method=kind.name).selectbox(key="budget_method").value == kind.name
    train = open_page("train", train_method=kind.name)
    assert not train.error
    assert not train.button(key="train_launch").disabled
    assert ("Not DP: PAC noise" in text_of(train)) == (name == "odd-guided")
    run = train_here(kind.name, load("digits"), epsilon)
    gallery = open_page("gallery", gallery_run=run.id)
    if epsilon is None:  # its sampler pays, so that a person says when
        assert "touches private records" in text_of(gallery)
        assert not gallery.get("image")
        gallery.button(key="gallery_begin").click().run()
    assert gallery.get("image")
    assert kind.name in text_of(open_page("runs", runs_chosen=run_label(run)))


def test_a_run_that_the_address_names_and_nobody_knows_is_told(open_page: OpenPage) -> None:
    app = open_page("runs", runs_chosen="a run that was deleted")
    assert any("a run that was deleted" in warning.value for warning in app.warning)
    assert not open_page("runs").warning


def test_claims_lists_every_method_and_what_was_spent(open_page: OpenPage) -> None:
    app = open_page("claims")
    table = app.dataframe[0].value
    assert {"dp-promise", "dp-sad", "dpgen", "p3dm", "ddm", "dp-merf"} <= set(table["Method"])
    assert table.set_index("Method").loc["dp-promise", "Upper bound"] == "∞"
    total = [metric.value for metric in app.metric if metric.label == "Epsilon"][3]
    assert float(total) > 0


def test_a_total_under_another_relation_says_so_beside_the_number(open_page: OpenPage) -> None:
    bound = RunStore(here()).list()[0].bound.model_copy(update={"neighboring_relation": "REPLACE_ONE", "epsilon": 9.98})
    with closing(sqlite3.connect(RunStore(here()).path)) as connection, connection:
        connection.execute("UPDATE runs SET bound = ?", (bound.model_dump_json(),))
    assert "alone is epsilon 9.98 at delta 0.000333 under replace one" in text_of(open_page("claims"))


@pytest.mark.usefixtures("home_with_runs")
def test_a_clone_leaves_the_default_delta_empty_and_carries_any_other_to_the_bit() -> None:
    run = RunStore(here()).list()[0]
    assert "train_delta" not in clone_link(run, "train_")
    asked = run.plan.request.edited(delta=1e-5)
    other = run.model_copy(update={"plan": run.plan.model_copy(update={"request": asked})})
    assert clone_link(other, "train_")["train_delta"] == "1e-05"


def test_a_budget_is_set_on_the_claims_page(open_page: OpenPage) -> None:
    app = open_page("claims")
    app.button(key="claims_budget_set").click().run()
    assert [error.value for error in app.error] == ["Expected both an epsilon and a delta for the budget."]
    app.number_input(key="claims_budget_epsilon").set_value(4.0)
    app.number_input(key="claims_budget_delta").set_value(1e-4)
    app.button(key="claims_budget_set").click().run()
    budget = Ledger(here().ledger).budget(RunStore(here()).list()[0].fingerprint)
    assert budget is not None
    assert (budget.epsilon, budget.delta) == (4.0, 1e-4)
