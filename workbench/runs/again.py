"""What a second start of an equal plan on the same records would spend, for whoever starts it to be asked beforehand."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.datasets import records_of
from workbench.jobs.job import RESUMABLE
from workbench.privacy.spending.ledger import Ledger
from workbench.privacy.spending.totals import plain, zero_out_total
from workbench.runs.run import Run
from workbench.runs.store import RunStore
from workbench.workspace import Workspace

if TYPE_CHECKING:
    from workbench.datasets.base import Dataset
    from workbench.plan import Plan
    from workbench.privacy.accounting.stages import Stage
    from workbench.privacy.accounting.values import PrivacyValue


@dataclass(frozen=True)
class Repetition:
    """An equal plan has been started before: by which run, and what to ask."""

    run: Run
    question: str


def repetition(workspace: Workspace, plan: "Plan", loaded: "Dataset") -> Repetition | None:
    """What to ask before `plan` is started a second time on `loaded`: what it spends, and the account with it. None the first time."""
    fingerprint = loaded.fingerprint(workspace.key)
    run = started_before(workspace, plan, fingerprint)
    if run is None:
        return None
    total, account = account_with(workspace, plan, fingerprint), records_of(plan.facts.name)
    instead = " Resuming it spends only what is left." if run.state in RESUMABLE else ""
    why = "" if total.is_finite else f" {total.reason}"
    return Repetition(
        run,
        f"Run {run.id} has this very plan on the same records ({run.state}, epsilon {run.epsilon_spent:.4g} spent).{instead} "
        f"Another one spends {plan.bound.epsilon:.4g} more: the account of {account!r} would stand at epsilon {total.epsilon:.4g} "
        f"(delta {total.delta:.3g}, {plain(total.neighboring_relation)}).{why}",
    )


def started_before(workspace: Workspace, plan: "Plan", fingerprint: str) -> Run | None:
    """The newest run by an equal plan on exactly these records that is at work or has spent something; None if there is none."""
    equal = (run for run in RunStore(workspace).list(method=plan.method) if run.fingerprint == fingerprint)
    return next((run for run in equal if (run.is_active or run.epsilon_spent > 0) and run.plan.does_the_same_as(plan)), None)


def account_with(workspace: Workspace, plan: "Plan", fingerprint: str, new: "Sequence[Plan] | None" = None) -> "PrivacyValue":
    """The total of the account of `plan`'s dataset once `plan` and all that has been started have spent what they may.

    A run that waits, or was started a moment ago, counts though its process has not opened its account yet. At the smallest delta of all.
    `new` are the plans to be started in the place of `plan` alone.
    """
    entries = Ledger(workspace.ledger).entries(records_of(plan.facts.name), fingerprint)
    mine = runs_not_in_ledger(workspace, plan, fingerprint)
    spending = [(f"run {entry.run_id}", entry.paid_stages(reserve=True)) for entry in entries]
    spending += [(f"run {run.id}", planned_costs(run.plan)) for run in mine]
    added = [plan] if new is None else new
    delta = min([plan.delta, *(one.delta for one in (*added, *entries, *mine))])
    return zero_out_total([*spending, *(("this run", planned_costs(one)) for one in added)], delta)


def runs_not_in_ledger(workspace: Workspace, plan: "Plan", fingerprint: str) -> list[Run]:
    """The runs on the account of `plan`'s dataset that wait, or start just now, and are not in the ledger yet."""
    account, ledger = records_of(plan.facts.name), Ledger(workspace.ledger)
    opened, accounts = {entry.run_id for entry in ledger.entries()}, {account}
    accounts |= {entry.account for entry in ledger.entries(account, fingerprint)}
    starting = [run for run in RunStore(workspace).list() if run.is_active and run.id not in opened]
    return [run for run in starting if run.fingerprint == fingerprint or records_of(run.plan.facts.name) in accounts]


def planned_costs(plan: "Plan") -> "list[Stage]":
    """What a plan and the drawing of its samples cost."""
    return [stage for stage in (*plan.stages, *plan.sampling_stages) if stage.spent != "free"]
