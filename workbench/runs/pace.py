"""Expected time and memory of a plan: its sizes times what this machine takes for a row of its network.

The pace is measured once a machine, network and performance settings (`workbench.runs.rehearsal`) and kept in the workspace.
What calibration finds changes no size, so another target epsilon needs no other measurement.
"""

import hashlib
import json
import os
import platform
import time
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from workbench.files import make_private_folder, write_text_atomically
from workbench.methods.fields import dotted, part_of
from workbench.serialization import dumps
from workbench.workspace import Workspace

if TYPE_CHECKING:
    from workbench.plan import Plan
    from workbench.training.state import PerformanceSettings

FORMAT = 5  # raised when what is measured changes
DISTURBED = 0.25  # share of the processors beyond which other work slows a measurement that gives way to it
AGAIN_SECONDS = 120.0  # after which a disturbed measurement may be made again
ROWS_AT_ONCE = {"cpu": 128, "cuda": 1024}  # of a large batch, as microbatches take them


Points = tuple[tuple[float, float], ...]  # (rows, seconds of the fastest step), both growing


class Line(BaseModel):
    """A quantity that grows with the number of rows: `fixed + per_row * rows`."""

    model_config = ConfigDict(frozen=True)

    fixed: float
    per_row: float

    def at(self, rows: float) -> float:
        """The quantity at so many rows."""
        return self.fixed + self.per_row * rows


class Steps(BaseModel):
    """Seconds of a step by its number of rows, as measured at growing sizes: lines between them, the last one drawn out.

    `firsts` is what the first step takes beyond the others: it prepares what they use. `spread` is how many times as long as the
    fastest step the usual one took. Times that fall as rows grow are refused.
    """

    model_config = ConfigDict(frozen=True)

    points: Points
    firsts: Points = ((1.0, 0.0),)
    spread: float = Field(1.0, ge=1.0)

    @field_validator("points", "firsts")
    @classmethod
    def _can_be(cls, points: Points) -> Points:
        if not points or list(points) != sorted(points) or [seconds for _, seconds in points] != sorted(seconds for _, seconds in points):
            raise ValueError(f"Expected times that grow with the rows, got {points}.")
        return points

    @classmethod
    def from_points(
        cls, points: Iterable[tuple[float, float]], spread: float = 1.0, firsts: Iterable[tuple[float, float]] = ((1.0, 0.0),)
    ) -> "Steps":
        """The steps of which these were timed."""
        return cls(points=growing_points(points), firsts=growing_points(firsts), spread=spread)

    def at(self, rows: float) -> float:
        """The seconds of a step of so many rows."""
        return self.points[0][1] if len(self.points) == 1 else line(*beside(self.points, rows)).at(rows)

    def of(self, steps: int, rows: float) -> float:
        """The seconds of so many steps of so many rows, the first among them."""
        first = self.firsts[0][1] if len(self.firsts) == 1 else level_or_growing(*beside(self.firsts, rows)).at(rows)
        return first + steps * self.at(rows)


def growing_points(points: Iterable[tuple[float, float]]) -> Points:
    """Of equal and larger sizes the least time, as more rows take no less and other work only slows."""
    least: dict[float, float] = {}
    for rows, seconds in sorted(points, reverse=True):
        least[rows] = min([seconds, *least.values()])
    return tuple(sorted(least.items()))


def beside(points: Points, rows: float) -> Points:
    """The two measured sizes beside one, or the last two."""
    after = next((i for i, (measured, _) in enumerate(points) if rows <= measured), len(points) - 1)
    return points[max(1, after) - 1 : max(1, after) + 1]


def line(one: tuple[float, float], two: tuple[float, float]) -> Line:
    """The line through two points (rows, seconds), in which no rows take no time or more; a level one through equal rows.

    Where more rows took no longer, the time is taken to be in proportion to them: rather too long than too short.
    """
    (few, low), (many, high) = one, two
    if many <= few:
        return Line(fixed=max(low, high), per_row=0.0)
    per_row = (high - low) / (many - few) if 0 < (high - low) / (many - few) < high / many else high / many
    return Line(fixed=high - per_row * many, per_row=per_row)


def level_or_growing(one: tuple[float, float], two: tuple[float, float]) -> Line:
    """The line through two points (rows, seconds) of growing rows, of which the second took as long or longer."""
    (few, low), (many, high) = one, two
    per_row = (high - low) / (many - few)
    return Line(fixed=high - per_row * many, per_row=per_row)


