"""The job of a sweep: it begins the sweep's runs through the queue, waits for them, measures each; and a sweep as Python has it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from workbench.datasets.reference import DatasetRef
from workbench.errors import WorkbenchError
from workbench.jobs import control
from workbench.jobs.heartbeat import Progress, StoppedError, StopSignal
from workbench.jobs.job import WORKSPACE, Job, Terms
from workbench.jobs.launchers import Resources, chosen_launcher
from workbench.jobs.lifecycle import Jobs
from workbench.jobs.queue.passing import submit
from workbench.recipes.lines import Recipe
from workbench.sweeps.children import SweepAttempt
from workbench.sweeps.grid import Grid
from workbench.sweeps.kept import LETTERS, KeptSweep, identity
from workbench.sweeps.price import Price, price
from workbench.sweeps.results import frame, picture, table
from workbench.tasks.base import Task
from workbench.tasks.measuring import Evaluate
from workbench.workspace import Workspace

if TYPE_CHECKING:
    import pandas as pd


class Sweeping(Task):
    """Carries out a sweep. It takes no place of the queue: its runs and their measures do, and it only waits for them."""

    name: ClassVar[str] = "sweep"
    terms: ClassVar[Terms] = Terms(title="sweep", cpu_share=0, grace_seconds=60.0)  # planning many lines may take so long

    def check(self, workspace: Workspace, owner: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """The identity of a kept sweep, by which it is found."""
        if owner != WORKSPACE or set(request) != {"sweep"}:
            raise WorkbenchError(f"Expected the identity of a sweep, got {dict(request)}. `workbench sweep` starts one.")
        return dict(request)

    def register(self, workspace: Workspace, owner: str, request: Mapping[str, Any]) -> Job:
        """The job has the sweep's id."""
        full_request = self.check(workspace, owner, request)
        return Jobs(workspace).register(self.name, owner, full_request, self.terms, job_id=full_request["sweep"][:LETTERS])

    def work(self, workspace: Workspace, job: Job, progress: Progress, stop: StopSignal) -> dict[str, Any]:
        """From wherever it stands; cancelled, what it has begun is cancelled too."""
        self.announce(workspace, job, progress, stop)

        def tell(share: float, words: str) -> None:
            progress.step, progress.stage = round(min(1.0, share) * job.steps), words
            if stop:
                raise StoppedError

        carrying = SweepAttempt(KeptSweep.read(workspace, job.id), lambda run, request: Evaluate().begin(workspace, run, request), tell)
        try:
            carrying.carry_out()
        except StoppedError:
            if not stop.taken_over:
                carrying.cancel()
            raise
        progress.step = job.steps
        return {"state": "done"}


SWEEPING = Sweeping()


def find_job(workspace: Workspace, recipe: Recipe) -> Job | None:
    """The job of a sweep, at work or ended, or None."""
    return SWEEPING.find(workspace, WORKSPACE, {"sweep": identity(recipe)})


def begin(workspace: Workspace, recipe: Recipe, on: str | None = None, resources: Resources | None = None) -> Job:
    """Have a sweep carried out; whoever asks for the same shares it, and one that has ended goes on with what is missing.

    Runs that it launches from now on train by the launcher `on`, which is asked for `resources`; they are measured here.
    """
    KeptSweep.keep(workspace, recipe).note_launcher(chosen_launcher(on), resources or Resources())
    return submit(workspace, SWEEPING.register(workspace, WORKSPACE, {"sweep": identity(recipe)}).id)


def forget(workspace: Workspace, sweep_id: str) -> None:
    """Remove a sweep that is not at work, with its job and results; its runs stay, and so does what they spent."""
    kept = KeptSweep.read(workspace, sweep_id)
    if job := find_job(workspace, kept.recipe):
        Jobs(workspace).forget(job.id)  # refuses one at work
    kept.forget()


@dataclass(frozen=True)
class Sweep:
    """A sweep as notebooks have it: nothing starts before `begin`, and `price` says what it will cost."""

    workspace: Workspace
    recipe: Recipe

    @property
    def id(self) -> str:
        """What it is called by the commands: `workbench sweeps ID`."""
        return identity(self.recipe)[:LETTERS]

    @cached_property
    def price(self) -> Price:
        """Runs, time, what all of them spend together and what choosing the best costs, as it was when first looked at."""
        return price(self.workspace, self.recipe)

    @property
    def job(self) -> Job | None:
        """The job that carries it out, at work or ended; None before `begin`."""
        return find_job(self.workspace, self.recipe)

    def begin(self, on: str | None = None, resources: Resources | None = None) -> Job:
        """Have it carried out, or go on, by the launcher `on`; returns at once. It spends what `price` says."""
        return begin(self.workspace, self.recipe, on, resources)

    def wait(self, timeout_seconds: float | None = None) -> "Sweep":
        """Return once it has ended, or after `timeout_seconds`; WorkbenchError where runs of it have failed."""
        job = self.begin() if self.job is None else self.job
        job = control.wait(self.workspace, job.id, timeout_seconds)
        if not job.is_active and job.state != "done":
            raise WorkbenchError(f"The sweep ({job.id}) is {job.state}. {job.error or ''}".rstrip())
        return self

    @property
    def results(self) -> list[dict[str, Any]]:
        """What was measured so far, as a recipe's results."""
        folder = self.workspace.sweeps / self.id
        return KeptSweep.read(self.workspace, self.id).results() if folder.exists() else []

    def frame(self) -> "pd.DataFrame":
        """What was measured so far, a row a run and measure."""
        return frame(self.recipe, self.results)

    def table(self) -> list[dict[str, Any]]:
        """Mean and spread of every line and measure, with epsilon 0 and the ceiling."""
        return table(self.results)

    def picture(self, path: Path | str) -> Path:
        """Write the picture of its first measure over the bounds, as a PNG; returns its path."""
        return picture(self.recipe, self.results, Path(path))


def sweep(
    methods: str | Sequence[str],
    dataset: DatasetRef | str | Path,
    epsilons: Sequence[float | None] | float = (None,),
    *,
    settings: Mapping[str, Sequence[Any]] | None = None,
    seeds: int | Sequence[int] = 0,
    metrics: Sequence[str] | None = None,
    title: str = "",
    workspace: Workspace | None = None,
    **others: Any,
) -> Sweep:
    """Methods x epsilons x settings x seeds; nothing starts before `.begin()` or `.wait()`, and `.price` says what that spends.

    `seeds` is a number of them from 0 on, or the seeds; none leaves each run to fresh noise (`repeats` says how often). `others` are
    further fields of `workbench.sweeps.grid.Grid`. WorkbenchError says what is wrong with a value.
    """
    grid = Grid.of(
        methods=(methods,) if isinstance(methods, str) else tuple(methods),
        dataset=dataset if isinstance(dataset, DatasetRef) else DatasetRef.parse(dataset),
        epsilons=(epsilons,) if isinstance(epsilons, float | int) else tuple(epsilons),
        settings={name: tuple(values) for name, values in (settings or {}).items()},
        seeds=tuple(range(seeds)) if isinstance(seeds, int) else tuple(seeds),
        metrics=None if metrics is None else tuple(metrics),
        **others,
    )
    return Sweep(workspace or Workspace.default(), grid.recipe(title))
