"""What can be asked of a run: launch, resume, wait, clone, delete; `workbench.jobs.control` has what can be asked of any job."""

import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import AccountWarning, BudgetWarning, WorkbenchError
from workbench.jobs import control
from workbench.jobs.job import RESUMABLE, Job, Terms
from workbench.jobs.launchers import Resources, chosen_launcher, has_machines
from workbench.jobs.lifecycle import Jobs
from workbench.jobs.queue.passing import submit
from workbench.jobs.starting import start
from workbench.privacy.spending.ledger import Ledger
from workbench.runs.again import planned_costs, runs_not_in_ledger
from workbench.runs.run import TRAINING, Run
from workbench.runs.store import RunStore
from workbench.runs.trained import dataset_of
from workbench.runs.verdicts import Verdicts
from workbench.workspace import Workspace

if TYPE_CHECKING:
    from workbench.datasets.base import Dataset
    from workbench.datasets.reference import DatasetRef
    from workbench.plan import Plan
    from workbench.privacy.attacks.canaries import AuditDesign
    from workbench.training.state import PerformanceSettings


def launch(
    workspace: Workspace,
    plan: "Plan",
    dataset: "DatasetRef | str | Path | None" = None,
    *,
    performance: "PerformanceSettings | None" = None,
    seed: int | None = None,
    parent: str | None = None,
    example: bool = False,
    loaded: "Dataset | None" = None,
    audit: "AuditDesign | None" = None,
    priority: int = 0,
    at_once: bool = False,
    on: str | None = None,
    resources: Resources | None = None,
) -> Run:
    """Have `plan` trained on its dataset by a process of its own, and return at once.

    It starts when its turn comes: at once where nothing waits and nothing else trains. Of waiting runs those of a higher `priority`
    come first; `at_once` starts it beside whatever is at work. While it waits it has touched nothing and spent nothing.
    `dataset` (a name or a path) is needed where the plan was made from facts alone.
    `seed` makes the run repeatable and not releasable. `loaded` saves reading the dataset again.
    `audit` puts canaries among the records, for a lower bound to be measured: such a run is not the one to release.
    `on` names the launcher (`WORKBENCH_LAUNCHER`, or this machine, by default), and `resources` are what an engine is asked for.
    Raises WorkbenchError, before anything is written, for a plan without a bound that does not ask for the claim, a device
    that is not there, and records that are not the plan's.
    """
    values: dict[str, Any] = {"performance": performance, "seed": seed, "parent": parent, "example": example, "loaded": loaded}
    run = register(workspace, plan, dataset, **values, audit=audit, priority=priority, on=on, resources=resources)
    begin(workspace, run.id, at_once)
    return RunStore(workspace).get(run.id)


def begin(workspace: Workspace, run_id: str, at_once: bool = False) -> Job:
    """Have a waiting run, or another job, start in its turn, or `at_once`; one that somebody started meanwhile is as good."""
    if at_once:
        with suppress(WorkbenchError):
            return start(workspace, run_id)
    return submit(workspace, run_id)


def register(
    workspace: Workspace,
    plan: "Plan",
    dataset: "DatasetRef | str | Path | None" = None,
    *,
    performance: "PerformanceSettings | None" = None,
    seed: int | None = None,
    parent: str | None = None,
    example: bool = False,
    loaded: "Dataset | None" = None,
    audit: "AuditDesign | None" = None,
    priority: int = 0,
    on: str | None = None,
    resources: Resources | None = None,
) -> Run:
    """The checks of `launch` and the queued run, without its process; a BudgetWarning where it may exceed its dataset's budget."""
    from workbench import training_data
    from workbench.plan import check_trainable
    from workbench.training.state import PerformanceSettings

    performance = performance or PerformanceSettings()
    launcher = chosen_launcher(on)
    is_apart = has_machines(launcher)
    device = performance.device if is_apart else performance.torch_device()  # the engine's machine has another than this one
    check_trainable(plan)
    place = plan.request.place if dataset is None else dataset_of_plan(plan, dataset)
    training_data.check_public(plan.on(place), workspace)
    other = f"The plan was made for {plan.num_records} records of {plan.facts.name}, not for {place.text}. Plan again."
    if place.name and place.name != plan.facts.name:
        raise WorkbenchError(other)
    loaded = loaded or place.load(plan.facts, workspace)
    if loaded.facts != plan.facts:
        raise WorkbenchError(other)
    if message := budget_warning(workspace, plan, loaded):
        warnings.warn(message, BudgetWarning, stacklevel=2)
    if message := account_warning(workspace, plan, loaded):
        warnings.warn(message, AccountWarning, stacklevel=2)
    values: dict[str, Any] = {"seed": seed, "steps": plan.steps, "example": example, "parent": parent, "audit": audit}
    values |= {"priority": priority, "terms": needs(workspace, plan, performance, str(device), resources), "launcher": launcher}
    if audit is not None:
        audit.canaries(loaded)  # refuses what this dataset has none of
    run = RunStore(workspace).create(plan.on(place), place.text, loaded.fingerprint(workspace.key), performance, **values)
    if is_apart:
        open_account(workspace, run, loaded)
    return run


