"""A sweep on a real Ray cluster of two nodes, one of which is killed while its worker lives on; all end as on this machine."""

import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import psutil
import pytest
import torch
from support.clusters import RayNodes, has_ray, ray, until
from support.clusters.sweeps import MOST_SECONDS, SEEDS, at_step, check_it_stops, now, seconds_to_the_end, sweep, workers
from support.homes import here

from workbench import runs
from workbench.jobs import control
from workbench.jobs.queue.passing import tend
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
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[RayNodes]:
    if not has_ray():
        pytest.skip("Ray is not installed (pip install 'ray[default]'), or this is not root, who may make namespaces")
    monkeypatch.setenv("WORKBENCH_CHECKPOINT_SECONDS", "1")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("RAY_kill_child_processes_on_worker_exit", "false")  # with `watchdogs` gone, a worker outlives its node
    torch.set_num_threads(1)
    with ray() as nodes:
        yield nodes


def node(run: Run) -> psutil.Process | None:
    """The process of Ray that has started a run's worker."""
    above = [parent for one in workers(run) for parent in one.parents() if "raylet" in parent.name()]
    return above[0] if above else None


def is_second(process: psutil.Process | None) -> bool:
    return process is not None and "--head" not in process.cmdline()


def watchdogs() -> list[psutil.Process]:
    """Ray's processes that kill a worker once its node is gone; a worker whose node is cut off from the others goes on without."""
    return [one for one in psutil.process_iter(["cmdline"]) if "while kill -s 0" in " ".join(one.info["cmdline"] or ())]


@pytest.mark.slow(depends=DEPENDS)
def test_all_runs_end_as_on_this_machine_though_a_node_is_killed(cluster: RayNodes, figures: dict[str, Any]) -> None:
    began, asked = time.monotonic(), sweep()
    asked.begin(on="ray")
    until(lambda: len(RunStore(here()).list()) == len(SEEDS), "six runs")
    made = sorted(RunStore(here()).list(), key=lambda run: run.seed or 0)
    until(lambda: sum(now(run).state == "running" for run in made) == 2, "two nodes to work")
    working = [run for run in made if now(run).state == "running"]
    assert next(now(run).reason for run in made if now(run).state == "pending").startswith("Ray: ")
    until(lambda: any(is_second(node(run)) for run in working), "the second node to have one of them")
    orphaned = next(run for run in working if is_second(node(run)))
    cancelled = next(run for run in working if run.id != orphaned.id)

    until(at_step(cancelled, 20), "20 steps")
    assert control.cancel(here(), cancelled.id).state == "cancelled"

    until(at_step(orphaned, 20), "20 steps")
    left, second = workers(orphaned), node(orphaned)
    assert second is not None
    for one in left:
        one.suspend()  # until another has taken over
    for one in watchdogs():
        one.kill()
    os.kill(second.pid, signal.SIGKILL)
    killed = time.monotonic()
    posts = RunFolder(here(), orphaned.id).path / "away"
    cluster.join()

    def another_has_taken_over() -> bool:
        tend(here())
        return len(list(posts.glob("*.jsonl"))) > 1

    until(another_has_taken_over, "another process to take over", MOST_SECONDS)
    noticed = time.monotonic() - killed
    assert left
    assert all(one.is_running() for one in left), "the old worker lives on"
    check_it_stops(orphaned, left)
    runs.resume(here(), cancelled.id)

    figures |= seconds_to_the_end(asked, made, "ray", began)
    figures |= {"until another process had taken over (s)": round(noticed, 1)}
