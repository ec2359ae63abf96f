"""What was set for the whole queue of a home, and the room that its machine has for jobs."""

import sqlite3
from collections.abc import Iterable
from dataclasses import replace
from functools import cache

import psutil
from pydantic import BaseModel, ConfigDict, Field

from workbench.jobs.job import Job
from workbench.jobs.queue.places import Room, on_gpu
from workbench.lazy import torch


class Settings(BaseModel):
    """The one row of the table `queue`: whether it is paused, and how many runs the CPU takes at once."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    paused: bool = False
    cpu_runs: int = Field(default=1, ge=1, le=1024)


def stored_settings(connection: sqlite3.Connection) -> Settings:
    """What is set."""
    row = connection.execute("SELECT paused, cpu_runs FROM queue").fetchone()
    return Settings(paused=bool(row["paused"]), cpu_runs=row["cpu_runs"])


def write(connection: sqlite3.Connection, settings: Settings) -> None:
    """Set it."""
    connection.execute("UPDATE queue SET paused = ?, cpu_runs = ?", (settings.paused, settings.cpu_runs))


def machine(waiting: Iterable[Job]) -> Room:
    """The room of this machine before anything is set; GPUs are counted only where a job waits for one: that takes seconds at first."""
    gpus = visible_gpus() if any(on_gpu(job.terms.device) for job in waiting) else 0
    return Room(gpus=gpus, memory=psutil.virtual_memory().total)


def with_settings(room: Room, settings: Settings) -> Room:
    """The room of the machine as the queue is set."""
    return replace(room, cpu_runs=settings.cpu_runs, paused=settings.paused)


@cache
def visible_gpus() -> int:
    """How many GPUs processes that start here can use."""
    return torch.cuda.device_count()
