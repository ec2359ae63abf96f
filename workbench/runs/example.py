"""A small finished run, so that no page is ever empty: made on first use, in seconds, and marked as an example."""

import fcntl

from workbench.files import open_private
from workbench.home import home
from workbench.runs.values import Run

EXAMPLE_METHOD, EXAMPLE_DATASET, EXAMPLE_EPSILON = "dp-merf", "digits", 10.0
EXAMPLE_STEPS = 300
EXAMPLE_SECONDS = 300.0


def find_example() -> Run | None:
    """The example run that is finished or being made, or None."""
    from workbench.runs.store import RunStore

    usable = [run for run in RunStore().list() if run.example and (run.is_active or run.state == "done")]
    return usable[-1] if usable else None


def ensure_example(wait_seconds: float = EXAMPLE_SECONDS) -> Run:
    """The example run, made first if there is none; several processes that ask at once get the same one.

    Returns it as it is after at most `wait_seconds`: 0 starts it and returns at once.
    """
    from workbench.runs import local

    with open_private(home() / "example.lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        run = find_example() or _launch()
    return local.wait(run.id, timeout_seconds=wait_seconds)


def _launch() -> Run:
    from workbench import experiment
    from workbench.runs import local
    from workbench.training.state import PerformanceSettings

    dataset = experiment.load(EXAMPLE_DATASET)
    plan = experiment.make_plan(EXAMPLE_METHOD, dataset.facts, epsilon=EXAMPLE_EPSILON, overrides={"steps": EXAMPLE_STEPS})
    one_thread = PerformanceSettings(device="cpu", num_threads=1)  # quick on so small a model, also beside other work
    return local.launch(plan, EXAMPLE_DATASET, performance=one_thread, example=True, loaded=dataset)
