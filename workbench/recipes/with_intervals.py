"""Several runs of images as one table: a row a run, a column a measure with its interval, real records and public data alone beneath."""

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.errors import WorkbenchError
from workbench.evaluation import METRICS
from workbench.marks import mark, may_leave
from workbench.recipes.side_by_side import BOUND, LINE, Row, entry_of
from workbench.runs.finished import kept_results
from workbench.runs.run import Run
from workbench.serialization import jsonable
from workbench.workspace import Workspace

BENEATH = {
    "ceiling": ("real records (ceiling)", "none"),
    "epsilon_zero": ("public data alone (epsilon 0)", "0"),
    "largest_class": ("largest class of held-out records", "none"),
}
Entries = list[Mapping[str, Any] | None]


def results_of_images(workspace: Workspace, runs: Sequence[Run]) -> list[dict[str, Any]]:
    """What evaluated runs on one dataset of images found, a result a run, in the form of a recipe's results."""
    facts = {run.plan.facts.name: run.plan.facts.kind.name for run in runs}
    if len(facts) != 1 or set(facts.values()) != {"image"}:
        named = ", ".join(f"{name} ({kind})" for name, kind in facts.items()) or "none"
        raise WorkbenchError(f"Expected runs of one dataset of images, got {named}. Compare runs of one.")
    named_runs = [(f"{run.method}, bound {run.bound.epsilon:.3g} ({run.id})", run) for run in runs]
    return [
        jsonable({"name": name, "method": run.method, "bound": run.bound, "evaluation": {"results": kept_results(workspace, run.id)}})
        for name, run in named_runs
    ]


def with_intervals(results: Sequence[Mapping[str, Any]], measures: Sequence[str] = tuple(METRICS)) -> list[Row]:
    """A row a result in their order, each value with its 95 % interval, if it has one, and its mark; then what it is held against.

    Values that were taken in different features stand in columns of their own; a measure that no result has, has none.
    """
    columns = {heading: entries for measure in measures for heading, entries in _columns(results, measure).items()}
    if not columns:
        raise WorkbenchError("Expected runs that have been evaluated, with numbers to show. `workbench evaluate RUN` takes them.")
    rows = [
        {LINE: str(result["name"]), BOUND: _bound_text(result)} | {heading: cell(entries[place]) for heading, entries in columns.items()}
        for place, result in enumerate(results)
    ]
    for field, (title, bound) in BENEATH.items():
        beneath = {heading: _range_text(entries, field) for heading, entries in columns.items()}
        if set(beneath.values()) != {"-"}:
            rows.append({LINE: title, BOUND: bound} | beneath)
    return rows


def cell(entry: Mapping[str, Any] | None) -> str:
    """A value with its interval and its mark; a dash for none."""
    if entry is None:
        return "-"
    interval = entry.get("interval")
    shown = "" if interval is None else f", 95 %: {float(interval[0]):.4g} to {float(interval[1]):.4g}"
    return f"{float(entry['value']):.4g}{shown} ({mark(may_leave(entry, 'value'))})"


def _columns(results: Sequence[Mapping[str, Any]], measure: str) -> dict[str, Entries]:
    """The entries of a measure by the heading of their column: one, or one for each of the features that they were taken in."""
    entries = [entry_of(result, measure) for result in results]
    spaces = list(dict.fromkeys(entry["features"] for entry in entries if entry)) if METRICS[measure].in_features else []
    if len(spaces) < 2:
        return {measure: entries} if any(entries) else {}
    return {f"{measure} in {space}": [entry if entry and entry["features"] == space else None for entry in entries] for space in spaces}


def _bound_text(result: Mapping[str, Any]) -> str:
    bound = float(result["bound"]["epsilon"])
    return f"{bound:.4g}" if bound < float("inf") else "none"


def _range_text(entries: Entries, field: str) -> str:
    """What runs tell of real records, say, from the least to the largest, with the mark; a dash where none tells it."""
    telling = [entry for entry in entries if entry and entry.get(field) is not None]
    if not telling:
        return "-"
    texts = list(dict.fromkeys(f"{value:.4g}" for value in sorted(float(entry[field]) for entry in telling)))
    return f"{' to '.join([texts[0], *texts[1:][-1:]])} ({mark(all(may_leave(entry, field) for entry in telling))})"
