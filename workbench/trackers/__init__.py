"""Runs told to trackers of experiments: TensorBoard and MLflow, by an extra of the package; what may not leave the room stays unless asked.

    pip install "dp-diffusion-workbench[tracking]"
    workbench track RUN --to tensorboard --at FOLDER
    workbench track RUN --to mlflow --at http://127.0.0.1:5000

Each tracker is a file of this folder with one function `write(entry, place)`, which returns where it wrote.
"""

from collections.abc import Callable, Mapping

from workbench.errors import WorkbenchError, choose
from workbench.trackers import mlflow, tensorboard
from workbench.trackers.run_record import TrackedRun, tracked_run
from workbench.workspace import Workspace

__all__ = ["TRACKERS", "TrackedRun", "track", "tracked_run"]

TRACKERS: Mapping[str, Callable[[TrackedRun, str], str]] = {"mlflow": mlflow.write, "tensorboard": tensorboard.write}


def track(workspace: Workspace, run_id: str, tracker: str, place: str, private: bool = False) -> tuple[str, TrackedRun]:
    """Tell `tracker` of a run; returns where that was written, and what was told.

    `place` is a folder (TensorBoard), or the address or store of a tracking server (MLflow). Without `private` only values that may leave
    the room are told; no time is told of any, as how long a step took tells of its batch.
    """
    write, entry = choose(tracker, TRACKERS, "tracker"), tracked_run(workspace, run_id, private)
    try:
        return write(entry, place), entry
    except ImportError as error:
        raise WorkbenchError(f"Expected the extra `tracking`, got none ({error}): pip install 'dp-diffusion-workbench[tracking]'") from None
