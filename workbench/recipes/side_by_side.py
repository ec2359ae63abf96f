"""Several runs of one table as one table: a row a method and epsilon, a column a measure, real and simple rows beneath."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.errors import WorkbenchError
from workbench.escaping import markdown
from workbench.marks import MARKS_MEAN, mark, may_leave
from workbench.recipes.report import heading_text
from workbench.runs.finished import kept_results
from workbench.runs.run import Run
from workbench.serialization import jsonable
from workbench.workspace import Workspace

MEASURES = (
    *("accuracy_logistic_regression", "accuracy_gradient_boosting", "target_share", "worst_column", "two_way_marginals"),
    *("three_way_marginals", "unique_rows", "singling_out", "linkability", "inference"),
)
CEILING, EPSILON_ZERO, LARGEST = "real rows (ceiling)", "rows drawn evenly (epsilon 0)", "largest class of held-out rows"
LINE, BOUND = "line", "bound"
Row = dict[str, str]


def side_by_side(results: Sequence[Mapping[str, Any]], measures: Sequence[str] = MEASURES) -> list[Row]:
    """A row a line by method and bound, then what stands beside the measures: mean, spread and mark of each over the line's runs.

    `results` are those of a recipe, or `results_of_runs`; a measure that none of them took has no column.
    """
    there = [measure for measure in measures if any(entry_of(result, measure) for result in results)]
    if not there:
        raise WorkbenchError(f"Expected runs that have been evaluated by any of {', '.join(measures)}. `workbench evaluate` does.")
    ordered = sorted(results, key=lambda result: (str(result["method"]), -float(result["bound"]["epsilon"])))
    lines = list(dict.fromkeys(str(result["name"]) for result in ordered))
    rows = [_line([result for result in ordered if result["name"] == name], there) for name in lines]
    return [*rows, *_beside(results, there)]


def results_of_runs(workspace: Workspace, runs: Sequence[Run]) -> list[dict[str, Any]]:
    """What evaluated runs of one table found, in the form of a recipe's results; runs by one plan are one line."""
    facts = {run.plan.facts.name: run.plan.facts.kind.name for run in runs}
    if len(facts) != 1 or set(facts.values()) != {"table"}:
        raise WorkbenchError(f"Expected runs of one table, got {', '.join(f'{name} ({kind})' for name, kind in facts.items()) or 'none'}.")
    plans: list[Run] = []
    results = []
    for run in runs:
        same = next((other for other in plans if other.plan.does_the_same_as(run.plan)), None)
        if same is None:
            plans.append(run)
        first = same or run
        name = f"{first.method}, bound {first.bound.epsilon:.3g} ({first.id})"
        result = {"name": name, "method": run.method, "bound": run.bound, "evaluation": {"results": kept_results(workspace, run.id)}}
        results.append(jsonable(result))
    return results


def as_markdown(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table, with what the marks mean."""
    cells = [[markdown(row[column]) for column in rows[0]] for row in rows]
    head = list(map(heading_text, rows[0]))
    return "\n".join([f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *cells)] + ["", MARKS_MEAN]) + "\n"


def _line(results: Sequence[Mapping[str, Any]], measures: Sequence[str]) -> Row:
    bound = max(float(result["bound"]["epsilon"]) for result in results)
    shown = f"{bound:.4g}" if bound < float("inf") else "none"
    by_measure = {measure: [entry for result in results if (entry := entry_of(result, measure))] for measure in measures}
    return {LINE: str(results[0]["name"]), BOUND: shown} | {
        measure: _mean_and_deviation([entry["value"] for entry in entries], all(may_leave(entry, "value") for entry in entries))
        for measure, entries in by_measure.items()
    }


def _beside(results: Sequence[Mapping[str, Any]], measures: Sequence[str]) -> list[Row]:
    """What real rows, rows drawn evenly, the largest class (of accuracies), and each of the baselines come to."""
    entries = {measure: [entry for result in results if (entry := entry_of(result, measure))] for measure in measures}
    names = dict.fromkeys(name for group in entries.values() for entry in group for name in entry.get("baselines") or {})
    rows = []
    shares = any(entry.get("largest_class") is not None for group in entries.values() for entry in group)
    fields = [(CEILING, "none", "ceiling"), (EPSILON_ZERO, "0", "epsilon_zero"), *([(LARGEST, "none", "largest_class")] if shares else [])]
    for title, bound, field in fields:
        cells = {
            measure: _mean_and_deviation([entry.get(field) for entry in group], all(may_leave(entry, field) for entry in group))
            for measure, group in entries.items()
        }
        rows.append({LINE: title, BOUND: bound} | cells)
    for name in names:
        numbers = {measure: [(entry.get("baselines") or {}).get(name) for entry in group] for measure, group in entries.items()}
        rows.append(
            {LINE: name, BOUND: "none"} | {measure: _mean_and_deviation(values, releasable=False) for measure, values in numbers.items()}
        )
    return rows


def entry_of(result: Mapping[str, Any], measure: str) -> Mapping[str, Any] | None:
    """What a result says of a measure; None where it was not taken."""
    return next((entry for entry in result["evaluation"]["results"] if entry["name"] == measure and entry["value"] is not None), None)


def _mean_and_deviation(values: Sequence[Any], releasable: bool) -> str:
    """Mean and standard deviation of the numbers among the values, with their mark."""
    numbers = [float(value) for value in values if value is not None]
    if not numbers:
        return "-"
    spread = f" ± {statistics.stdev(numbers):.3f}" if len(set(numbers)) > 1 else ""
    return f"{statistics.mean(numbers):.3f}{spread} ({mark(releasable)})"
