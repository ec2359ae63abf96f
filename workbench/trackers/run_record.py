"""What a tracker is told of a run: plan, bound and claim as parameters, measures as values, losses as series; each by its mark."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from workbench.marks import MARKS, may_leave
from workbench.methods.fields import dotted
from workbench.runs import finished
from workbench.runs.audits import kept_audit
from workbench.runs.folder import RunFolder
from workbench.runs.release.export import restated_plan
from workbench.runs.run import Run
from workbench.runs.store import RunStore
from workbench.workspace import Workspace


@dataclass(frozen=True)
class TrackedRun:
    """A run as a tracker sees it.

    `parameters` are what was planned, by dotted name; `values` are measures by name; `series` are the means that training recorded, as
    (step over all stages, value). `left_out` names what may not leave the room and was not told. `private`: some of it was told.
    """

    run: str
    dataset: str
    parameters: dict[str, str]
    values: dict[str, float]
    series: dict[str, list[tuple[int, float]]]
    left_out: tuple[str, ...]
    private: bool

    @property
    def mark(self) -> str:
        """What stands at the run in the tracker."""
        if self.private:
            return "private: values computed from the records without noise are among these"
        return "releasable: every value was computed without the records, or is covered by the proved bound"


def tracked_run(workspace: Workspace, run_id: str, private: bool = False) -> TrackedRun:
    """What may be told of a run; with `private` also what may not leave the room."""
    run = RunStore(workspace).get(run_id)
    values: dict[str, float] = {}
    series: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
    kept_here: set[str] = set()
    for name, value, leaves in kept_measures(workspace, run):
        if leaves or private:
            values[name] = value
        if not leaves:
            kept_here.add(name)
    for name, step, value, leaves in recorded_values(workspace, run):
        if leaves or private:
            series[name].append((step, value))
        if not leaves:
            kept_here.add(name)
    left_out = () if private else tuple(sorted(kept_here))
    return TrackedRun(run.id, run.plan.facts.name, parameters_of(run), values, dict(series), left_out, bool(private and kept_here))


def parameters_of(run: Run) -> dict[str, str]:
    """What was planned and what that costs, with no place of a file."""
    plan = restated_plan(run.plan)
    costs = {"bound": run.bound, "claim": run.claim}
    said = {f"{name}.{part}": getattr(value, part) for name, value in costs.items() for part in ("epsilon", "delta", "status")}
    config = {f"config.{name}": value for name, value in dotted(plan.config).items()}
    return {name: str(value) for name, value in {"method": run.method, "dataset": plan.facts.name, **said, **config}.items()}


def kept_measures(workspace: Workspace, run: Run) -> Iterator[tuple[str, float, bool]]:
    """The measures that are kept of a run's samples, and its audit: name, value, whether it may leave the room."""
    for result in finished.kept_results(workspace, run.id):
        for name in MARKS:
            value: Any = result.get(name)
            if isinstance(value, int | float):
                yield result["name"] if name == "value" else f"{result['name']}/{name}", float(value), may_leave(result, name)
    audit = kept_audit(workspace, run.id)
    if audit is not None:
        yield "audit/epsilon", audit.epsilon, audit.may_leave


def recorded_values(workspace: Workspace, run: Run) -> Iterator[tuple[str, int, float, bool]]:
    """What training recorded: name with its stage, step, value, whether it may leave the room."""
    for row in RunFolder(workspace, run.id).read_metrics():
        for name, value in row["values"].items():
            yield f"{row['stage']}/{name}", row["step"], float(value), not row["private"]
