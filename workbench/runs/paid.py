"""What a run has paid for, its training and all its sampling together, and the bound of that."""

from typing import TYPE_CHECKING, Any

from workbench.errors import WorkbenchError
from workbench.plan import ROUNDING
from workbench.privacy.accounting.values import PrivacyValue
from workbench.privacy.spending.ledger import Ledger
from workbench.runs.run import Run
from workbench.runs.store import RunStore
from workbench.serialization import jsonable
from workbench.workspace import Workspace

if TYPE_CHECKING:
    from workbench.privacy.accounting.stages import Stage


def accountants_of(workspace: Workspace, run: Run) -> dict[str, Any]:
    """What each accountant says of all that a run has paid for: its plan's values, unless it has paid for more."""
    from workbench.privacy import accountant_values

    if run.bound.epsilon <= run.plan.bound.epsilon:
        return run.plan.accountants
    try:
        return jsonable(accountant_values(paid_stages(run, Ledger(workspace.ledger)), run.delta))
    except WorkbenchError as error:
        return {name: {"refused": str(error)} for name in run.plan.accountants}


def raise_bound(workspace: Workspace, run: Run, ledger: Ledger) -> None:
    """Set the run's bound to that of training and all sampling together."""
    from workbench.privacy.spending.totals import bound_of

    bound = bound_of(paid_stages(run, ledger), run.delta)
    RunStore(workspace).change(
        run.id, {"done"}, "sampled", bound=bound, epsilon_spent=bound.epsilon, releasable=run.releasable and bound.is_finite
    )


def bound_with(workspace: Workspace, run: Run, stages: "list[Stage]") -> PrivacyValue:
    """The run's bound once it has paid for `stages` too."""
    from workbench.privacy.spending.totals import bound_of

    return bound_of([*paid_stages(run, Ledger(workspace.ledger)), *stages], run.delta) if stages else run.bound


def paid_stages(run: Run, ledger: Ledger) -> "list[Stage]":
    """What training and all sampling of a finished run have spent.

    Refused where the ledger has less of it than the run is known to have spent, as an empty one has that took another's place.
    """
    entries = ledger.entries(run.fingerprint)
    own = [entry for entry in entries if entry.run_id == run.id or entry.run_id.startswith(f"{run.id}-samples-")]
    stages = [stage for entry in own for stage in entry.paid_stages()]
    if _is_short([stage for entry in own for stage in entry.taken_stages()], stages, run):
        raise WorkbenchError(
            f"Expected all that run {run.id} has spent in {ledger.path}, got less than the run has recorded: the ledger was moved away or "
            "replaced. Put the one back that recorded this run, or train another by the same plan."
        )
    return stages


def _is_short(taken: "list[Stage]", stages: "list[Stage]", run: Run) -> bool:
    """Whether fewer steps were `taken` than the run's plan has, or than are known of a run that ended early, or `stages`, what is covered,
    have a smaller bound than the run, which had paid for more than its plan.
    """
    from workbench.privacy.spending.totals import bound_of

    for planned in run.plan.releases:
        known = run.charged.get(planned.name, (0, 0))[0] if run.ends_early else planned.steps
        if planned.spent != "free" and sum(stage.steps for stage in taken if stage.name == planned.name) < known:
            return True
    paid_more = run.bound.epsilon > run.plan.bound.epsilon
    return paid_more and bound_of(stages, run.delta).epsilon < run.bound.epsilon * (1 - ROUNDING)