def open_account(workspace: Workspace, run: Run, loaded: "Dataset") -> None:
    """Say in the ledger what a run may spend whose worker cannot reach it; as always before a record is touched."""
    ledger, named, public = Ledger(workspace.ledger), (run.dataset, run.plan.method), run.plan.public_images
    ledger.open_run(run.id, run.fingerprint, *named, run.plan.stages, run.delta, account=run.plan.facts.name, public=public)
    ledger.note_records(run.fingerprint, loaded.record_hashes(workspace.key))


def needs(workspace: Workspace, plan: "Plan", performance: "PerformanceSettings", device: str, resources: Resources | None = None) -> Terms:
    """The terms of a run: its device, and on the CPU its memory where this machine's pace with its network has been measured."""
    from workbench.runs.pace import expectation_of, known_pace

    pace = known_pace(workspace, plan, performance) if device == "cpu" else None
    memory = 0 if pace is None else expectation_of(plan, pace).peak_bytes
    return TRAINING.model_copy(update={"device": device, "memory": memory, "asked": resources or Resources()})


def dataset_of_plan(plan: "Plan", dataset: "DatasetRef | str | Path") -> "DatasetRef":
    """The dataset to train on where it is named beside the plan: read as the plan's facts say."""
    from workbench.datasets.reference import DatasetRef

    return dataset if isinstance(dataset, DatasetRef) else DatasetRef.as_planned(dataset, plan.facts)


def budget_warning(workspace: Workspace, plan: "Plan", loaded: "Dataset") -> str | None:
    """Why launching `plan` and drawing its samples would exceed the dataset's budget; None if it would not, or none is set."""
    stages, fingerprint = [*plan.stages, *plan.sampling_stages], loaded.fingerprint(workspace.key)
    ledger = Ledger(workspace.ledger)
    if not ledger.has_budgets():
        return None
    waiting = [(run.id, planned_costs(run.plan)) for run in runs_not_in_ledger(workspace, plan, fingerprint)]
    return ledger.warning_before(plan.facts.name, stages, plan.delta, fingerprint, waiting=waiting)


def account_warning(workspace: Workspace, plan: "Plan", loaded: "Dataset") -> str | None:
    """Why these records belong to another account of the ledger too; None where no other holds much the same."""
    ledger = Ledger(workspace.ledger)
    if not ledger.has_other_records(plan.facts.name):
        return None
    return ledger.resemblance(plan.facts.name, loaded.fingerprint(workspace.key), loaded.record_hashes(workspace.key))


def resume(workspace: Workspace, job_id: str, at_once: bool = False, on: str | None = None) -> Job:
    """Have a cancelled, failed or lost job go on from what it has kept, in its turn or `at_once`; returns at once.

    A run whose plan no longer holds is refused. It goes on where it was, or by the launcher `on`; what is no training stays here, where
    the registry is.
    """
    job = control.resumable(workspace, job_id)
    if on is not None and not job.terms.trains:
        raise WorkbenchError(f"{job_id} is no training ({job.terms.title}): it stays on this machine. Resume it without `--on`.")
    if job.terms.trains:
        run = RunStore(workspace).change(job_id, RESUMABLE, "resumed", ends_early=False)
        run.plan.check()
        if has_machines(chosen_launcher(on or job.launcher)):
            open_account(workspace, run, dataset_of(workspace, run))
    return control.resume(workspace, job_id, at_once, on)


def wait(workspace: Workspace, run_id: str, timeout_seconds: float | None = None, progress: Callable[[Job], None] | None = None) -> Run:
    """The run once it has ended, or as it is after `timeout_seconds`; `progress` sees its job at every poll."""
    control.wait(workspace, run_id, timeout_seconds, progress)
    return RunStore(workspace).get(run_id)


def clone(
    workspace: Workspace,
    run_id: str,
    settings: Mapping[str, Any] | None = None,
    loaded: "Dataset | None" = None,
    priority: int = 0,
    at_once: bool = False,
    on: str | None = None,
    resources: Resources | None = None,
) -> Run:
    """Launch a new run with the plan, dataset and device of another, `settings` (dotted field names) over those it was given.

    Changed values keep the target epsilon: the bound is calibrated anew. A seed is not copied. It trains where the other did, with the
    same resources asked for, unless `on` or `resources` say otherwise.
    """
    from workbench.training.state import PerformanceSettings

    run = RunStore(workspace).get(run_id)
    performance = PerformanceSettings.model_validate(run.performance)
    job = Jobs(workspace).get(run_id)
    turn: dict[str, Any] = {"priority": priority, "at_once": at_once}
    turn |= {"on": on or job.launcher, "resources": resources or (job.terms.asked if on in (None, job.launcher) else None)}
    return launch(workspace, cloned_plan(run, settings), performance=performance, parent=run_id, loaded=loaded, **turn)


def cloned_plan(run: Run, settings: Mapping[str, Any] | None = None) -> "Plan":
    """The plan of a clone of `run`: its own, or one made anew with `settings` over those it was given."""
    from workbench.planning import make_plan

    return make_plan(run.plan.request.edited(settings=settings), run.plan.facts) if settings else run.plan


def delete(workspace: Workspace, run_id: str) -> None:
    """Delete a run that has ended: folder, verdicts, row. What it spent stays in the ledger."""
    RunStore(workspace).delete(run_id)
    Verdicts(workspace.verdicts).forget(run_id)
