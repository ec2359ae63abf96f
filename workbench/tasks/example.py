"""A small finished run, so that no page stays empty: marked as an example, made, measured, searched for copies and audited by a task."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from workbench.errors import WorkbenchError
from workbench.jobs import control
from workbench.jobs.heartbeat import StoppedError
from workbench.jobs.job import WORKSPACE, Job, Terms
from workbench.locks import locked
from workbench.runs.run import Run
from workbench.tasks.auditing import Audit
from workbench.tasks.background import NICENESS, Background
from workbench.tasks.base import Report
from workbench.tasks.measuring import Evaluate, Neighbours
from workbench.workspace import Workspace

if TYPE_CHECKING:
    from workbench.privacy.attacks.canaries import AuditDesign

EXAMPLE_METHOD, EXAMPLE_DATASET, EXAMPLE_EPSILON = "dp-merf", "digits", 10.0
EXAMPLE_STEPS = 300
EXAMPLE_SECONDS = 300.0
CANARIES = 200


class Example(Background):
    """Makes the example run and what the tour looks at, whatever of that is not there yet, by jobs of their own."""

    name: ClassVar[str] = "example"
    terms: ClassVar[Terms] = Terms(title="example run", niceness=NICENESS, cpu_share=0)

    def carry_out(self, workspace: Workspace, job: Job, report: Report, waited: float) -> None:
        """An audit of a run of its own; then, so that pages open on it as the newest, the example, an evaluation, a search for neighbours.

        Cancelled, the job at work is cancelled too.
        """
        from workbench.runs.audits import kept_audit
        from workbench.runs.finished import kept_evaluation, kept_neighbours
        from workbench.runs.samples import sample_set

        audited = ensure_audited(workspace)
        _wait(workspace, audited.id, lambda share: report(0.2 * share))
        if kept_audit(workspace, audited.id) is None:
            auditing = Audit().begin(workspace, audited.id, {})
            _wait(workspace, auditing.id, lambda share: report(0.2 + 0.1 * share))
        run = ensure_example(workspace, wait_seconds=0)
        _wait(workspace, run.id, lambda share: report(0.3 + 0.2 * share))
        if kept_evaluation(workspace, run.id) is None:
            measuring = Evaluate().begin(workspace, run.id, {})
            _wait(workspace, measuring.id, lambda share: report(0.5 + 0.4 * share))
        if kept_neighbours(workspace, run.id, "pixels", len(sample_set(workspace, run.id).records())) is None:
            searching = Neighbours().begin(workspace, run.id, {})
            _wait(workspace, searching.id, lambda share: report(0.9 + 0.1 * share))


EXAMPLE = Example()


def is_wanted(workspace: Workspace, runs: Sequence[Run]) -> bool:
    """Whether there is neither a finished run of the user's nor an example that has been measured."""
    from workbench.runs.finished import kept_evaluation

    finished = [run for run in runs if run.state == "done"]
    return not workspace.is_read_only and not any(not run.example or kept_evaluation(workspace, run.id) for run in finished)


def find_job(workspace: Workspace) -> Job | None:
    """The job that makes and measures the example, at work or ended, or None."""
    return EXAMPLE.find(workspace, WORKSPACE, {})


def begin(workspace: Workspace) -> Job:
    """Have the example made and measured; all who ask share one job. Returns at once."""
    return EXAMPLE.begin(workspace, WORKSPACE, {})


def find_example(workspace: Workspace) -> Run | None:
    """The example run that is finished or being made, or None."""
    return next((run for run in _examples(workspace) if run.audit is None), None)


def _examples(workspace: Workspace) -> list[Run]:
    """Examples that are finished or being made, the oldest first."""
    from workbench.runs.store import RunStore

    return [run for run in RunStore(workspace).list()[::-1] if run.example and (run.is_active or run.state == "done")]


def ensure_example(workspace: Workspace, wait_seconds: float = EXAMPLE_SECONDS) -> Run:
    """The example run, made first if there is none; several processes that ask at once get the same one.

    Returns it as it is after at most `wait_seconds`: 0 starts it and returns at once.
    """
    from workbench import runs

    with locked(workspace.home / "example.lock"):
        run = find_example(workspace) or _launch(workspace)
    return runs.wait(workspace, run.id, timeout_seconds=wait_seconds)


def ensure_audited(workspace: Workspace) -> Run:
    """A run by the example's plan with canaries among its records, begun if there is none: what is measured of it is the third number."""
    from workbench.privacy.attacks.canaries import AuditDesign

    with locked(workspace.home / "example.lock"):
        there = next((run for run in _examples(workspace) if run.audit is not None), None)
        return there or _launch(workspace, AuditDesign(num_canaries=CANARIES))


def _launch(workspace: Workspace, audit: "AuditDesign | None" = None) -> Run:
    from workbench import experiment, runs
    from workbench.training.state import PerformanceSettings

    dataset = experiment.load(EXAMPLE_DATASET, workspace=workspace)
    plan = experiment.make_plan(EXAMPLE_METHOD, dataset.facts, epsilon=EXAMPLE_EPSILON, settings={"training.steps": EXAMPLE_STEPS})
    one_thread = PerformanceSettings(device="cpu", num_threads=1)  # quick on so small a model, also beside other work
    return runs.launch(workspace, plan, EXAMPLE_DATASET, performance=one_thread, example=True, loaded=dataset, audit=audit)


def _wait(workspace: Workspace, job_id: str, report: Report) -> None:
    """Return once the job is done; one that ends otherwise is an error."""
    try:
        job = control.wait(workspace, job_id, progress=lambda now: report(now.share))
    except StoppedError:
        control.request_cancel(workspace, job_id)
        raise
    if job.state != "done":
        raise WorkbenchError(f"{job_id} is {job.state}. {job.error or ''}".rstrip())
