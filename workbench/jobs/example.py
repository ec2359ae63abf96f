"""A small finished run, so that no page stays empty: marked as an example, made and measured by the task of that name."""

from collections.abc import Sequence

from workbench.jobs import control
from workbench.jobs.job import WORKSPACE, Job
from workbench.jobs.lifecycle import Jobs
from workbench.jobs.run import Run
from workbench.locks import locked
from workbench.workspace import Workspace

EXAMPLE_METHOD, EXAMPLE_DATASET, EXAMPLE_EPSILON = "dp-merf", "digits", 10.0
EXAMPLE_STEPS = 300
EXAMPLE_SECONDS = 300.0


def is_wanted(workspace: Workspace, runs: Sequence[Run]) -> bool:
    """Whether there is neither a finished run of the user's nor an example that has been measured."""
    from workbench.jobs.finished import kept_evaluation

    finished = [run for run in runs if run.state == "done"]
    return not any(not run.example or kept_evaluation(workspace, run.id) for run in finished)


def find_job(workspace: Workspace) -> Job | None:
    """The job that makes and measures the example, at work or ended, or None."""
    return Jobs(workspace).find("example", WORKSPACE, {})


def begin(workspace: Workspace) -> Job:
    """Have the example made and measured; all who ask share one job. Returns at once."""
    return control.begin(workspace, "example", WORKSPACE, {})


def find_example(workspace: Workspace) -> Run | None:
    """The example run that is finished or being made, or None."""
    from workbench.jobs.store import RunStore

    usable = [run for run in RunStore(workspace).list() if run.example and (run.is_active or run.state == "done")]
    return usable[-1] if usable else None


def ensure_example(workspace: Workspace, wait_seconds: float = EXAMPLE_SECONDS) -> Run:
    """The example run, made first if there is none; several processes that ask at once get the same one.

    Returns it as it is after at most `wait_seconds`: 0 starts it and returns at once.
    """
    from workbench.jobs import runs

    with locked(workspace.home / "example.lock"):
        run = find_example(workspace) or _launch(workspace)
    return runs.wait(workspace, run.id, timeout_seconds=wait_seconds)


def _launch(workspace: Workspace) -> Run:
    from workbench import experiment
    from workbench.jobs import runs
    from workbench.training.state import PerformanceSettings

    dataset = experiment.load(EXAMPLE_DATASET, workspace=workspace)
    plan = experiment.make_plan(EXAMPLE_METHOD, dataset.facts, epsilon=EXAMPLE_EPSILON, settings={"training.steps": EXAMPLE_STEPS})
    one_thread = PerformanceSettings(device="cpu", num_threads=1)  # quick on so small a model, also beside other work
    return runs.launch(workspace, plan, EXAMPLE_DATASET, performance=one_thread, example=True, loaded=dataset)