class Pace(BaseModel):
    """What was measured: seconds a step by stage, bytes by rows at once, seconds until the first step."""

    model_config = ConfigDict(frozen=True)

    stages: dict[str, Steps]
    memory: Line
    starting: float
    device: str
    others: float = 0.0  # share of the processors that other work had meanwhile
    taken: float = 0.0  # when, in seconds since the epoch

    @property
    def is_disturbed(self) -> bool:
        """Whether so much other work was done that the steps may be faster than they seemed."""
        return self.others > DISTURBED

    @property
    def is_due(self) -> bool:
        """Whether it should be measured again by now."""
        return self.is_disturbed and time.time() > self.taken + AGAIN_SECONDS

    def joined_with(self, other: "Pace") -> "Pace":
        """What two measurements tell together: of each size the faster, as other work only slows; the rest of the calmer one."""
        calmer = min(self, other, key=lambda pace: pace.others)
        stages = {
            name: Steps.from_points(
                steps.points + other.stages[name].points, calmer.stages[name].spread, steps.firsts + other.stages[name].firsts
            )
            for name, steps in self.stages.items()
        }
        latest = {"stages": stages, "starting": min(self.starting, other.starting), "taken": max(self.taken, other.taken)}
        return calmer.model_copy(update=latest)


class StageTime(BaseModel):
    """How long a stage is expected to take: at the pace of the fastest steps, and at that of the usual ones as they were measured."""

    model_config = ConfigDict(frozen=True)

    stage: str
    steps: int
    seconds: float
    usual: float


class Expectation(BaseModel):
    """Expected time and memory of a run on this machine; `others` is the share of it that other work had when it was measured."""

    model_config = ConfigDict(frozen=True)

    stages: tuple[StageTime, ...]
    starting: float
    peak_bytes: int
    others: float = 0.0

    @property
    def seconds(self) -> float:
        """Expected seconds from the start of the process to its last step, if nothing slows it."""
        return self.starting + sum(stage.seconds for stage in self.stages)

    @property
    def interval(self) -> tuple[float, float]:
        """`seconds`, and what it takes where the machine is as busy as it was."""
        return self.seconds, self.starting + sum(stage.usual for stage in self.stages)


def expectation_of(plan: "Plan", pace: Pace) -> Expectation:
    """The time and memory of `plan` at a measured pace."""
    rows = rows_of(plan)
    times = [_time(stage.name, stage.steps, pace.stages[stage.name], rows[stage.name]) for stage in plan.releases]
    at_once = min(max(rows.values(), default=1.0), ROWS_AT_ONCE[pace.device])
    records = plan.num_records * plan.facts.dimensions * 5  # bytes as they are, and as float32
    peak = int(pace.memory.at(at_once)) + records
    return Expectation(stages=tuple(times), starting=pace.starting, peak_bytes=peak, others=pace.others)


def _time(stage: str, steps: int, pace: Steps, rows: float) -> StageTime:
    seconds = pace.of(steps, rows)
    return StageTime(stage=stage, steps=steps, seconds=seconds, usual=seconds * pace.spread)


def rows_of(plan: "Plan") -> dict[str, float]:
    """Rows that a step of each stage passes through what it computes."""
    return {stage.name: stage.rows_of(plan.num_records) for stage in plan.build().stages(plan.facts)}


def known_pace(workspace: Workspace, plan: "Plan", performance: "PerformanceSettings") -> Pace | None:
    """The pace that has been measured for `plan`'s network on this machine, or None."""
    return kept_pace(place_of(workspace, plan, performance))


def kept_pace(path: Path) -> Pace | None:
    """The pace kept in a file; None where there is none, or one that cannot be."""
    try:
        return Pace.model_validate_json(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValidationError):
        return None


def keep(pace: Pace, path: Path) -> None:
    """Keep a measured pace."""
    make_private_folder(path.parent)
    write_text_atomically(path, dumps(pace))


def place_of(workspace: Workspace, plan: "Plan", performance: "PerformanceSettings") -> Path:
    """The file of the pace that `plan` needs: one a machine, network and performance settings."""
    machine = (platform.node(), platform.machine(), os.cpu_count(), version("torch"))
    facts = plan.facts
    what = [FORMAT, machine, plan.method, facts.kind, facts.num_classes, _shapes(plan), performance]
    return pace_file(workspace, hashlib.sha256(dumps(what).encode()).hexdigest()[:32])


def pace_file(workspace: Workspace, name: str) -> Path:
    """The file of the pace called `name`."""
    return workspace.cache / "pace" / f"{name}.json"


def _shapes(plan: "Plan") -> dict[str, Any]:
    """The values of the configuration that change the time of a row, or of a step where a method names no sizes."""
    method, given = plan.build(), json.loads(dumps(plan.config))
    if method.shapes is not None:
        return part_of(given, method.shapes)
    calibrated_names = {field.name for field in method.calibrated_fields}
    return {name: value for name, value in dotted(given).items() if name not in calibrated_names}
