"""The folder of a run: where each of its files lies, and how the plain ones are read."""

import errno
import json
import os
import re
import secrets
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from workbench.files import make_private_folder, open_private, sync_folder, tail
from workbench.records import KINDS
from workbench.runs.run import check_run_id
from workbench.training import checkpoint_files
from workbench.training.state import load_saved, save_atomically
from workbench.workspace import Workspace

SHOWN = re.compile(r"[0-9]{6,}\.(?P<step>[0-9]+)\.(?P<stage>.+)")  # the name of what a step had to show, less its ending
SIZE = "size.pt"


class RunFolder:
    """Paths of one run's files. `checkpoint` and those beside it hold the noise key; `private` and `metrics` may never leave the room."""

    def __init__(self, workspace: Workspace, run_id: str) -> None:
        self.path = workspace.runs / check_run_id(run_id)
        self.plan = self.path / "plan.json"
        self.metrics = self.path / "metrics.jsonl"
        self.log = self.path / "log.txt"
        self.checkpoint = self.path / checkpoint_files.CHECKPOINT
        self.sizes = self.path / "microbatch"
        self.worker_lock = self.path / "worker.lock"
        self.model = self.path / "model.pt"
        self.private = self.path / "private.pt"
        self.previews = self.path / "previews"
        self.samples = self.path / "samples"
        self.drawing = self.samples / "drawing.jsonl"
        self.evaluation = self.path / "evaluation.json"
        self.audit = self.path / "audit.json"
        self.statements = self.path / "statements.json"
        self.environments_file = self.path / "environments.jsonl"

    def create(self) -> None:
        """Make the folder, readable by its owner alone."""
        for path in (self.path, self.previews, self.samples):
            make_private_folder(path)

    def remove(self) -> None:
        """Erase the noise key, then everything else."""
        self.erase_checkpoint()
        shutil.rmtree(self.path.resolve(), ignore_errors=True)
        if self.path.is_symlink():  # to a place that the machines of an engine share
            self.path.unlink()

    @property
    def can_go_on(self) -> bool:
        """Whether there is a checkpoint to resume from, be it the one before the newest."""
        return checkpoint_files.is_there(self.checkpoint)

    def erase_checkpoint(self) -> None:
        """Overwrite and remove all checkpoints, and with them the noise key."""
        checkpoint_files.erase_all(self.checkpoint)

    def keep_size(self, purpose: str, size: int) -> int:
        """The microbatch size of a purpose: the one that a process of the run kept first, or `size`, which is on the disk on return.

        It stays as long as the folder: a process that was left behind may ask at any time, and has to split its sums alike. A folder
        with a file in it is never renamed over, so of several processes one is the first.
        """
        place, made = self.sizes / quote(purpose, safe=""), self.sizes / f".{secrets.token_hex(8)}"
        if not place.exists():
            make_private_folder(made)
            try:
                save_atomically({"size": size}, made / SIZE)
                os.rename(made, place)
            except OSError as error:
                shutil.rmtree(made, ignore_errors=True)
                if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                    raise
        sync_folder(self.sizes)
        sync_folder(self.path)
        return load_saved(place / SIZE, sealed=True)["size"]

    def log_tail(self, lines: int = 20) -> str:
        """The last lines of the log; empty if there is none."""
        return tail(self.log, lines)

    def read_metrics(self) -> list[dict[str, Any]]:
        """One dict a recorded step, in order of the step; a step replayed after a resume counts once, as last recorded.

        Keys: `stage`, `stage_step`, `step` (over all stages), `values` (by name, the mean since the line before),
        `seconds` (since the attempt began), `private` (may not leave the room), `peak_bytes` (of the attempt so far; see `peak_bytes`).
        """
        latest = {row["step"]: row for row in _rows(self.metrics)}
        return [latest[step] for step in sorted(latest)]

    def peak_bytes(self) -> int | None:
        """The most memory that an attempt at the run has held: of the GPU if it trained on one, else resident; None before a step."""
        return max((row["peak_bytes"] for row in self.read_metrics() if "peak_bytes" in row), default=None)

    def note_environment(self, attempt: int, environment: dict[str, str]) -> None:
        """Keep what an attempt was made with: the source's digest, torch, processor, threads and so on."""
        _append(self.environments_file, {"attempt": attempt, **environment})

    def environments(self) -> list[dict[str, Any]]:
        """What each attempt was made with, in order; none where that was not noted."""
        return _rows(self.environments_file)

    def note_drawing(self, source: str, num_samples: int, seconds: float) -> None:
        """Keep how long it took to draw samples of `source` ("model" or "public")."""
        _append(self.drawing, {"source": source, "num_samples": num_samples, "seconds": seconds})

    def drawing_seconds(self, source: str = "model") -> float | None:
        """How long it took to draw the kept samples of `source`; None if that was not noted."""
        taken = [row["seconds"] for row in _rows(self.drawing) if row["source"] == source]
        return sum(taken) if taken else None

    def preview(self) -> Path | None:
        """The latest preview (a PNG of images, a CSV of table rows), or None."""
        paths = (self.previews / kind.preview_file for kind in KINDS.values())
        return next((path for path in paths if path.exists()), None)

    def shown_step(self, stage: str, step: int, total: int, like: str) -> Path:
        """The file of what step `step` of `stage`, the `total`-th over all stages, has to show; its ending is that of `like`."""
        return self.previews / f"{total:06d}.{step}.{quote(stage, safe='')}{Path(like).suffix}"

    def shown_steps(self) -> list[tuple[str, int, Path]]:
        """Stage, step and file of what single steps had to show, in order."""
        endings = {Path(kind.preview_file).suffix for kind in KINDS.values()}
        matches = [(path, SHOWN.fullmatch(path.stem)) for path in sorted(self.previews.glob("*")) if path.suffix in endings]
        return [(unquote(match["stage"]), int(match["step"]), path) for path, match in matches if match]


def _append(path: Path, row: dict[str, Any]) -> None:
    with open_private(path, "a") as file:
        file.write(json.dumps(row) + "\n")


def _rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file of JSON lines; none of a file that is not there."""
    lines = path.read_text().splitlines() if path.exists() else []
    return [row for row in map(_parsed_row, lines) if row is not None]


def _parsed_row(line: str) -> dict[str, Any] | None:
    """A line as a row, or None for one that a crash or a writer at work cut short."""
    try:
        return json.loads(line)
    except json.JSONDecodeError:
        return None
