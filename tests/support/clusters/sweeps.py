"""A sweep of six runs for clusters: what is asked, and what the tests look at."""

import json
from collections.abc import Callable
from typing import Any

import psutil
import torch

import workbench
from support.homes import here
from workbench import datasets, experiment, runs
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


def check_all(made: list[Run], on: str) -> None:
    """All are done by the engine, no step was drawn anew, and weights are to the bit those of runs that nothing happened to."""
    charges = {stage.charged_again for run in made for stage in Ledger(here().ledger).spent(run.id)}
    assert charges == {0}, "every step was repeated bit for bit"
    for run, seed in zip(made, SEEDS, strict=True):
        other = alone(seed)
        assert (other.state, now(run).launcher) == ("done", on)
        mine = model(run)
        assert all(torch.equal(mine[name], value) for name, value in model(other).items()), f"seed {seed}"
