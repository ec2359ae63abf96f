"""What attacks cost that train a run's plan again, in minutes as this run took them."""

from workbench.runs.run import Run
from workbench.ui.formats import duration


def of_trainings(run: Run, count: int) -> str:
    """How long so many trainings of the run's plan take, one after the other; empty where it is not known how long the run took."""
    once = run.seconds_running
    return "" if once is None else f" This run took {duration(once)}: expect about {duration(count * once)}."
