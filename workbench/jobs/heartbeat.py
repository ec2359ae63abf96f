"""The worker's sign of life: a thread that writes progress to the registry and hears of a cancellation there."""

import os
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType

from workbench.errors import WorkbenchError
from workbench.jobs.job import JobState

BEAT_SECONDS = 2.0


@dataclass
class Progress:
    """Where the work stands, written by the main thread and read by the heartbeat.

    What was spent, and how often each stage was `charged` (and charged again), is None until it has been read.
    """

    stage: str = ""
    step: int = 0
    epsilon_spent: float | None = None
    charged: Mapping[str, tuple[int, int]] | None = None


@dataclass
class StopSignal:
    """Why the work should stop at the next step: `cancelled` with what it can keep, `taken_over` without touching anything."""

    cancelled: bool = False
    taken_over: bool = False

    def __bool__(self) -> bool:
        return self.cancelled or self.taken_over


class StoppedError(Exception):
    """Work came to its end because it was asked to."""


class Heartbeat:
    """Calls `beat` every 2 seconds while the block runs; a worker that ignores its cancellation for `grace_seconds` is killed.

    `beat` writes a sign of life and returns the job's state, None where another process has taken over.
    """

    def __init__(self, beat: Callable[[], JobState | None], stop: StopSignal, grace_seconds: float) -> None:
        self._beat, self._stop, self._grace_seconds = beat, stop, grace_seconds
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
        """Write one sign of life; where it cannot be written just now, it is tried again at the next."""
        try:
            state = self._beat()
        except (sqlite3.Error, OSError, WorkbenchError) as error:
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
