"""What a run has paid for, its training and all its sampling together, and the bound of that."""

from typing import TYPE_CHECKING, Any

from workbench.jobs.run import Run
from workbench.jobs.store import RunStore
from workbench.privacy.accounting.values import PrivacyValue
from workbench.privacy.spending.ledger import Ledger
from workbench.serialization import jsonable
from workbench.workspace import Workspace

if TYPE_CHECKING:
    from workbench.privacy.accounting.stages import Stage


def accountants_of(workspace: Workspace, run: Run) -> dict[str, Any]:
    """What each accountant says of all that a run has paid for: its plan's values, unless it has paid for more."""
    from workbench.privacy import accountant_values

    if run.bound.epsilon <= run.plan.bound.epsilon:
        return run.plan.accountants
    return jsonable(accountant_values(paid_stages(run, Ledger(workspace.ledger)), run.delta))


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
    """What training and all sampling of a run have spent."""
    entries = ledger.entries(run.fingerprint)
    own = [entry for entry in entries if entry.run_id == run.id or entry.run_id.startswith(f"{run.id}-samples-")]
    return [stage for entry in own for stage in entry.paid()]
