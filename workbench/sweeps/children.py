"""The runs of a sweep: which there are, how the others begin in their turn, and how each is measured once it is done.

Which run is whose follows from the registry alone (plan, records, seed, performance settings), so that nothing has to be remembered: who
starts again after a kill finds what is done, what is at work and what has failed.
"""

import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from workbench.errors import WorkbenchError
from workbench.jobs import control
from workbench.jobs.job import ENDED, Job
from workbench.jobs.lifecycle import Jobs, unknown
from workbench.jobs.queue.passing import look_after
from workbench.locks import locked
from workbench.recipes.lines import Recipe
from workbench.recipes.making import PreparedLine, alike, launch_or_resume, line_values, prepare, result_of, usable
from workbench.runs.run import Run
from workbench.runs.store import RunStore
from workbench.sweeps.kept import KeptSweep
from workbench.workspace import Workspace

Measure = Callable[[str, Mapping[str, Any]], Job]  # begins the evaluation of a run
Tell = Callable[[float, str], None]  # takes the share that is done and its words, and raises where the sweep is to stop

POLL_SECONDS = 0.5
TRAINED = 0.8  # of the share of a run that is done, the part that training takes
WORDS_OF = 3  # failures that are told one by one


@dataclass
class Child:
    """A run of a sweep: its line and seed, the run that there is, the job that measures it, its result, or what went wrong."""

    setup: PreparedLine
    seed: int | None
    run: Run | None = None
    measuring_job: str = ""
    result: dict[str, Any] | None = None
    failure: str = ""
    share: float = field(default=0.0)

    @property
    def job_id(self) -> str:
        """The job that is at work for it: the one that measures it, else the one that trains it; empty before either."""
        return self.measuring_job or ("" if self.run is None else self.run.id)

    @property
    def is_over(self) -> bool:
        """Whether nothing more is to come of it in this attempt."""
        return self.result is not None or bool(self.failure)


def children(workspace: Workspace, recipe: Recipe) -> list[Child]:
    """All runs of a sweep in order, with those that there are; runs of no seed are taken each once, finished ones first.

    Lines that ask for one and the same are refused: the second run would spend what tells nothing.
    """
    place = recipe.runs[0].request.place
    if other := next((line for line in recipe.runs if line.request.place != place), None):
        raise WorkbenchError(
            f"Expected lines of one dataset, read in one way, got {place.text} for {recipe.runs[0].name!r} and {other.request.place.text} "
            f"for {other.name!r}. `workbench reproduce` carries out such a recipe."
        )
    dataset = place.load(workspace=workspace)
    lines = [prepare(line, dataset) for line in recipe.runs]
    for number, one in enumerate(lines):
        for other in lines[:number]:
            if one.plan.does_the_same_as(other.plan) and one.performance == other.performance:
                raise WorkbenchError(
                    f"Expected different plans, got the same for {other.line.name!r} and {one.line.name!r}. Leave one out."
                )
    return with_registered_runs(workspace, [Child(setup, seed) for setup in lines for seed in setup.line.all_seeds])


def with_registered_runs(workspace: Workspace, child_runs: list[Child]) -> list[Child]:
    """The children with the runs that the registry has for them now."""
    everything, used = RunStore(workspace).list(), set[str]()
    for child in child_runs:
        child.run = usable(alike(workspace, child.setup, child.seed, everything), used)
        used |= {child.run.id} if child.run else set()
    return child_runs


