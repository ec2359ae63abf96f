"""TensorBoard: one file of events in a folder named after the run."""

import os
from pathlib import Path

from workbench.errors import WorkbenchError
from workbench.trackers.run_record import TrackedRun

EVENTS = "events.out.tfevents.0.workbench"  # TensorBoard's own name for it would have this machine's


def write(entry: TrackedRun, place: str) -> str:
    """Write the run's events in a folder of `place` that has its name; what was told of it before is replaced."""
    from torch.utils.tensorboard import SummaryWriter

    folder = Path(place) / entry.run
    if folder.exists() and sorted(path.name for path in folder.iterdir()) != [EVENTS]:
        raise WorkbenchError(f"Expected no folder {folder}, or one that this command has written, got one with other files.")
    partial = folder / "partial"
    with SummaryWriter(str(partial)) as writer:
        for name, points in entry.series.items():
            for step, value in points:
                writer.add_scalar(name, value, step, walltime=0.0)
        for name, value in entry.values.items():
            writer.add_scalar(name, value, 0, walltime=0.0)
        rows = [f"| {name} | {value} |" for name, value in entry.parameters.items()]
        writer.add_text("plan", "\n".join(["| parameter | value |", "| --- | --- |", *rows]), walltime=0.0)
        writer.add_text("mark", entry.mark, walltime=0.0)
    (written,) = partial.iterdir()
    os.replace(written, folder / EVENTS)
    partial.rmdir()
    return str(folder)
