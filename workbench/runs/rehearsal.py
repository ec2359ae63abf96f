"""Measures a pace: a few small steps of every stage on random records, by a job of its own; pages look for it and never wait.

No record of any dataset is touched, so a rehearsal costs no privacy.
"""

import json
import time
from collections import defaultdict
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import psutil

from workbench.files import make_private_folder, write_text_atomically
from workbench.methods.fields import dotted, trainings
from workbench.models.teachers.config import Ensemble
from workbench.plan import Plan
from workbench.runs.pace import Line, Pace, Steps, keep, kept_pace, pace_file, place_of, rows_of
from workbench.serialization import dumps
from workbench.workspace import Workspace

if TYPE_CHECKING:
    from workbench.training.state import PerformanceSettings

STEPS, SECONDS = 100, 0.3  # a stage is measured for so many steps or so long; two steps at least
ROWS = {"cpu": (12, 48, 192, 768, 3072), "cuda": (64, 512, 4096, 32768)}  # sizes of a step, each measured while the one before was quick
LONG_STEP = 0.25  # seconds of a step after which no larger one is measured
SECONDS_OF_NOTHING = 1e-6
MOST_PUBLIC = 4096  # public images of a rehearsal


def ask(workspace: Workspace, plan: Plan, performance: "PerformanceSettings") -> str:
    """Leave what is to be measured for `rehearse`; returns the name of its pace. Plans that need the same share one."""
    place = place_of(workspace, plan, performance)
    make_private_folder(place.parent)
    write_text_atomically(_plan_of(place), dumps({"plan": plan, "performance": performance}))
    return place.stem


def rehearse(workspace: Workspace, pace: str, waited: float) -> None:
    """What the job does: measure the pace of that name, unless it is known and was not disturbed.

    Its process has waited so many seconds for its turn.
    """
    place = pace_file(workspace, pace)
    known = kept_pace(place)
    if known is not None and not known.is_due:
        return
    from workbench.training.state import PerformanceSettings

    request = json.loads(_plan_of(place).read_text(encoding="utf-8"))
    plan = Plan.model_validate(request["plan"])
    performance = PerformanceSettings.model_validate(request["performance"])
    performance.torch_device()  # imports what the first step of a run waits for
    starting = time.time() - psutil.Process().create_time() - waited
    new_pace = measure(plan, performance, starting)
    keep(new_pace if known is None else known.joined_with(new_pace), place)


def _plan_of(place: Path) -> Path:
    """Where the plan lies whose pace is kept in `place`."""
    return place.with_suffix(".plan.json")


def measure(plan: Any, performance: Any, starting: float) -> Pace:
    """The pace of `plan`'s stages at two sizes, drawn out as lines; `starting` is how long a process takes to get here."""
    from workbench.training.cost import peak_memory

    device = performance.torch_device()
    if performance.num_threads:
        import torch

        torch.set_num_threads(performance.num_threads)
    points: dict[str, list[tuple[float, float]]] = {}
    firsts: dict[str, list[tuple[float, float]]] = {}
    spreads: dict[str, float] = {}
    work = Work.now()
    peaks: list[tuple[float, float]] = []
    for least, size in enumerate(ROWS[device.type], 1):
        sized = _at_size(plan, size, least)
        timed = stage_times(sized, performance)
        times = {name: min(seconds[1:] or seconds) for name, seconds in timed.items()}
        rows = rows_of(sized)
        for name, seconds in times.items():
            points.setdefault(name, []).append((rows[name], seconds))
            firsts.setdefault(name, []).append((rows[name], max(0.0, timed[name][0] - seconds)))
            spreads[name] = max(spreads.get(name, 1.0), median(timed[name][1:] or timed[name]) / seconds)
        peaks.append((max(rows.values()), peak_memory(device)))
        if len(peaks) > 1 and (peaks[-1][0] == peaks[-2][0] or max(times.values()) > LONG_STEP):
            break
    (few, low), (many, high) = peaks[:2]
    each = (high - low) / (many - few) if many > few else 0.0
    memory = Line(fixed=high - each * many, per_row=each)
    stages = {name: Steps.from_points(measurements, spreads[name], firsts[name]) for name, measurements in points.items()}
    return Pace(stages=stages, memory=memory, starting=starting, device=device.type, others=work.others(), taken=time.time())


@dataclass(frozen=True)
class Work:
    """What the processors have done up to a moment, in seconds: all of them, and for this process."""

    moment: float
    done: float
    own: float

    @classmethod
    def now(cls) -> "Work":
        """Up to now."""
        times = psutil.cpu_times()
        idle = times.idle + getattr(times, "iowait", 0.0) + getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)
        return cls(time.monotonic(), sum(times) - idle, time.process_time())

    def others(self) -> float:
        """The share of the processors that other processes had since then, from 0 to 1."""
        now = Work.now()
        theirs = (now.done - self.done) - (now.own - self.own)
        return min(1.0, max(0.0, theirs / ((now.moment - self.moment) * (psutil.cpu_count() or 1))))


def _at_size(plan: Any, rows: int, least: int) -> Any:
    """The plan with about `rows` rows in every step, on the `least` or more records that a batch has: then every batch has that size."""
    method = plan.build()
    config = method.config.of_size(rows, least)
    count = next((int(training.batch_size) for training in trainings(config)), max(least, rows))
    parted = (part.number * part.batch_size for _, part in config if isinstance(part, Ensemble))  # each teacher has records of its own
    count = max(count, *parted, 1)
    return plan.at(type(method)(config), plan.facts.model_copy(update={"num_records": count}))


def stage_times(plan: Any, performance: Any) -> dict[str, list[float]]:
    """Seconds of each timed step by stage, which is begun as if those before it were complete; other work only slows them.

    A stage that takes turns with one before it is timed in its turns. The first step also prepares what the others use.
    """
    from workbench import experiment

    facts, method = plan.facts, plan.build()
    stages = method.stages(facts)
    state = experiment.new_state(plan, performance, seed=0)
    data = facts.draw(facts.num_records)
    public = facts.draw(_public_records(plan, method)) if method.public_dataset else None
    stage_seconds: dict[str, list[float]] = {}
    for position, stage in enumerate(stages):
        if stage.name in stage_seconds:
            continue
        state.steps = {earlier.name: earlier.steps for earlier in stages[:position]}
        began, times = time.perf_counter(), defaultdict[str, list[float]](list)
        for step in islice(method.fit(data, public, state), len(stages) * (STEPS + 1)):
            times[step.stage].append(time.perf_counter() - began)
            if step.stage == stage.name and _is_timed(times[step.stage], step.step == step.steps):
                break
            began = time.perf_counter()
        stage_seconds |= {stage.name: [SECONDS_OF_NOTHING]} | times
    return stage_seconds


def _is_timed(times: list[float], is_last: bool) -> bool:
    """Whether a stage's steps are complete, so many, or so long."""
    return is_last or len(times) > STEPS or sum(times[1:]) > SECONDS


def _public_records(plan: Any, method: Any) -> int:
    """Public images of a rehearsal: as many as the method asks for, else enough for every number of its configuration."""
    count = method.public_records or MOST_PUBLIC + 1
    small = (value for value in dotted(plan.config).values() if type(value) is int and value <= MOST_PUBLIC)
    return count if count <= MOST_PUBLIC else max(plan.facts.num_records, *small, 1)
