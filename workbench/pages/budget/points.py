"""Evaluated runs as points and lines of the utility chart."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from workbench.evaluation import METRICS, PROTOCOLS
from workbench.evaluation.protocols import OWN
from workbench.marks import MARKS, mark, may_leave
from workbench.privacy.accounting.accountants import ACCOUNTANTS
from workbench.runs.audits import AuditRecord
from workbench.runs.paid import accountants_of
from workbench.runs.run import Run
from workbench.ui.formats import number
from workbench.ui.runs import as_float, audits_among, equal_audit, known_runs, results_of, warning_marks
from workbench.workspace import Workspace

OWN_COLUMNS = ("method", "epsilon", "value", "low", "high", "label", "features", "protocol")


def own_points(runs: Sequence[Run], measure: str, axis: str) -> tuple[pd.DataFrame, list[str]]:
    """Evaluated runs as points of the utility chart, at the epsilon of accountant `axis` or of the paper's claim.

    Returns the points (columns `OWN_COLUMNS`) and, for each run that has no number on this axis, why.
    """
    points, missing = [], []
    audits = audits_among(known_runs()) if axis == "audit" else None
    for run in runs:
        for row in results_of(run.id):
            if row["name"] not in on_axis(measure) or row["value"] is None:
                continue
            epsilon = axis_epsilon(run, axis, audits)
            if isinstance(epsilon, str):
                missing.append(f"{run.id}: {epsilon}")
                continue
            low, high = row["interval"] or (row["value"], row["value"])
            label, features = _label(run, epsilon, row), row["features"]
            values = (as_float(row["value"]), as_float(low), as_float(high))
            points.append((run.method, epsilon, *values, label, features, protocol_of(row)))
    return pd.DataFrame(points, columns=list(OWN_COLUMNS)), missing


def on_axis(measure: str) -> list[str]:
    """The measures whose values stand on the axis of one: itself, and the same by another protocol."""
    return [measure, *(name for name, metric in METRICS.items() if metric.beside == measure)]


def protocol_of(row: Mapping[Any, Any]) -> str:
    """By which protocol a value was taken, which its measure tells, and where that was cut down by its number of samples."""
    metric = METRICS.get(row.get("name") or row["measure"])
    return PROTOCOLS[OWN if metric is None else metric.protocol].label(int(row["num_samples"]))


def axis_epsilon(run: Run, axis: str, audits: Sequence[tuple[Run, AuditRecord]] | None = None) -> float | str:
    """A run's epsilon by an accountant, by its claim or by the newest of `audits` of an equal plan; the reason where there is none.

    `audits` are all that there are, newest first; they are looked for here if not given.
    """
    if axis == "audit":
        record = equal_audit(audits_among(known_runs()) if audits is None else audits, run.plan)
        if record is None:
            return "no audit of an equal plan has been run"
        return record.epsilon or f"the audit of run {record.run} proves nothing above 0, and {number(record.ceiling)} at most"
    if axis == "claim":
        return run.claim.epsilon if run.claim.status != "not_evaluated" else "the paper's formula is not evaluated"
    value = accountants_of(Workspace.default(), run).get(axis, {"refused": f"{axis} was not asked"})
    return f"{ACCOUNTANTS[axis].title} refused: {value['refused']}" if isinstance(value, dict) else (as_float(value) or 0.0)


def reference_values(runs: Sequence[Run], measure: str) -> dict[str, Any]:
    """Ceiling and epsilon-0 value of `measure`, each from the latest run that has it, with its mark; beside the latter, public records'."""
    references: dict[str, Any] = {}
    for run in runs:
        for row in results_of(run.id):
            if row["name"] == measure:
                for name in ("ceiling", "epsilon_zero"):
                    if references.get(name) is None and row.get(name) is not None:
                        references |= {name: row[name], MARKS[name]: may_leave(row, name)}
                        if name == "epsilon_zero":
                            references["public_records"] = row.get("public_records")
    return references


def _label(run: Run, epsilon: float, row: Mapping[str, Any]) -> str:
    parts = [
        run.id,
        run.method,
        f"epsilon {number(epsilon)}",
        row["features"],
        protocol_of(row),
        mark(may_leave(row, "value")),
        *warning_marks(run),
    ]
    return " · ".join(part for part in parts if part)
