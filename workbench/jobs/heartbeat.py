"""The worker's sign of life: a thread that writes progress to the registry and hears of a cancellation there."""

import os
import signal
import sqlite3
import threading
import time
from dataclasses import dataclass
from types import TracebackType

from workbench.errors import WorkbenchError
from workbench.jobs.store import RunStore

BEAT_SECONDS = 2.0


@dataclass
class Progress:
    """Where the fit stands, written by the main thread and read by the heartbeat."""

    stage: str = ""
    step: int = 0
    epsilon_spent: float = 0.0


@dataclass
class StopSignal:
    """Why the fit should stop at the next step: `cancelled` with a checkpoint, `taken_over` without touching anything."""

    cancelled: bool = False
    taken_over: bool = False

    def __bool__(self) -> bool:
        return self.cancelled or self.taken_over


class Heartbeat:
    """Beats every 2 seconds while the block runs; a worker that ignores its cancellation for `grace_seconds` is killed."""

    def __init__(self, store: RunStore, run_id: str, attempt: int, progress: Progress, stop: StopSignal, grace_seconds: float) -> None:
        self._store, self._run_id, self._attempt = store, run_id, attempt
        self._progress, self._stop = progress, stop
        self._grace_seconds = grace_seconds
        self._cancelled_at: float | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="heartbeat", daemon=True)

    def __enter__(self) -> "Heartbeat":
        self._thread.start()
        return self

    def __exit__(self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._ended.set()
        self._thread.join(timeout=BEAT_SECONDS * 5)

    def beat(self) -> None:
        """Write one sign of life; a registry that cannot be written just now is tried again at the next."""
        progress = self._progress
        try:
            state = self._store.beat(
                self._run_id, self._attempt, stage=progress.stage, step=progress.step, epsilon_spent=progress.epsilon_spent
            )
        except (sqlite3.Error, WorkbenchError) as error:
            print(f"The registry could not be written: {error}", flush=True)
            return
        if state is None:
            self._stop.taken_over = True
        elif state == "cancelling":
            self._stop.cancelled = True

    def _loop(self) -> None:
        while not self._ended.wait(BEAT_SECONDS):
            self.beat()
            self._enforce_grace()

    def _enforce_grace(self) -> None:
        if not self._stop:
            return
        self._cancelled_at = self._cancelled_at or time.monotonic()
        if time.monotonic() - self._cancelled_at > self._grace_seconds:
            print("The step at work did not end in time after the cancellation; the worker is killed.", flush=True)
            os.killpg(os.getpgrp(), signal.SIGKILL)
