"""Every page alike, and what shows on several: a run wherever it stands, a method by its registry line alone."""

import itertools
import json
import subprocess
import sys
from collections.abc import Callable

import pytest
from pages.conftest import app_at
from pages.reading import elements, groups, opened, pictures, text_of
from streamlit.testing.v1 import AppTest
from support.disk import full_disk
from support.homes import here
from support.launchers import Nowhere
from support.odd_methods import odd
from support.tables import toy_table

from workbench import runs
from workbench.datasets import DATASETS, DatasetEntry, load
from workbench.datasets.reference import DatasetRef
from workbench.jobs.job import WORKSPACE
from workbench.jobs.launchers import LAUNCHERS
from workbench.jobs.lifecycle import Jobs
from workbench.methods import METHODS
from workbench.pages import PAGES
from workbench.pages.budget.points import own_points
from workbench.planning import make_plan
from workbench.privacy.spending.ledger import Ledger
from workbench.runs.folder import RunFolder
from workbench.runs.run import Run
from workbench.runs.samples import sample_set
from workbench.runs.samples.drawn import request_samples
from workbench.runs.samples.imported import import_samples
from workbench.runs.store import RunStore
from workbench.runs.verdicts import Verdicts
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
OPENED = {"gallery": {"gallery_all": "true", "gallery_spread": "true"}}  # parts that the address opens
OF_RUNS = ("budget", "train", "runs", "gallery", "records")  # pages that show runs, and the example where there are none


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_one_first_heading_and_describes_its_pictures(open_page: OpenPage, page: str) -> None:
    app = opened(open_page(page, **OPENED.get(page, {})))
    assert len(app.title) == 1
    assert PICTURES.get(page, set()) <= {element.type for element in elements(app.main)}
    assert all(description for _, description in pictures(app))
    for element in elements(app.main):
        if element.type == "plotly_chart":
            assert element.proto.alt, f"a chart of {page} has no description"
        if element.type == "image":
            assert all(image.alt for image in element.proto.imgs), f"an image of {page} has no description"
        if element.type == "dataframe":
            assert element.proto.alt, f"a table of {page} has no description"


@pytest.mark.usefixtures("workbench_home")
def test_no_page_waits_for_the_example(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LAUNCHERS, "local", Nowhere())
    for page in PAGES:
        app = app_at(page).run()
        assert not app.exception
        assert page not in OF_RUNS or "A small example run is being made" in text_of(app)
    assert Jobs(here()).all() == [], "the page settles first"
    monkeypatch.setattr("workbench.ui.jobs.count", lambda: itertools.count(1))  # as when it looks again
    for page in OF_RUNS:
        assert "A small example run is being made" in text_of(app_at(page).run())
    (job,) = Jobs(here()).all()
    assert (job.task, job.owner, job.state, job.attempt) == ("example", WORKSPACE, "starting", 1)
    Jobs(here()).change(job.id, {"starting"}, "failed", state="failed", error="No space left on device.")
    app = app_at("gallery").run()
    assert f"The example run ({job.id}) has failed. No space left on device." in text_of(app)
    app.button(key="gallery_example_resume").click().run()
    assert not app.exception
    assert Jobs(here()).get(job.id).attempt == 2


@pytest.mark.parametrize("page", ["gallery", "runs"])
def test_work_that_cannot_be_begun_on_a_full_disk_is_a_sentence(page: str, home_with_runs: object) -> None:
    """The Gallery's search and an evaluation, each begun by a button."""
    app = app_at(page)
    if page == "runs":
        app.run().button(key=f"runs_{RunStore(here()).list()[0].id}_evaluate").click()
    else:
        app.query_params["gallery_features"] = "classifier"
        app.run().button(key="gallery_begin").click()
    with full_disk():
        app.run()
    assert not app.exception
    assert len(app.error) == 1
    assert "could not be read or written: disk I/O error. Look whether its disk is full" in app.error[0].value
    assert [job.task for job in Jobs(here()).all()] == ["train", "train"]


@pytest.mark.usefixtures("workbench_home")
def test_an_example_that_cannot_be_begun_on_a_full_disk_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.ui.jobs.count", lambda: itertools.count(1))  # as when it looks again
    app = app_at("gallery")
    with full_disk():
        app.run()
    assert not app.exception
    assert len(app.error) == 1
    assert "could not be read or written" in app.error[0].value


def test_pages_plans_and_claims_are_imported_without_torch() -> None:
    modules = "workbench.experiment workbench.privacy " + " ".join(f"workbench.pages.{page}.page" for page in PAGES)
    code = f"import sys, {', '.join(modules.split())}\nfrom workbench import experiment, datasets\n"
    code += "experiment.make_plan('dp-merf', datasets.facts('digits'), epsilon=1.0)\nprint('torch' in sys.modules, 'opacus' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["False", "False"]


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


def test_the_pages_choose_among_a_run_s_sets_and_show_what_was_made_elsewhere(open_page: OpenPage, home_with_runs: object) -> None:
    run = RunStore(here()).list()[0]
    threes = request_samples(here(), run.id, labels=["3"])
    threes.records(5)
    label = f"{threes.id} · classes 3"
    gallery = open_page("gallery", gallery_run=run.id, gallery_samples=label)
    gallery.button(key="gallery_begin").click().run()
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
    shown.button(key="gallery_begin").click().run()
    assert len([element for element in shown.markdown if element.value.startswith("**Sample")]) == 5


def test_a_method_on_a_table_has_its_pages_by_registry_alone(
    open_page: OpenPage, train_here: TrainHere, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "odd-marginals"
    monkeypatch.setitem(METHODS, name, odd(name))
    monkeypatch.setitem(DATASETS, "toy-table", DatasetEntry("A table.", "toy-table", lambda _: toy_table().facts, lambda _: toy_table()))
    budget = open_page("budget", budget_dataset="toy-table", budget_method=name)
    assert budget.selectbox(key="budget_method").value == name
    assert all(not measure.startswith("accuracy_cnn") for measure in budget.selectbox(key="budget_measure").options)
    run = train_here(name, toy_table())
    gallery = open_page("gallery", gallery_run=run.id)
    gallery.button(key="gallery_begin").click().run()
    assert not pictures(gallery)
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
    monkeypatch.setitem(DATASETS, "toy-table", DatasetEntry("A table.", "toy-table", lambda _: dataset.facts, lambda _: dataset))
    chosen = {"dataset": "toy-table", "method": name, "epsilon": "10.0"}
    shown = {page: open_page(page, **{f"{page}_{key}": value for key, value in chosen.items()}) for page in ("budget", "train")}
    run = train_here(name, dataset)
    sample_set(here(), run.id).records()
    charged = Ledger(here().ledger).total("toy-table", delta=run.delta).epsilon
    assert charged == RunStore(here()).get(run.id).bound.epsilon > run.bound.epsilon
    for app in shown.values():
        assert f"with the run's own 240 samples the bound is epsilon {charged:.4g}" in "\n".join(str(item.value) for item in app.warning)
        (releases,) = [frame.value for frame in opened(app).dataframe if "Spends" in frame.value]
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
    assert ("Not protected: PAC noise" in text_of(train)) == (name == "odd-guided")
    run = train_here(kind.name, load("digits"), epsilon)
    gallery = open_page("gallery", gallery_run=run.id)
    if epsilon is None:  # its sampler pays
        assert "touches private records" in text_of(gallery)
    assert not pictures(gallery)
    gallery.button(key="gallery_begin").click().run()
    assert pictures(gallery)
    assert kind.name in text_of(open_page("runs", runs_chosen=run_label(run)))