class SweepAttempt:
    """One attempt at a sweep: `measure` begins an evaluation through the queue, `tell` hears how far it is and raises to stop it."""

    def __init__(self, sweep: KeptSweep, measure: Measure, tell: Tell) -> None:
        self.sweep, self.workspace = sweep, sweep.workspace
        self._measure, self._tell, self._jobs = measure, tell, Jobs(sweep.workspace)

    def carry_out(self) -> None:
        """Begin what is missing or has failed, wait, and measure each run once it is done; what was measured is kept at once.

        A run that fails stops no other; once all are over, a WorkbenchError names those that failed.
        """
        self._tell(0.0, "looking for runs")
        child_runs = children(self.workspace, self.sweep.recipe)
        self._begin(child_runs)
        self._take_results(child_runs)
        while not all(child.is_over for child in child_runs):
            jobs = self._jobs.named(child.job_id for child in child_runs if not child.is_over)
            for child in child_runs:
                if not child.is_over:
                    self._look(child, jobs.get(child.job_id), child_runs)
            self._tell_how_far(child_runs)
            if not all(child.is_over for child in child_runs):
                look_after(self.workspace)
                time.sleep(POLL_SECONDS)
        self._write(child_runs)
        if failed := [child.failure for child in child_runs if child.failure]:
            more = f" And {len(failed) - WORDS_OF} more." if len(failed) > WORDS_OF else ""
            raise WorkbenchError(
                f"{len(failed)} of {len(child_runs)} runs came to no end. {' '.join(failed[:WORDS_OF])}{more} "
                "Ask for the sweep again: it goes on."
            )

    def cancel(self) -> None:
        """Ask what it has begun to stop."""
        for job_id in self.sweep.begun_jobs():
            with suppress(WorkbenchError):  # it has ended, or was removed
                control.request_cancel(self.workspace, job_id)

    def _begin(self, child_runs: list[Child]) -> None:
        """Launch what is missing and go on with what was stopped, in order; no other sweep of the home looks meanwhile."""
        with locked(self.workspace.home / "sweeps.lock"):
            with_registered_runs(self.workspace, child_runs)
            for child in child_runs:
                self._tell_how_far(child_runs)
                if child.run is not None and child.run.state not in ENDED:
                    continue
                try:
                    child.run = launch_or_resume(self.workspace, child.setup, child.seed, child.run, **self.sweep.launcher())
                    self.sweep.note_begun(child.run.id)
                except WorkbenchError as error:
                    child.failure = f"{_name(child)}: {error}"

    def _take_results(self, child_runs: Collection[Child]) -> None:
        """Results that are kept of runs that are done count for them."""
        kept = {(result["name"], result["run"]): result for result in self.sweep.results()}
        for child in child_runs:
            if child.run is not None and child.run.state == "done":
                child.result = kept.get((child.setup.line.name, child.run.id))

    def _look(self, child: Child, job: Job | None, child_runs: list[Child]) -> None:
        """Where a child stands now, given its job: in training, in measuring, or over."""
        assert child.run is not None  # or it would have failed
        try:
            if job is None:
                raise unknown(child.job_id)
            child.share = TRAINED + (1 - TRAINED) * job.share if child.measuring_job else TRAINED * job.share
            if job.state in ENDED:
                what = f"its {job.terms.title} ({job.id})" if child.measuring_job else f"run {job.id}"
                child.failure = f"{_name(child)}: {what} {ENDED[job.state]}. {job.error or ''}".rstrip()
            elif job.state == "done" and (child.measuring_job or child.setup.line.probe is not None):  # a probe needs no measure of samples
                self._take(child, child_runs)
            elif job.state == "done":
                line = child.setup.line
                request = {"num_samples": line.num_samples, "metrics": line.metrics}
                child.measuring_job = self._measure(child.run.id, request).id
                self.sweep.note_begun(child.measuring_job)
        except WorkbenchError as error:  # removed meanwhile, or not to be measured
            child.failure = f"{_name(child)}: {error}"

    def _take(self, child: Child, child_runs: list[Child]) -> None:
        """The result of a child that has been measured, kept with those before."""
        assert child.run is not None
        run = RunStore(self.workspace).get(child.run.id)
        evaluation = line_values(self.workspace, child.setup.line, run, child.setup.samples, lambda _: None)
        child.result = result_of(self.workspace, child.setup.line, run, evaluation)
        self._write(child_runs)

    def _write(self, child_runs: Collection[Child]) -> None:
        self.sweep.write([child.result for child in child_runs if child.result is not None])

    def _tell_how_far(self, child_runs: Collection[Child]) -> None:
        done = sum(child.result is not None for child in child_runs)
        self._tell(
            sum(1.0 if child.is_over else child.share for child in child_runs) / len(child_runs),
            f"{done} of {len(child_runs)} runs measured",
        )


def _name(child: Child) -> str:
    return child.setup.line.name if child.seed is None else f"{child.setup.line.name}, seed {child.seed}"
