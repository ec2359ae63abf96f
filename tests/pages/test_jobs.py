"""Work that the pages ask for: begun as a job, found again by every page that looks, told when it stopped or died."""

import ast
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from pages.reading import pictures
from streamlit.testing.v1 import AppTest
from support.homes import here
from support.launchers import Here, Nowhere

import workbench
from workbench import tasks
from workbench.jobs.job import Job
from workbench.jobs.launchers import LAUNCHERS
from workbench.jobs.lifecycle import Jobs
from workbench.runs import finished
from workbench.runs.store import RunStore

OpenPage = Callable[..., AppTest]
WORK = {"evaluate", "evaluate_run", "neighbours_run", "copying_run", "find_neighbours", "feature_space", "records", "public_records", "fit"}


def newest() -> str:
    return RunStore(here()).list()[0].id


def jobs() -> list[Job]:
    return [job for job in Jobs(here()).all() if job.task != "train"]


def words(app: AppTest) -> str:
    elements = (*app.warning, *app.caption, *app.error, *app.markdown)
    return "\n".join([*(str(element.value) for element in elements), *(bar.proto.text for bar in app.get("progress"))])


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs stand at their start."""
    monkeypatch.setitem(LAUNCHERS, "local", Nowhere())


def test_no_page_does_such_work_itself() -> None:
    folder = Path(workbench.__file__).parent
    for path in [*(folder / "pages").rglob("*.py"), *(folder / "ui").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = node.func if isinstance(node, ast.Call) else None
            name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
            assert name not in WORK or (path.stem, name) == ("gallery", "records"), f"{path} calls {name}"


@pytest.mark.usefixtures("nowhere")
def test_two_tabs_share_an_evaluation_and_a_reload_finds_it(open_page: OpenPage) -> None:
    run = newest()
    tabs = [open_page("runs"), open_page("runs")]
    for app in tabs:
        app.button(key=f"runs_{run}_evaluate").click().run()
        assert not app.exception
        assert not app.error
    (job,) = jobs()
    assert (job.task, job.owner, job.state, job.attempt) == ("evaluate", run, "starting", 1)
    assert "Evaluation: starting, 0 %" in words(open_page("runs"))
    app = open_page("runs")
    app.button(key=f"runs_{run}_{job.id}_cancel").click().run()
    assert Jobs(here()).get(job.id).state == "cancelling"


def test_a_job_that_died_says_so_and_goes_on_when_asked(open_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> None:
    run = newest()
    monkeypatch.setitem(LAUNCHERS, "local", Nowhere())
    request = {"num_samples": 20, "metrics": ["nearer_to_training"]}
    job = tasks.begin(here(), "evaluate", run, request)
    assert job.process is not None
    Jobs(here()).change(job.id, {"starting"}, "killed", process={**job.process, "started": "1"})
    app = open_page("runs")
    assert f"The evaluation ({job.id}) has died." in words(app)
    assert "ended without a word" in words(app)
    monkeypatch.setitem(LAUNCHERS, "local", Here())
    app.button(key=f"runs_{run}_{job.id}_resume").click().run()
    assert not app.exception
    assert (Jobs(here()).get(job.id).state, Jobs(here()).get(job.id).attempt) == ("done", 2)
    assert job.id not in words(app)


@pytest.mark.usefixtures("nowhere")
def test_the_gallery_begins_a_search_once_and_lets_a_stopped_one_rest(open_page: OpenPage, monkeypatch: pytest.MonkeyPatch) -> None:
    run = newest()
    address = {"gallery_run": run, "gallery_features": "classifier"}
    app = open_page("gallery", **address)
    assert jobs() == [], "a private search is asked about first"
    assert "what it finds is private" in words(app)
    app.button(key="gallery_begin").click().run()
    (job,) = jobs()
    assert job.request == {"samples": "default", "num_samples": 40, "device": None, "features": "classifier", "attribute": None, "k": 5}
    assert "Search for neighbours: starting" in words(app)
    assert not pictures(app)
    Jobs(here()).change(job.id, {"starting"}, "failed", state="failed", error="No space left on device")
    for _ in range(2):
        app = open_page("gallery", **address)
        assert f"The search for neighbours ({job.id}) has failed. No space left on device" in words(app)
    assert Jobs(here()).get(job.id).attempt == 1
    monkeypatch.setitem(LAUNCHERS, "local", Here())
    app.button(key="gallery_resume").click().run()
    assert not app.exception
    assert pictures(app)
    assert {metric.label for metric in app.metric} >= {"Nearer to training than to held-out", "Privacy score", "Samples searched"}


@pytest.mark.usefixtures("nowhere")
def test_a_stopped_job_is_taken_away(open_page: OpenPage) -> None:
    run = newest()
    job = tasks.begin(here(), "evaluate", run, {})
    Jobs(here()).change(job.id, {"starting"}, "cancelled", state="cancelled")
    app = open_page("runs")
    app.button(key=f"runs_{run}_{job.id}_dismiss").click().run()
    assert not app.exception
    assert jobs() == []
    assert finished.kept_evaluation(here(), run) is not None


@pytest.mark.usefixtures("nowhere")
def test_the_gallery_takes_a_network_that_is_typed_in_never_one_of_the_address(open_page: OpenPage, tmp_path: Path) -> None:
    file = tmp_path / "mine.pt"
    torch.jit.script(torch.nn.Flatten()).save(str(file))
    app = open_page("gallery", gallery_features="a network of your own", gallery_network=str(file))
    assert any("Type where the file" in info.value for info in app.info)
    app.text_input(key="gallery_network").set_value(str(file)).run()
    app.button(key="gallery_begin").click().run()
    app.checkbox(key="gallery_network_public").check().run()
    app.button(key="gallery_begin").click().run()
    assert not app.exception
    kinds = sorted(job.request["features"].split(":")[0] for job in jobs())
    assert kinds == ["network", "public"]
    app.text_input(key="gallery_network").set_value("mine.txt").run()
    assert any("got 'mine.txt'" in error.value for error in app.error)
