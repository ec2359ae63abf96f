"""A home with two finished runs, made once a session and copied for each test, and pages that start from it."""

import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from streamlit.testing.v1 import AppTest

from workbench import experiment
from workbench.runs import local, worker
from workbench.runs.results import evaluate_run, sample_run
from workbench.runs.store import RunStore
from workbench.runs.values import Run
from workbench.training.state import PerformanceSettings
from workbench.ui.rehearsal import Expectation, StagePace

APP = Path(__file__).parents[2] / "app.py"
TINY = {"num_features": 200, "steps": 30, "batch_size": 50}
NUM_SAMPLES = 40


def launch_tiny(epsilon: float, example: bool = False) -> Run:
    """A finished DP-MERF run of a second on digits, sampled and measured."""
    dataset = experiment.load("digits")
    plan = experiment.make_plan("dp-merf", dataset.facts, epsilon=epsilon, overrides=TINY)
    settings = PerformanceSettings(device="cpu", num_threads=1)
    run = local.register(plan, "digits", performance=settings, example=example, loaded=dataset)
    RunStore().change(run.id, {"queued"}, "started", state="starting", attempt=1)
    worker.main(run.id)
    run = RunStore().get(run.id)
    assert run.state == "done", run.error
    sample_run(run.id, NUM_SAMPLES)
    evaluate_run(run.id, NUM_SAMPLES, metrics=["accuracy_logistic_regression", "nearer_to_training"])
    return run


@pytest.fixture(scope="session")
def prepared_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workbench home with an example run at epsilon 10 and a run at epsilon 1."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("prepared") / "home"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_HOME", str(folder))
        patch.delenv("WORKBENCH_DATA", raising=False)
        handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
        launch_tiny(10.0, example=True)
        launch_tiny(1.0)
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return folder


@pytest.fixture(autouse=True)
def no_rehearsal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Expected time and memory as if they had been measured; tests/ui holds the measurement itself."""
    found = Expectation(stages=(StagePace(stage="training", steps=100, seconds_per_step=2.0),), peak_bytes=2**30)
    monkeypatch.setattr("workbench.ui.expected._rehearse", lambda *_: found)


@pytest.fixture
def home_with_runs(prepared_home: Path, workbench_home: Path) -> Path:
    """This test's own copy of the prepared home."""
    shutil.copytree(prepared_home, workbench_home, dirs_exist_ok=True)
    return workbench_home


@pytest.fixture
def open_page(home_with_runs: Path) -> Callable[..., AppTest]:
    """Open a page of the app with the given query parameters."""

    def open_(page: str, **parameters: str) -> AppTest:
        app = AppTest.from_file(str(APP), default_timeout=120)
        for name, value in parameters.items():
            app.query_params[name] = value
        if page != "budget":
            app.switch_page(f"workbench/pages/{page}.py")
        app.run()
        assert not app.exception, app.exception[0].message
        return app

    return open_
