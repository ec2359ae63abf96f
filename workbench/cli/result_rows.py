"""Results of measures as a command shows them: rows with a mark at each number, and what may leave the room."""

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
    """An evaluation as rows for people; every number with its mark."""
    from workbench.marks import MARKS, mark, may_leave

    def cell(result: dict[str, Any], column: str) -> Any:
        shown = result.get(column)
        if column == "baselines":
            return ", ".join(f"{name} {short(value)}" for name, value in shown.items()) + " private" if shown else None
        return shown if shown is None or column not in MARKS else f"{short(shown)} {mark(may_leave(result, column))}"

    present = [name for name in ("largest_class", "baselines") if any(result.get(name) for result in evaluation["results"])]
    columns = ("name", "value", "interval", "epsilon_zero", "ceiling", *present, "features", "split", "protocol", "seconds")
    return [{column: cell(result, column) for column in columns} for result in evaluation["results"]]
