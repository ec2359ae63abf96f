"""A sweep on a real Slurm of two nodes: jobs cancelled, requeued, their node down, their daemon killed; all end as on this machine."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from support.clusters import has_slurm, slurm, until
from support.clusters.sweeps import SEEDS, at_step, check_it_stops, job_of, now, seconds_to_the_end, sweep, workers
from support.homes import here

from workbench import runs
from workbench.jobs import control
from workbench.runs.folder import RunFolder
from workbench.runs.run import Run
from workbench.runs.store import RunStore

DEPENDS = [
    *(
        "workbench/jobs/**",
        "workbench/tasks/**",
        "!workbench/tasks/example.py",
        "workbench/sweeps/**",
        "workbench/privacy/spending/**",
        "tests/support/clusters/**",
    ),
    *("workbench/runs/fitting.py", "workbench/runs/account.py", "workbench/runs/launching.py", "workbench/runs/folder.py"),
]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    if not has_slurm():
        pytest.skip("Slurm is not installed: apt-get install slurm-wlm munge")
    monkeypatch.setenv("WORKBENCH_CHECKPOINT_SECONDS", "1")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    torch.set_num_threads(1)
    with slurm() as folder:
        yield folder


def scontrol(*words: str) -> str:
    return subprocess.run(["scontrol", *words], check=True, capture_output=True, text=True).stdout


def node(run: Run) -> str:
    found = subprocess.run(["squeue", "-h", "-t", "all", "-j", job_of(run), "-o", "%N"], check=True, capture_output=True, text=True)
    return found.stdout.strip()


def daemon(name: str) -> psutil.Process:
    found = [
        one for one in psutil.process_iter(["cmdline"]) if (one.info["cmdline"] or [])[:1] == ["slurmd"] and name in one.info["cmdline"]
    ]
    return found[0]


def start_now(run: Run) -> None:
    """Not after the two minutes that Slurm lets a requeued job wait."""
    until(lambda: "PENDING" in scontrol("show", "job", job_of(run)), "the requeued job to wait")
    scontrol("update", f"JobId={job_of(run)}", "StartTime=now")


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
    scontrol("requeue", job_of(requeued))
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
        scontrol("hold", job_of(run))  # one node is left, and the orphan's run is to have it
    start_now(orphaned)
    posts = RunFolder(here(), orphaned.id).path / "away"
    until(lambda: len(list(posts.glob("*.jsonl"))) > 1, "another process to take over", 240)
    check_it_stops(orphaned, left)
    for run in others:
        scontrol("release", job_of(run))

    for run in (requeued, downed):
        if now(run).state == "pending":
            start_now(run)
    runs.resume(here(), cancelled.id)

    figures |= seconds_to_the_end(asked, made, "slurm", began)
    figures |= {"until the job of a killed daemon was requeued (s)": round(noticed, 1)}
