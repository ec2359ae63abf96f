"""Plans of seconds, and a run trained in the test's own process."""

import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from support.homes import here
from support.launchers import Line
from support.quick import QUICK

from workbench import experiment, runs
from workbench.datasets import DATASETS, load
from workbench.jobs.launchers import LAUNCHERS
from workbench.plan import Plan
from workbench.runs.run import Run
from workbench.runs.store import RunStore
from workbench.tasks import worker
from workbench.training.state import PerformanceSettings

LONGER: dict[str, dict[str, Any]] = {  # with steps enough to stop between, and nothing to calibrate
    "nonprivate": {"training.steps": 6},
    "dp-merf": {"training.steps": 6},
    "private-evolution": {"selection.noise_multiplier": 3.0},
    "dp-promise": {
        "pretraining.steps": 2,
        "phase_two.steps": 4,
        "phase_two.noise_multiplicity": 1,
        "phase_two.noise_multiplier": 3.0,
        "boundary": 900,
    },
}


@pytest.fixture(autouse=True)
def one_thread() -> None:
    """Equal environments in the test and in the workers it starts."""
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """The worker's signal handlers do not outlive a test."""
    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


@pytest.fixture
def quick_plan() -> Callable[..., Plan]:
    """`quick_plan(method, **fields)`: a plan of seconds on the digits, calibrated where that is quick."""

    def make(method: str = "dp-merf", **fields: Any) -> Plan:
        epsilon = 10.0 if method == "dp-merf" else None
        return experiment.make_plan(method, load("digits").facts, epsilon=epsilon, settings=QUICK[method] | LONGER[method] | fields)

    return make


@pytest.fixture
def queue() -> Callable[..., Run]:
    """`queue(plan, **options)`: a run that is starting, with nobody working on it yet."""

    def make(plan: Plan, **options: Any) -> Run:
        performance = PerformanceSettings(device="cpu", num_threads=1)
        place = plan.facts.name if plan.facts.name in DATASETS else "digits"
        run = runs.register(here(), plan, place, performance=performance, **options)
        return RunStore(here()).change(run.id, {"queued"}, "started", state="starting", attempt=1)

    return make


@pytest.fixture
def train_here(queue: Callable[..., Run]) -> Callable[..., Run]:
    """`train_here(plan, **options)`: a run trained by the worker's own code in this process, as it is afterwards."""

    def make(plan: Plan, **options: Any) -> Run:
        run = queue(plan, **options)
        worker.main(here(), run.id)
        return RunStore(here()).get(run.id)

    return make


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch) -> Line:
    """An engine whose jobs the test does one after the other; a checkpoint follows every step."""
    monkeypatch.setenv("WORKBENCH_CHECKPOINT_SECONDS", "0")
    monkeypatch.setattr("workbench.runs.fitting.CHECKPOINT_SHARE", 0.0)
    made = Line()
    monkeypatch.setitem(LAUNCHERS, "line", made)
    monkeypatch.setattr("workbench.jobs.queue.passing.ensure_process", lambda _: None)
    return made


@pytest.fixture
def sent(quick_plan: Callable[..., Plan], line: Line) -> Callable[..., Run]:
    """`sent(method, **options)`: a run in the line of an engine."""

    def make(method: str = "dp-merf", **options: Any) -> Run:
        values: dict[str, Any] = {"seed": 3, "performance": PerformanceSettings(device="cpu", num_threads=1)} | options
        return runs.launch(here(), quick_plan(method), "digits", on="line", **values)

    return make
