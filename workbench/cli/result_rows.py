"""Results of measures as a command shows them: rows with a mark at each number, and what may leave the room."""

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.cli.output import short


def releasable_part(row: dict[str, Any]) -> dict[str, Any]:
    """A row of a recipe's results as it may leave the room: without an audit that may not."""
    from workbench.runs.audits import AuditRecord

    kept = {**row, "evaluation": releasable_results(row["evaluation"])}
    if "audit" in row and not AuditRecord.model_validate(row["audit"]).may_leave:
        del kept["audit"]
    return kept


def releasable_results(evaluation: dict[str, Any]) -> dict[str, Any]:
    """An evaluation as it may leave the room: what may not is None."""
    from workbench.marks import withheld

    return {**evaluation, "results": [withheld(result) for result in evaluation["results"]]}


def result_rows(evaluation: dict[str, Any]) -> list[dict[str, Any]]:
    """An evaluation as rows for people: what each measure came to, and what that is held against.

    Every number has its mark: in the heading of its column where all numbers there have the same, else behind it.
    """
    results = evaluation["results"]
    present = [name for name in ("epsilon_zero", "largest_class") if any(result.get(name) is not None for result in results)]
    columns = [_marked_column(results, name) for name in ("value", "interval", "ceiling", *present)]
    return [
        {"name": result["name"], "better": result.get("better"), **{heading: cells[place] for heading, cells in columns}}
        for place, result in enumerate(results)
    ]


def _marked_column(results: Sequence[Mapping[str, Any]], name: str) -> tuple[str, list[str | None]]:
    """A column's heading and cells, None where there is no number."""
    from workbench.marks import mark, may_leave

    marks = [None if result.get(name) is None else mark(may_leave(result, name)) for result in results]
    common = set(marks) - {None}
    behind = len(common) > 1
    cells = [
        None if one is None else f"{short(result[name])} {one}" if behind else short(result[name])
        for one, result in zip(marks, results, strict=True)
    ]
    return name if behind or not common else f"{name} ({common.pop()})", cells


def baseline_rows(evaluation: dict[str, Any]) -> list[dict[str, Any]]:
    """What simple rows come to in the place of samples, a column for each kind of them; none but for tables."""
    rows = [result for result in evaluation["results"] if result.get("baselines")]
    kinds = dict.fromkeys(kind for result in rows for kind in result["baselines"])
    return [{"name": result["name"], **{kind: result["baselines"].get(kind) for kind in kinds}} for result in rows]


def ways_rows(evaluation: dict[str, Any]) -> list[dict[str, Any]]:
    """How each measure was taken."""
    return [{column: result[column] for column in ("name", "features", "split", "protocol", "seconds")} for result in evaluation["results"]]
