"""Ending a run before its last step: it keeps its model as it is, and a budget gets back the steps that it did not take."""

from collections.abc import Mapping

from workbench.errors import WorkbenchError
from workbench.jobs import control
from workbench.jobs.job import RESUMABLE, Job
from workbench.jobs.launchers import DEFAULT
from workbench.methods.base import Method
from workbench.runs.folder import RunFolder
from workbench.runs.run import Run
from workbench.runs.store import RunStore
from workbench.workspace import Workspace


def end_early(workspace: Workspace, run_id: str) -> Job:
    """Have a run keep the model of its last checkpoint as its result; one at work is cancelled first. Returns at once after that.

    Its bound stays that of all its steps: it holds whenever and why ever the run ends. Where the account has a budget, the steps that
    were not taken are free again (`workbench.privacy.spending.filters`). Raises WorkbenchError where its model is not whole yet.
    """
    store = RunStore(workspace)
    check_interruptible(store.get(run_id))
    if store.get(run_id).is_active:
        control.cancel(workspace, run_id)
    run = store.get(run_id)
    check_interruptible(run)  # it may have come to its end meanwhile
    if not RunFolder(workspace, run_id).can_go_on:
        raise WorkbenchError(f"{run_id} has no checkpoint, so there is no model to keep. `workbench delete` removes it.")
    run.plan.check()
    store.change(run_id, RESUMABLE, "ended early", ends_early=True)
    return control.resume(workspace, run_id, at_once=True, on=DEFAULT)


def check_interruptible(run: Run) -> None:
    """Refuse a run whose model is not whole where it stands, as far as its row tells."""
    if not run.is_active and run.state not in RESUMABLE:
        raise WorkbenchError(f"{run.id} is {run.state}. Only a run that has not come to its end can be ended early.")
    method = run.plan.build()
    if not method.interruptible:
        raise WorkbenchError(f"A model of {method.name} is whole after its last step alone. Resume the run, or delete it.")
    if run.stage not in method.interruptible:
        where = f"in {run.stage!r}" if run.stage else "not started"
        raise WorkbenchError(f"{run.id} is {where}. It can be ended early in {' and '.join(map(repr, method.interruptible))}.")


def why_not_early(method: Method, steps: Mapping[str, int], planned: Mapping[str, int]) -> str:
    """Why a model is not whole after so many `steps` of the `planned` ones, by stage; empty if it is."""
    for stage, number in planned.items():
        taken = steps.get(stage, 0)
        if taken < number and (stage not in method.interruptible or taken == 0):
            return f"{stage!r} has taken {taken} of its {number} steps, so the model is not whole."
    return ""
