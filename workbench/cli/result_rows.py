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
    """An evaluation as rows for people: what each measure came to, and what it is held against; every number with its mark."""
    from workbench.marks import MARKS, mark, may_leave

    def cell(result: dict[str, Any], column: str) -> Any:
        shown = result.get(column)
        return shown if shown is None or column not in MARKS else f"{short(shown)} {mark(may_leave(result, column))}"

    present = [name for name in ("epsilon_zero", "largest_class") if any(result.get(name) is not None for result in evaluation["results"])]
    columns = ("name", "better", "value", "interval", "ceiling", *present)
    return [{column: cell(result, column) for column in columns} for result in evaluation["results"]]


def baseline_rows(evaluation: dict[str, Any]) -> list[dict[str, Any]]:
    """What simple rows come to in the place of samples, a column for each kind of them; none but for tables."""
    rows = [result for result in evaluation["results"] if result.get("baselines")]
    kinds = dict.fromkeys(kind for result in rows for kind in result["baselines"])
    return [{"name": result["name"], **{kind: result["baselines"].get(kind) for kind in kinds}} for result in rows]


def ways_rows(evaluation: dict[str, Any]) -> list[dict[str, Any]]:
    """How each measure was taken."""
    return [{column: result[column] for column in ("name", "features", "split", "protocol", "seconds")} for result in evaluation["results"]]
