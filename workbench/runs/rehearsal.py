"""Expected time and memory of a plan: a few steps of every stage on random records, in a process of its own with a time limit.

No record of any dataset is touched, so a rehearsal costs no privacy. `python -m workbench.runs.rehearsal` reads a plan and
performance settings as JSON from its input and prints a line of JSON a stage.
"""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

import numpy as np
import psutil
from pydantic import BaseModel, ConfigDict

from workbench.serialization import dumps

LIMIT_SECONDS, STARTING_SECONDS = 20, 60  # for the steps, and at most for the process to get ready
MEASURED_STEPS = 3
PUBLIC_RECORDS = 2000  # enough for any batch of the pre-training that is timed


class StagePace(BaseModel):
    """How long a stage will take; `seconds_per_step` is a lower bound where `at_least`."""

    model_config = ConfigDict(frozen=True)

    stage: str
    steps: int
    seconds_per_step: float
    at_least: bool = False

    @property
    def seconds(self) -> float:
        """Expected seconds of the whole stage."""
        return self.steps * self.seconds_per_step


class Expectation(BaseModel):
    """What a rehearsal found on this machine, as busy as it was then."""

    model_config = ConfigDict(frozen=True)

    stages: tuple[StagePace, ...]
    peak_bytes: int

    @property
    def seconds(self) -> float:
        """Expected seconds of all stages."""
        return sum(stage.seconds for stage in self.stages)

    @property
    def at_least(self) -> bool:
        """Whether a stage was cut off, so that the true time is longer."""
        return any(stage.at_least for stage in self.stages)


class Rehearsal:
    """A rehearsal at work: `poll` until it is done, then take its `result`; `stop` it if it is no longer wanted."""

    def __init__(self, plan: BaseModel, performance: BaseModel, limit_seconds: int = LIMIT_SECONDS) -> None:
        self._began, self._limit = time.monotonic(), limit_seconds + STARTING_SECONDS
        self._resident = 0
        command = [sys.executable, "-m", "workbench.runs.rehearsal"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self._process.stdin is not None
        self._process.stdin.write(dumps({"plan": plan, "performance": performance, "limit_seconds": limit_seconds}))
        self._process.stdin.close()
        self._process.stdin = None

    @property
    def share(self) -> float:
        """How much of the time limit has passed, 0 to 1."""
        return min(1.0, (time.monotonic() - self._began) / self._limit)

    def poll(self) -> bool:
        """Whether it has ended, by itself or by the time limit."""
        if self._process.poll() is None:
            self._look_at_memory()
            if self.share >= 1.0:
                self._process.kill()
                self._process.wait()
        return self._process.poll() is not None

    def stop(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()

    def result(self) -> Expectation | None:
        """What was found; None where the process failed before it could say anything."""
        output, _ = self._process.communicate()
        return read_lines([json.loads(line) for line in output.splitlines() if line.endswith("}")], time.monotonic(), self._resident)

    def _look_at_memory(self) -> None:
        with suppress(psutil.Error):
            self._resident = max(self._resident, psutil.Process(self._process.pid).memory_info().rss)


def read_lines(lines: Sequence[dict[str, Any]], now: float, resident: int) -> Expectation | None:
    """The expectation from what the process printed until `now`; a stage without a finished step is a lower bound."""
    plan = next((line["stages"] for line in lines if "stages" in line), None)
    if plan is None:
        return None
    paces = {line["stage"]: line["seconds_per_step"] for line in lines if "stage" in line}
    begun = {line["begins"]: line["at"] for line in lines if "begins" in line}
    stages = [
        StagePace(stage=name, steps=steps, seconds_per_step=paces.get(name, now - begun.get(name, now)), at_least=name not in paces)
        for name, steps in plan.items()
    ]
    return Expectation(stages=tuple(stages), peak_bytes=max([resident, *[line["peak_bytes"] for line in lines if "peak_bytes" in line]]))


def main() -> None:
    """Rehearse the plan given on standard input."""
    from workbench import experiment
    from workbench.training.state import PerformanceSettings

    request = json.load(sys.stdin)
    plan = experiment.Plan.model_validate(request["plan"])
    performance = PerformanceSettings.model_validate(request["performance"])
    signal.alarm(request["limit_seconds"])  # ends the process: what it printed until then is the result
    for line in rehearse(plan, performance):
        print(dumps(line), flush=True)


def rehearse(plan: Any, performance: Any) -> Iterator[dict[str, Any]]:
    """Lines of what is found: all stages, when each begins, the mean time of its steps so far, and peak memory.

    Each stage is begun as if those before it were complete. Its first step, which also sets things up, counts only while
    it is the only one.
    """
    from workbench import experiment
    from workbench.training.cost import peak_memory

    facts, method = plan.facts, plan.build()
    stages = method.stages(facts)
    yield {"stages": {stage.name: stage.steps for stage in stages}}
    state = experiment.new_state(plan, performance, seed=0)
    data = random_records(facts, facts.num_records)
    public = random_records(facts, PUBLIC_RECORDS) if method.public_dataset else None
    for position, stage in enumerate(stages):
        state.steps = {earlier.name: earlier.steps for earlier in stages[:position]}
        yield {"begins": stage.name, "at": time.monotonic()}
        began, times = time.monotonic(), []
        for step in islice(method.fit(data, public, state), MEASURED_STEPS):
            if step.stage != stage.name:
                break
            times.append(time.monotonic() - began)
            yield {"stage": stage.name, "seconds_per_step": float(np.mean(times[1:] or times))}
            began = time.monotonic()
        yield {"peak_bytes": peak_memory(state.device)}


def random_records(facts: Any, count: int) -> Any:
    """Records of the dataset's schema drawn evenly at random, with labels in turn."""
    from workbench.datasets import Records

    draw = np.random.default_rng(0)
    if facts.kind == "image":
        records = draw.integers(0, 256, (count, *facts.shape), dtype=np.uint8)
    else:
        records = np.stack([draw.integers(0, size, count) for size in facts.categories], axis=1)
    labels = np.arange(count, dtype=np.int64) % facts.num_classes if facts.num_classes else None
    return Records(records, labels, {name: draw.integers(0, 2, count) for name in facts.attributes})


if __name__ == "__main__":
    main()
