"""A home with two finished runs, made once a session and copied for each test, and pages that start from it."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from streamlit.testing.v1 import AppTest

from workbench import experiment
from workbench.runs import local
from workbench.runs.results import evaluate_run, sample_run
from workbench.runs.values import Run
from workbench.training.state import PerformanceSettings

APP = Path(__file__).parents[2] / "app.py"
TINY = {"num_features": 200, "steps": 30, "batch_size": 50}
NUM_SAMPLES = 40


def launch_tiny(epsilon: float, example: bool = False) -> Run:
    """A finished DP-MERF run of a second on digits, sampled and measured."""
    dataset = experiment.load("digits")
    plan = experiment.make_plan("dp-merf", dataset.facts, epsilon=epsilon, overrides=TINY)
    settings = PerformanceSettings(device="cpu", num_threads=1)
    run = local.wait(local.launch(plan, "digits", performance=settings, example=example, loaded=dataset).id, timeout_seconds=120)
    assert run.state == "done", run.error
    sample_run(run.id, NUM_SAMPLES)
    evaluate_run(run.id, NUM_SAMPLES, metrics=["accuracy_logistic_regression", "nearer_to_training"])
    return run


@pytest.fixture(scope="session")
def prepared_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A workbench home with an example run at epsilon 10 and a run at epsilon 1."""
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("prepared") / "home"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_HOME", str(folder))
        patch.delenv("WORKBENCH_DATA", raising=False)
        launch_tiny(10.0, example=True)
        launch_tiny(1.0)
    yield folder


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
