"""The contract of launchers: a run that is cancelled or killed goes on to the weights of one that nothing happened to."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import psutil
import pytest
import torch
from support.clusters import has_ray, has_slurm, ray, slurm, until
from support.homes import here
from support.launchers import Elsewhere
from support.submitit_launcher import Submitit

from workbench import datasets, experiment, runs
from workbench.jobs import control
from workbench.jobs.launchers import LAUNCHERS, Resources
from workbench.privacy.spending.ledger import Ledger
from workbench.runs.folder import RunFolder
from workbench.runs.run import Run
from workbench.runs.store import RunStore
from workbench.training.state import PerformanceSettings, load_saved

DEPENDS = [
    "workbench/jobs/**",
    *("workbench/tasks/**", "!workbench/tasks/example.py"),
    "workbench/runs/fitting.py",
    "workbench/runs/account.py",
    "tests/support/clusters/**",
    "tests/support/launchers.py",
    "tests/support/submitit_launcher.py",
]
SPEED = PerformanceSettings(device="cpu", num_threads=1)
SMALL = {"training.steps": 150, "training.batch_size": 64, "network.base_channels": 8, "network.num_res_blocks": 1}
CONTRACT = {"elsewhere": Elsewhere, "submitit": Submitit}
CLUSTERS: dict[str, tuple[Callable[[], bool], Callable[[], AbstractContextManager[object]]]] = {
    "slurm": (has_slurm, slurm),
    "ray": (has_ray, ray),
}


@pytest.fixture(params=["local", *CONTRACT, *CLUSTERS])
def launcher(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    torch.set_num_threads(1)
    monkeypatch.setenv("WORKBENCH_CHECKPOINT_SECONDS", "0.5")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    if request.param in CONTRACT:
        monkeypatch.setitem(LAUNCHERS, request.param, CONTRACT[request.param]())
    is_there, cluster = CLUSTERS.get(request.param, (lambda: True, nullcontext))
    if not is_there():
        pytest.skip(f"{request.param} cannot be set up on this machine")
    with cluster():
        yield request.param


def launched(on: str, method: str = "nonprivate", resources: Resources | None = None, **settings: Any) -> Run:
    plan = experiment.make_plan(method, datasets.load("digits").facts, settings=SMALL | settings)
    return runs.launch(here(), plan, "digits", performance=SPEED, seed=5, on=on, resources=resources)


def now(run: Run) -> Run:
    return RunStore(here()).get(run.id)


def model(run: Run) -> dict[str, Any]:
    modules = load_saved(RunFolder(here(), run.id).model)["modules"]
    return {f"{name}.{key}": value for name, module in modules.items() for key, value in module.items()}


def worker_of(run: Run) -> psutil.Process:
    """The process that works on a run, whoever started it."""
    words = ("workbench.tasks.away", "workbench.tasks.worker")
    found = [(one, one.info["cmdline"] or []) for one in psutil.process_iter(["cmdline"])]
    mine = [one for one, line in found if len(line) > 3 and line[2] in words and run.id in " ".join(line)]
    assert len(mine) == 1, mine
    return mine[0]


@pytest.mark.slow(depends=DEPENDS)
def test_runs_end_as_if_nothing_had_happened(launcher: str) -> None:
    killed, cancelled = launched(launcher), launched(launcher)
    until(lambda: now(killed).step > 20, "20 steps")
    os.kill(worker_of(killed).pid, signal.SIGKILL)
    until(lambda: now(killed).state == "lost", "the killed run to be lost")
    runs.resume(here(), killed.id)
    until(lambda: now(cancelled).step > 20, "20 steps of the next")
    assert control.cancel(here(), cancelled.id).state == "cancelled"
    assert Ledger(here().ledger).spent(cancelled.id)[0].charged < 150
    runs.resume(here(), cancelled.id)
    alone = launched("local")
    for run in (killed, cancelled, alone):
        assert runs.wait(here(), run.id, 240).state == "done", now(run).error
    for run in (killed, cancelled):
        assert all(torch.equal(model(run)[name], value) for name, value in model(alone).items())
        assert [(one.charged, one.charged_again) for one in Ledger(here().ledger).spent(run.id)] == [(150, 0)]


@pytest.mark.slow(depends=[*DEPENDS, "workbench/training/**"])
def test_two_processes_of_torchrun_share_each_batch_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LAUNCHERS, "elsewhere", Elsewhere())
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    torch.set_num_threads(1)
    fields = {"training.steps": 20, "training.noise_multiplier": 2.0, "pretraining.records": 50, "pretraining.steps": 3}
    run = launched("elsewhere", "dp-sgd-dm", Resources(gpus=2), **fields)
    alone = launched("local", "dp-sgd-dm", **fields)
    for one in (run, alone):
        assert runs.wait(here(), one.id, 240).state == "done", RunFolder(here(), one.id).log_tail()
    assert now(run).charged == now(alone).charged
    assert all(torch.allclose(model(run)[name], value, atol=1e-5) for name, value in model(alone).items())
