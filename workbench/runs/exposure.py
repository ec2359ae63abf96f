"""What a finished run's samples show of each training record: made once, kept in the run's folder, private."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from workbench.errors import WorkbenchError
from workbench.files import written_atomically
from workbench.methods.base import Method
from workbench.methods.protocols import MeasuredDenoiser, PerInstanceValues
from workbench.plan import Plan
from workbench.privacy.not_dp.per_instance import DenoiserError, Leakage
from workbench.runs.folder import RunFolder
from workbench.runs.run import Run
from workbench.runs.sample_files import open_arrays
from workbench.runs.samples.sets import ProgressFunction
from workbench.runs.threads import few_threads
from workbench.runs.trained import dataset_of, load_state, trained_run
from workbench.workspace import Workspace

DEFAULT_DRAWS = 400
ERROR = "error_"  # before the names of the denoiser's error in a file
PRIVATE = (
    "Private: these values depend on the records. Do not share them, whatever bound the run has. Choosing records by them, for "
    "instance to leave them out, is outside any bound."
)
IDEAL = (
    "They are those of the ideal denoiser, which knows the training records themselves: of the trained one they are an estimate, and "
    "its measured distance from the ideal stands beside them. Edges and categories that the plan releases from the records are taken as "
    "given: what these show is in the plan's stages and not in these values."
)


@dataclass(frozen=True)
class Exposure:
    """J of every training record, in the order of the records, and how far the trained denoiser is from the ideal one, if known."""

    leakage: Leakage
    error: DenoiserError | None

    def ranking(self) -> np.ndarray:
        """The records, the most exposed first: int64 (N,)."""
        return np.argsort(-self.leakage.total, kind="stable")


def tells_records(plan: Plan) -> bool:
    """Whether the plan's method has values per record."""
    return isinstance(plan.build(), PerInstanceValues)


def expose_run(
    workspace: Workspace,
    run_id: str,
    num_draws: int = DEFAULT_DRAWS,
    seed: int = 0,
    progress: ProgressFunction | None = None,
) -> Exposure:
    """The values of every training record of a finished run, by `num_draws` chains; private, kept in the run's folder."""
    run, method = checked_run(workspace, run_id)
    path = _file(workspace, run, num_draws, seed)
    if path.exists():
        return _read(path)
    dataset = dataset_of(workspace, run)
    part = None if progress is None else lambda share: progress(0.9 * share)
    with few_threads():
        state = load_state(workspace, run)
        leakage = method.per_instance(*run.plan.build().seen(state, dataset.train), num_draws, seed, part)
        error = method.denoiser_error(state, dataset.train, seed) if isinstance(method, MeasuredDenoiser) else None
    exposure = Exposure(leakage, error)
    arrays = _arrays(leakage) | ({} if error is None else {f"{ERROR}{name}": value for name, value in _arrays(error).items()})
    with written_atomically(path, "wb") as file:
        np.savez(file, **arrays)
    return exposure


def kept_exposure(workspace: Workspace, run_id: str, num_draws: int = DEFAULT_DRAWS, seed: int = 0) -> Exposure | None:
    """What is kept of `expose_run`, or None."""
    run, _ = checked_run(workspace, run_id)
    path = _file(workspace, run, num_draws, seed)
    return _read(path) if path.exists() else None


def checked_run(workspace: Workspace, run_id: str) -> "tuple[Run, PerInstanceValues]":
    """The run and its method; refuses one that is not finished, or has no values per record."""
    run = trained_run(workspace, run_id)
    method: Method = run.plan.build()
    if not isinstance(method, PerInstanceValues):
        raise WorkbenchError(f"Expected a run of a method with values per record, such as ddm, got one of {run.method}.")
    return run, method


def _file(workspace: Workspace, run: Run, num_draws: int, seed: int) -> Path:
    return RunFolder(workspace, run.id).path / f"leakage-{num_draws}-{seed}.npz"


def _arrays(result: Leakage | DenoiserError) -> dict[str, Any]:
    return {field.name: np.asarray(getattr(result, field.name)) for field in fields(result)}


def _read(path: Path) -> Exposure:
    with open_arrays(path) as file:
        plain: dict[str, Any] = {name: value.item() if value.ndim == 0 else value for name, value in file.items()}
        error_values = {name.removeprefix(ERROR): value for name, value in plain.items() if name.startswith(ERROR)}
        leakage = Leakage(**{name: value for name, value in plain.items() if not name.startswith(ERROR)})
        return Exposure(leakage, DenoiserError(**error_values) if error_values else None)
