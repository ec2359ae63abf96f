"""From a line to its result: which run is the line's, how it begins or goes on, and what is measured of it."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.jobs.job import ACTIVE, ENDED
from workbench.plan import Plan
from workbench.recipes.lines import RecipeRun
from workbench.runs.run import Run
from workbench.runs.samples.request import SamplesRequest
from workbench.serialization import jsonable
from workbench.workspace import Workspace

if TYPE_CHECKING:
    from workbench.datasets import Dataset
    from workbench.training.state import PerformanceSettings

Progress = Callable[[float], None]


@dataclass(frozen=True)
class PreparedLine:
    """A line with its records and its plan: what tells its runs from others."""

    line: RecipeRun
    dataset: "Dataset"
    plan: Plan
    performance: "PerformanceSettings"

    @property
    def samples(self) -> SamplesRequest:
        """Which set of samples of its runs is measured."""
        return self.line.samples(self.plan)


def prepare(line: RecipeRun, dataset: "Dataset") -> PreparedLine:
    """The line planned for `dataset`, which it names."""
    from workbench import experiment
    from workbench.training.state import PerformanceSettings

    return PreparedLine(line, dataset, experiment.make_plan(line.request, dataset.facts), PerformanceSettings.parse(line.performance))


def alike(workspace: Workspace, setup: PreparedLine, seed: int | None, among: Sequence[Run] | None = None) -> list[Run]:
    """The runs of the line's plan, records, canaries and performance settings at `seed`, newest first: a run's identity.

    `among` saves listing all runs again.
    """
    from workbench.runs.store import RunStore

    data = (setup.dataset.fingerprint(workspace.key), seed, setup.line.audit)
    runs = RunStore(workspace).list(method=setup.plan.method) if among is None else among
    candidates = [run for run in runs if (run.fingerprint, run.seed, run.audit) == data]
    return [run for run in candidates if run.plan.does_the_same_as(setup.plan) and _performance(setup, run) == setup.performance]


def usable(runs: Sequence[Run], used: Collection[str] = ()) -> Run | None:
    """The oldest finished run, else the oldest that goes on by itself, else the oldest to go on with, else None; never one of `used`."""
    free = [run for run in runs if run.id not in used]
    for states in ({"done"}, ACTIVE, ENDED.keys()):
        matches = [run for run in free if run.state in states]
        if matches:
            return matches[-1]
    return None


def launch_or_resume(workspace: Workspace, setup: PreparedLine, seed: int | None, run: Run | None, **where: Any) -> Run:
    """The run, launched where there is none, gone on with where it was stopped; it trains in its turn. Returns at once.

    `where` are `on` and `resources` of `runs.launch`.
    """
    from workbench import runs

    if run is None:
        how: dict[str, Any] = {"performance": setup.performance, "seed": seed, "audit": setup.line.audit}
        return runs.launch(workspace, setup.plan, loaded=setup.dataset, **how, **where)
    if run.state in ENDED:
        runs.resume(workspace, run.id, on=where.get("on"))
    return run


def line_values(workspace: Workspace, line: RecipeRun, run: Run, samples: SamplesRequest, progress: Progress) -> dict[str, Any]:
    """What the line asks of its finished run: what a probe finds of the records, else measures of the samples."""
    from workbench.runs import finished
    from workbench.runs.samples.drawn import RunSamples

    if line.probe is not None:
        results = line.probe.results(workspace, run, line.metrics or (), line.num_samples)
        return {"run": run.id, "samples": line.samples_key(samples), "results": jsonable(results)}
    RunSamples(workspace, run, samples).begin()
    judged: dict[str, Any] = {"attribute": line.attribute, "features": line.features}
    return finished.evaluate_run(workspace, run.id, line.num_samples, metrics=line.metrics, progress=progress, samples=samples.id, **judged)


def result_of(workspace: Workspace, line: RecipeRun, run: Run, evaluation: dict[str, Any]) -> dict[str, Any]:
    """One result of a recipe, of a run that has been measured."""
    from workbench.runs import audits

    summary = _run_values(workspace, run.id) | ({} if line.probe is None else {"bound": jsonable(line.probe.bound(run))})
    audit = {} if line.audit is None else {"audit": jsonable(audits.audit_run(workspace, run.id))}
    return {"name": line.name, "method": line.method, **summary, "evaluation": evaluation, **audit}


def _run_values(workspace: Workspace, run_id: str) -> dict[str, Any]:
    """What a result says of its run, once its samples are drawn: the numbers of the plan, times, memory, environments."""
    from workbench.runs.folder import RunFolder
    from workbench.runs.store import RunStore

    run, folder = RunStore(workspace).get(run_id), RunFolder(workspace, run_id)
    values = {
        "run": run.id,
        "seed": run.seed,
        "claim": run.claim,
        "bound": run.bound,
        "seconds": run.seconds_running,
        "drawing_seconds": folder.drawing_seconds(),
        "peak_bytes": folder.peak_bytes(),
        "environments": folder.environments(),
    }
    return jsonable(values)


def _performance(setup: PreparedLine, run: Run) -> "PerformanceSettings":
    return type(setup.performance).model_validate(run.performance)
