"""The example run, where there is nothing to look at yet."""

from workbench.runs.store import RunStore
from workbench.tasks import example
from workbench.ui.actions import told
from workbench.ui.jobs import Unasked, unasked_job
from workbench.workspace import Workspace

POLL_SECONDS = 4.0  # later than a measurement of the pace, which a reader of the Budget page waits for
MAKING = "A small example run is being made, once, so that there is something to look at …"


def example_notice(prefix: str) -> None:
    """Where no run has finished, a small example is made; its end draws the page anew.

    Keys of widgets begin with `prefix`.
    """
    workspace = Workspace.default()
    making = Unasked(lambda: example.find_job(workspace), lambda: example.begin(workspace), lambda: not _is_wanted())
    with told():
        if _is_wanted():
            unasked_job(making, f"{prefix}example_", MAKING, POLL_SECONDS)


def _is_wanted() -> bool:
    return example.is_wanted(Workspace.default(), RunStore(Workspace.default()).list())
