"""A home with two finished runs, made once a session and copied for each test, and pages that start from it."""

import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash
from support.homes import here
from support.launchers import Here

from workbench import experiment, runs
from workbench.datasets import Dataset
from workbench.datasets.reference import DatasetRef
from workbench.jobs.launchers import LAUNCHERS
from workbench.runs.finished import copying_run, evaluate_run, neighbours_run
from workbench.runs.pace import Line, Pace, Steps
from workbench.runs.run import Run
from workbench.runs.samples import sample_set
from workbench.runs.store import RunStore
from workbench.server.start import APP
from workbench.tasks import worker
from workbench.training.state import PerformanceSettings

TINY = {"num_features": 200, "training.steps": 30, "training.batch_size": 50}
NUM_SAMPLES = 40


def train_in_process(
    method: str, dataset: Dataset, epsilon: float | None, example: bool = False, place: DatasetRef | None = None, **overrides: Any
) -> Run:
    """A finished run, trained by the worker's own code in this process; the worker's signal handlers do not outlive it.

    `place` is where the records of `dataset` lie, if they are files of one's own.
    """
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    plan = experiment.make_plan(method, dataset.facts, epsilon=epsilon, settings=overrides)
    settings = PerformanceSettings(device="cpu", num_threads=1)
    run = runs.register(here(), plan, place or dataset.facts.name, performance=settings, example=example, loaded=dataset)
    RunStore(here()).change(run.id, {"queued"}, "started", state="starting", attempt=1)
    worker.main(here(), run.id)
    for number, handler in handlers.items():
        signal.signal(number, handler)
    run = RunStore(here()).get(run.id)
    assert run.state == "done", run.error
    return run


def measured_run(epsilon: float, example: bool = False) -> Run:
    """A finished DP-MERF run of a second on digits, sampled and measured."""
    run = train_in_process("dp-merf", experiment.load("digits"), epsilon, example, **TINY)
    sample_set(here(), run.id).records(NUM_SAMPLES)
    evaluate_run(here(), run.id, NUM_SAMPLES, metrics=["accuracy_logistic_regression", "nearer_to_training"])
    neighbours_run(here(), run.id, num_samples=NUM_SAMPLES)
    copying_run(here(), run.id, num_samples=NUM_SAMPLES)
    return run


@pytest.fixture(scope="session")
def prepared_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workbench home with an example run at epsilon 10 and a run at epsilon 1."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("prepared") / "home"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_HOME", str(folder))
        patch.delenv("WORKBENCH_DATA", raising=False)
        measured_run(10.0, example=True)
        measured_run(1.0)
    return folder


@pytest.fixture(autouse=True)
def no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """AppTest draws pages without a server, so that there is nothing to guard."""
    monkeypatch.setattr("workbench.server.start.guarded", True)


@pytest.fixture(autouse=True)
def jobs_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a page begins is done in the test's own process, by the worker's code; tests/runs has processes of their own."""
    monkeypatch.setitem(LAUNCHERS, "local", Here())


@pytest.fixture(autouse=True)
def no_rehearsal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pace as if it had been measured; tests/runs holds the measurement itself."""
    flat = Steps(points=((1.0, 2.0),))
    monkeypatch.setattr(
        "workbench.ui.expected.known_pace",
        lambda _workspace, plan, _performance: Pace(
            stages={stage.name: flat for stage in plan.stages},
            memory=Line(fixed=2.0**30, per_row=0.0),
            starting=1.0,
            device="cpu",
        ),
    )


def app_at(page: str) -> AppTest:
    """The app, not drawn yet, at a page. `AppTest.switch_page` knows scripts alone, and pages are functions."""
    app = AppTest.from_file(str(APP), default_timeout=120)
    app._page_hash = calc_hash(page)
    return app


@pytest.fixture
def home_with_runs(prepared_home: Path, workbench_home: Path) -> Path:
    """This test's own copy of the prepared home."""
    shutil.copytree(prepared_home, workbench_home, dirs_exist_ok=True)
    return workbench_home


@pytest.fixture
def train_here(home_with_runs: Path) -> Callable[..., Run]:
    """`train_here(method, dataset)`: a finished run of a registered method at epsilon 10, or another, None for none."""
    return lambda method, dataset, epsilon=10.0: train_in_process(method, dataset, epsilon)


@pytest.fixture
def open_page(home_with_runs: Path) -> Callable[..., AppTest]:
    """Open a page of the app with the given query parameters, and with parts open that are drawn once they are, by key."""

    def open_(page: str, *opened: str, **parameters: str) -> AppTest:
        app = app_at(page)
        for key in opened:
            app.session_state[key] = True
        for name, value in parameters.items():
            app.query_params[name] = value
        app.run()
        assert not app.exception, app.exception[0].message
        return app

    return open_
