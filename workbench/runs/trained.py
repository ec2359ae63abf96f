"""Load a finished run for sampling, evaluation and audits: its weights, its records, and public ones."""

import math
from typing import TYPE_CHECKING

from workbench.errors import DamagedFileError, WorkbenchError
from workbench.privacy.accounting.values import PrivacyValue
from workbench.runs.folder import RunFolder
from workbench.runs.run import Run
from workbench.runs.store import RunStore
from workbench.workspace import Workspace

if TYPE_CHECKING:
    from workbench.datasets import Dataset
    from workbench.training.state import State


def trained_run(workspace: Workspace, run_id: str) -> Run:
    """The run, which has to have finished, and by a plan that holds in this version."""
    run = RunStore(workspace).get(run_id)
    if run.state != "done":
        raise WorkbenchError(f"Expected a finished run, got {run_id}, which is {run.state}. Wait for it, or resume it.")
    run.plan.check()
    return run


def as_shown(run: Run) -> Run:
    """The run as a page or a command may show it: without the bound of a plan that does not hold, or one below its plan's."""
    try:
        run.plan.check()
        if run.bound.epsilon >= run.plan.bound.epsilon:
            return run
        why = f"The registry has a bound of {run.bound.epsilon:.4g} for a plan of {run.plan.bound.epsilon:.4g}."
    except WorkbenchError as error:
        why = str(error)
    bound = PrivacyValue(epsilon=math.inf, delta=run.delta, status="not_proved", reason=why)
    return run.model_copy(update={"bound": bound, "releasable": False})


def dataset_of(workspace: Workspace, run: Run) -> "Dataset":
    """The records that a run was trained on; refused where its folder or file holds others by now."""
    return same_records(workspace, run, run.plan.request.place.load(run.plan.facts, workspace))


def same_records(workspace: Workspace, run: Run, dataset: "Dataset") -> "Dataset":
    """`dataset`, if its records are those that `run` was planned for: measures and neighbours would speak of others."""
    if dataset.fingerprint(workspace.key) != run.fingerprint:
        raise WorkbenchError(f"The records of {run.dataset} are no longer those that run {run.id} was planned for. Start a new run.")
    return dataset


def public_dataset(workspace: Workspace, run: Run) -> "Dataset | None":
    """The public dataset that a run's measures and neighbours take their features from; None where there is none."""
    from workbench import training_data

    return training_data.public_dataset(run.plan, workspace)


def load_state(workspace: Workspace, run: Run, seed: int | None = None) -> "State":
    """A state with the run's trained weights; its randomness is new, or of `seed`, or else of the run's own seed."""
    from workbench import experiment
    from workbench.training.state import PerformanceSettings, load_saved

    performance = PerformanceSettings.model_validate(run.performance)
    state = experiment.new_state(run.plan, performance, run.seed if seed is None else seed)
    folder = RunFolder(workspace, run.id)
    parts = [load_saved(path) for path in (folder.model, folder.private) if path.exists()]
    for part in parts:
        state.load_part(part)
    expected = state.part(run.plan.build().released_parts)["modules"].keys()
    if missing := expected - {name for part in parts for name in part["modules"]}:
        raise DamagedFileError(f"Expected the trained {', '.join(sorted(missing))} in {folder.model}, which does not hold it. Train anew.")
    return state
