"""A sweep of six runs for clusters: what is asked, and what the tests look at."""

import json
import time
from collections.abc import Callable, Sequence
from typing import Any

import psutil
import torch

import workbench
from support.clusters import until
from support.homes import here
from workbench import datasets, experiment, runs
from workbench.jobs.queue.passing import tend
from workbench.privacy.spending.ledger import Ledger
from workbench.runs.folder import RunFolder
from workbench.runs.run import Run
from workbench.runs.store import RunStore
from workbench.tasks.sweeping import Sweep
from workbench.training.state import PerformanceSettings, load_saved

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
    """As it is now."""
    return RunStore(here()).get(run.id)


def at_step(run: Run, step: int) -> Callable[[], bool]:
    """Whether it is so far."""
    return lambda: now(run).step >= step


def job_of(run: Run) -> str:
    """The engine's name of its job."""
    process = now(run).process
    assert process is not None
    return process["job"]


def workers(run: Run) -> list[psutil.Process]:
    """Its processes, whoever started them."""
    return [one for one in psutil.process_iter(["cmdline"]) if f"/{run.id}/away" in " ".join(one.info["cmdline"] or ())]


def model(run: Run) -> dict[str, Any]:
    """Its weights."""
    modules = load_saved(RunFolder(here(), run.id).model)["modules"]
    return {f"{name}.{key}": value for name, module in modules.items() for key, value in module.items()}


def reported(run: Run, number: int) -> tuple[int, dict[str, bytes]]:
    """The furthest step that a process of a run has charged, and the reports of it, which it writes as long as it may."""
    folder = RunFolder(here(), run.id).path / "away"
    rows = [json.loads(line.rpartition(" ")[0]) for line in (folder / f"{number:06d}.jsonl").read_text().splitlines()]
    return max((row.get("step", 0) for row in rows), default=0), {path.name: path.read_bytes() for path in folder.glob(f"{number:06d}.r*")}


def check_it_stops(run: Run, left: Sequence[psutil.Process]) -> None:
    """The old processes `left` of a run, suspended until another had taken over, go on: they notice, and stop."""
    far, reports = reported(run, 1)
    for one in left:
        one.resume()
    until(lambda: not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in left), "the old worker to stop", 60)
    assert reported(run, 1)[0] <= far + 1, "it charges a step before it looks, and takes none"
    assert reported(run, 1)[1] == reports, "it writes no more of how far it is"


def seconds_to_the_end(asked: Sweep, made: Sequence[Run], on: str, began: float) -> dict[str, float]:
    """Wait until all runs are done, have the sweep measure them, and check them all; the seconds since `began` for the record."""

    def all_are_over() -> bool:
        tend(here())
        return all(now(run).state == "done" for run in made)

    until(all_are_over, "all runs to end", MOST_SECONDS)
    trained = time.monotonic() - began
    until(lambda: asked.job is not None and not asked.job.is_active, "the sweep to end, with the cancelled run or without", 240)
    asked.begin(on=on)
    asked.wait(MOST_SECONDS)
    seconds = time.monotonic() - began
    assert sorted(result["run"] for result in asked.results) == sorted(run.id for run in made)
    check_all(made, on)
    assert seconds < MOST_SECONDS
    return {"six runs, all ended (s)": round(trained, 1), "and measured (s)": round(seconds, 1)}


def check_all(made: Sequence[Run], on: str) -> None:
    """All are done by the engine, no step was drawn anew, and weights are to the bit those of runs that nothing happened to."""
    charges = {stage.charged_again for run in made for stage in Ledger(here().ledger).spent(run.id)}
    assert charges == {0}, "every step was repeated bit for bit"
    for run, seed in zip(made, SEEDS, strict=True):
        other = alone(seed)
        assert (other.state, now(run).launcher) == ("done", on)
        mine = model(run)
        assert all(torch.equal(mine[name], value) for name, value in model(other).items()), f"seed {seed}"
