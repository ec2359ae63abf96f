"""Measures a pace: a few small steps of every stage on random records, in a process of its own.

No record of any dataset is touched, so a rehearsal costs no privacy. `python -m workbench.jobs.rehearsal` reads a plan and
performance settings as JSON from its input and keeps what it finds in the workspace; pages look there and never wait.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any

import numpy as np
import psutil
from pydantic import BaseModel

from workbench.jobs.pace import Line, Pace, Steps, keep, known_pace, place_of, rows_of
from workbench.locks import locked
from workbench.methods.fields import dotted, value_at, with_values
from workbench.plan import Plan
from workbench.serialization import dumps
from workbench.workspace import Workspace

STEPS, SECONDS = 100, 0.3  # a stage is measured for so many steps or so long; two steps at least
ROWS = {"cpu": (12, 48, 192, 768, 3072), "cuda": (64, 512, 4096, 32768)}  # sizes of a step, each measured while the one before was quick
LONG_STEP = 0.25  # seconds of a step after which no larger one is measured
SECONDS_OF_NOTHING = 1e-6
NICENESS = 10


class Rehearsal:
    """A rehearsal at work, begun at once; `ended` says whether it is over, `failure` why it found nothing."""

    def __init__(self, workspace: Workspace, plan: BaseModel, performance: BaseModel) -> None:
        command = [sys.executable, "-m", "workbench.jobs.rehearsal"]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
        self._process = subprocess.Popen(command, **pipes, start_new_session=True, env={**os.environ, **workspace.environment})
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(dumps({"plan": plan, "performance": performance}))
            self._process.stdin.close()
        self._process.stdin = None

    @property
    def ended(self) -> bool:
        """Whether the process is over."""
        return self._process.poll() is not None

    @property
    def failure(self) -> str:
        """The last line that a failed process wrote; empty while it works and where it found a pace."""
        if not self._process.poll():
            return ""
        _, said = self._process.communicate()
        return (said.strip().splitlines() or [f"The process ended with {self._process.returncode}."])[-1]

    def wait(self, seconds: float) -> None:
        """Return once it is over, at the latest after so many seconds."""
        self._process.wait(seconds)


def main() -> None:
    """Measure what the plan given on standard input needs, unless it is known; one process at a time, behind other work."""
    workspace = Workspace.default()
    request, before = json.load(sys.stdin), time.time() - psutil.Process().create_time()
    with in_turn(workspace):
        began = time.perf_counter()
        from workbench.training.state import PerformanceSettings

        plan = Plan.model_validate(request["plan"])
        performance = PerformanceSettings.model_validate(request["performance"])
        if known_pace(workspace, plan, performance) is None:
            performance.torch_device()  # imports what the first step of a run waits for
            starting = before + time.perf_counter() - began  # without the wait for its turn
            keep(measure(plan, performance, starting), place_of(workspace, plan, performance))


@contextmanager
def in_turn(workspace: Workspace) -> Iterator[None]:
    """Hold the workspace's lock of work that the pages begin by themselves: one at a time, so that the pages keep a processor."""
    with locked(workspace.home / "background.lock"):
        yield


def measure(plan: Any, performance: Any, starting: float) -> Pace:
    """The pace of `plan`'s stages at two sizes, drawn out as lines; `starting` is how long a process takes to get here."""
    from workbench.training.cost import peak_memory

    device = performance.torch_device()
    if performance.num_threads:
        import torch

        torch.set_num_threads(performance.num_threads)
    points: dict[str, list[tuple[float, float]]] = {}
    peaks: list[tuple[float, float]] = []
    for least, size in enumerate(ROWS[device.type], 1):
        sized = _at_size(plan, size, least)
        times = stage_seconds(sized, performance)
        rows = {name: rows_of(sized.build(), sized, name) for name in times}
        for name, seconds in times.items():
            points.setdefault(name, []).append((rows[name], seconds))
        peaks.append((max(rows.values()), peak_memory(device)))
        if len(peaks) > 1 and (peaks[-1][0] == peaks[-2][0] or max(times.values()) > LONG_STEP):
            break
    (few, low), (many, high) = peaks[:2]
    each = (high - low) / (many - few) if many > few else 0.0
    memory = Line(fixed=high - each * many, per_row=each)
    return Pace(
        stages={name: Steps(points=_growing(found)) for name, found in points.items()}, memory=memory, starting=starting, device=device.type
    )


def _growing(points: list[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """The points in order of rows, the slowest of equal ones."""
    slowest: dict[float, float] = {}
    for rows, seconds in points:
        slowest[rows] = max(seconds, slowest.get(rows, 0.0))
    return tuple(sorted(slowest.items()))


def _at_size(plan: Any, rows: int, least: int) -> Any:
    """The plan with about `rows` rows in every step, on the `least` or more records that a batch has: then every batch has that size."""
    method = plan.build()
    named = [names for names in method.workload.rows.values() if names]
    if not named:
        return plan
    others = max(_product(method, names[1:]) for names in named)
    count = max(least, round(rows / others))
    sizes = {names[0]: count for names in named if names[0] != "num_records"}
    facts = plan.facts.model_copy(update={"num_records": count})
    return plan.at(type(method)(with_values(method.config, sizes)), facts)


def _product(method: Any, names: tuple[str, ...]) -> float:
    return float(np.prod([value_at(method.config, name) for name in names]))


def stage_seconds(plan: Any, performance: Any) -> dict[str, float]:
    """Seconds of a step by stage, each begun as if those before it were complete: the fastest, as other work only slows them.

    The first step, which also sets things up, counts only while it is the only one.
    """
    from workbench import experiment

    facts, method = plan.facts, plan.build()
    stages = method.stages(facts)
    state = experiment.new_state(plan, performance, seed=0)
    data = facts.draw(facts.num_records)
    largest = max([facts.num_records, *(value for value in dotted(plan.config).values() if type(value) is int and value <= 4096)])
    public = facts.draw(largest) if method.public_dataset else None
    found = {}
    for position, stage in enumerate(stages):
        state.steps = {earlier.name: earlier.steps for earlier in stages[:position]}
        began, times = time.perf_counter(), []
        for step in islice(method.fit(data, public, state), len(stages) * (STEPS + 1)):  # stages may take turns
            if step.stage == stage.name:
                times.append(time.perf_counter() - began)
                if step.step == step.steps or len(times) > STEPS or (len(times) > 1 and sum(times) > SECONDS):
                    break
            began = time.perf_counter()
        found[stage.name] = min(times[1:] or times or [SECONDS_OF_NOTHING])
    return found


if __name__ == "__main__":
    os.nice(NICENESS)
    main()
