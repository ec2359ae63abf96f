"""A sweep on a real Slurm of two nodes: jobs cancelled, requeued, their node down, their daemon killed; all end as on this machine."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from support.clusters import has_slurm, slurm, until
from support.homes import here

import workbench
from workbench import datasets, experiment, runs
from workbench.jobs import control
from workbench.jobs.queue.passing import tend
from workbench.privacy.spending.ledger import Ledger
from workbench.runs.folder import RunFolder
from workbench.runs.run import Run
from workbench.runs.store import RunStore
from workbench.tasks.sweeping import Sweep
from workbench.training.state import PerformanceSettings, load_saved

DEPENDS = [
    *("workbench/jobs/**", "workbench/tasks/**", "workbench/sweeps/**", "workbench/privacy/spending/**", "tests/support/clusters/**"),
    *("workbench/runs/fitting.py", "workbench/runs/account.py", "workbench/runs/launching.py", "workbench/runs/folder.py"),
]
SPEED = PerformanceSettings(device="cpu", num_threads=1)
SMALL = {
    "training.steps": 400,
    "training.batch_size": 64,
    "network.base_channels": 8,
    "network.num_res_blocks": 1,
    "sampler.num_inference_steps": 4,
}
SEEDS = range(6)
MOST_SECONDS = 480.0


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    if not has_slurm():
        pytest.skip("Slurm is not installed: apt-get install slurm-wlm munge")
    monkeypatch.setenv("WORKBENCH_CHECKPOINT_SECONDS", "1")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    torch.set_num_threads(1)
    with slurm() as folder:
        yield folder


def sweep() -> Sweep:
    """A run a seed, each measured by one measure here."""
    settings, speed = {name: [value] for name, value in SMALL.items()}, {"device": "cpu", "num_threads": 1}
    given: dict[str, Any] = {"metrics": ["accuracy_logistic_regression"], "num_samples": 50, "performance": speed}
    return workbench.sweep("nonprivate", "digits", settings=settings, seeds=len(SEEDS), **given)


def alone(seed: int) -> Run:
    """The same run by the local launcher, once it has ended."""
    plan = experiment.make_plan("nonprivate", datasets.load("digits").facts, settings=SMALL)
    return runs.wait(here(), runs.launch(here(), plan, "digits", performance=SPEED, seed=seed, on="local").id, 300)


def now(run: Run) -> Run:
    return RunStore(here()).get(run.id)


def at_step(run: Run, step: int) -> Callable[[], bool]:
    return lambda: now(run).step >= step


def scontrol(*words: str) -> str:
    return subprocess.run(["scontrol", *words], check=True, capture_output=True, text=True).stdout


def number(run: Run) -> str:
    process = now(run).process
    assert process is not None
    return process["job"]


def node(run: Run) -> str:
    found = subprocess.run(["squeue", "-h", "-t", "all", "-j", number(run), "-o", "%N"], check=True, capture_output=True, text=True)
    return found.stdout.strip()


def workers(run: Run) -> list[psutil.Process]:
    return [one for one in psutil.process_iter(["cmdline"]) if f"/{run.id}/away" in " ".join(one.info["cmdline"] or ())]


def daemon(name: str) -> psutil.Process:
    found = [
        one for one in psutil.process_iter(["cmdline"]) if (one.info["cmdline"] or [])[:1] == ["slurmd"] and name in one.info["cmdline"]
    ]
    return found[0]


def model(run: Run) -> dict[str, Any]:
    modules = load_saved(RunFolder(here(), run.id).model)["modules"]
    return {f"{name}.{key}": value for name, module in modules.items() for key, value in module.items()}


def reported(run: Run, number: int) -> tuple[int, dict[str, bytes]]:
    """The furthest step that a process of a run has charged, and the reports of it, which it writes as long as it may."""
    folder = RunFolder(here(), run.id).path / "away"
    rows = [json.loads(line.rpartition(" ")[0]) for line in (folder / f"{number:06d}.jsonl").read_text().splitlines()]
    return max((row.get("step", 0) for row in rows), default=0), {path.name: path.read_bytes() for path in folder.glob(f"{number:06d}.r*")}


def start_now(run: Run) -> None:
    """Not after the two minutes that Slurm lets a requeued job wait."""
    until(lambda: "PENDING" in scontrol("show", "job", number(run)), "the requeued job to wait")
    scontrol("update", f"JobId={number(run)}", "StartTime=now")


@pytest.mark.slow(depends=DEPENDS)
def test_whatever_happens_to_jobs_and_nodes_all_runs_end_as_on_this_machine(cluster: Path, figures: dict[str, Any]) -> None:
    began, asked = time.monotonic(), sweep()
    asked.begin(on="slurm")
    until(lambda: len(RunStore(here()).list()) == len(SEEDS), "six runs")
    made = sorted(RunStore(here()).list(), key=lambda run: run.seed or 0)
    assert [run.seed for run in made] == list(SEEDS)
    until(lambda: now(made[0]).state == "running", "the first to run")
    assert "pending" in {now(run).state for run in made}, "two nodes, six jobs"
    assert next(now(run).reason for run in made if now(run).state == "pending").startswith("Slurm: ")
    cancelled, requeued, downed, orphaned = made[0], made[1], made[2], made[3]

    until(at_step(cancelled, 20), "20 steps")
    assert control.cancel(here(), cancelled.id).state == "cancelled"

    until(at_step(requeued, 20), "20 steps")
    scontrol("requeue", number(requeued))
    until(lambda: now(requeued).state == "pending", "the requeued job to wait")

    until(at_step(downed, 20), "20 steps")
    name = node(downed)
    scontrol("update", f"NodeName={name}", "State=DOWN", "Reason=test")
    until(lambda: now(downed).state == "pending", "the job of the node that is down to wait")
    scontrol("update", f"NodeName={name}", "State=RESUME")

    until(at_step(orphaned, 20), "20 steps")
    left, name = workers(orphaned), node(orphaned)
    os.kill(daemon(name).pid, signal.SIGKILL)
    for one in left:
        one.suspend()  # until another has taken over, or it would have ended before Slurm notices
    killed = time.monotonic()
    until(lambda: now(orphaned).state == "pending", "the job of the dead daemon to be requeued")
    noticed = time.monotonic() - killed
    assert left, "there is an old worker"
    assert all(one.is_running() for one in left), "it lives on"
    others = [run for run in made[4:] if now(run).state == "pending"]
    for run in others:
        scontrol("hold", number(run))  # one node is left, and the orphan's run is to have it
    start_now(orphaned)
    posts = RunFolder(here(), orphaned.id).path / "away"
    until(lambda: len(list(posts.glob("*.jsonl"))) > 1, "another process to take over", 240)
    far, reports = reported(orphaned, 1)
    for one in left:
        one.resume()
    until(lambda: not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in left), "the old worker to stop", 60)
    assert reported(orphaned, 1)[0] <= far + 1, "it charges a step before it looks, and takes none"
    assert reported(orphaned, 1)[1] == reports, "it writes no more of how far it is"
    for run in others:
        scontrol("release", number(run))

    for run in (requeued, downed):
        if now(run).state == "pending":
            start_now(run)
    runs.resume(here(), cancelled.id)

    def all_are_over() -> bool:
        tend(here())
        return all(now(run).state == "done" for run in made)

    until(all_are_over, "all runs to end", MOST_SECONDS)
    trained = time.monotonic() - began
    until(lambda: asked.job is not None and not asked.job.is_active, "the sweep to end, with the cancelled run or without", 240)
    asked.begin(on="slurm")
    asked.wait(MOST_SECONDS)
    seconds = time.monotonic() - began
    assert sorted(result["run"] for result in asked.results) == sorted(run.id for run in made)
    charges = {stage.charged_again for run in made for stage in Ledger(here().ledger).spent(run.id)}
    assert charges == {0}, "every step was repeated bit for bit"
    for run, seed in zip(made, SEEDS, strict=True):
        other = alone(seed)
        assert (other.state, now(run).launcher) == ("done", "slurm")
        left_model, right_model = model(run), model(other)
        assert all(torch.equal(left_model[name], right_model[name]) for name in right_model), f"seed {seed}"
    assert seconds < MOST_SECONDS
    figures |= {"six runs, all ended (s)": round(trained, 1), "and measured (s)": round(seconds, 1)}
    figures |= {"until the job of a killed daemon was requeued (s)": round(noticed, 1)}
