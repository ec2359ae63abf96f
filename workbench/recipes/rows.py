"""A recipe's results as rows of a table, one a run and measure: the form in which `workbench.measured` ships them."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import WorkbenchError
from workbench.files import write_text_atomically
from workbench.marks import mark, may_leave
from workbench.measured import WRITTEN

if TYPE_CHECKING:
    from workbench.recipes.lines import Recipe

DIGITS = 6  # significant ones: more than any measure has, fewer than tell machines apart


def result_rows(recipe: Recipe, results: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The results' values with the columns `WRITTEN` of `workbench.measured`; a measure without a value has no row.

    A dataset is named by the text that its line reads it by.
    """
    places = {line.name: line.request.place.text for line in recipe.runs}
    for result in results:
        if result["name"] not in places:
            raise WorkbenchError(f"Expected results of the recipe's own lines, got {result['name']!r}. Reproduce the recipe anew.")
        for entry in result["evaluation"]["results"]:
            if entry["value"] is not None:
                values = _of_run(result) | _of_measure(entry) | {"dataset": places[result["name"]]}
                yield {column: _short(values[column]) for column in WRITTEN}


def write_rows(recipe: Recipe, results: Sequence[Mapping[str, Any]], path: Path) -> Path:
    """Write the rows as a CSV file with a header, after those of other lines that it has already; returns its path."""
    rows = [list(map(str, row.values())) for row in result_rows(recipe, results)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([[*WRITTEN], *_of_others(path, {result["name"] for result in results}), *rows])
    write_text_atomically(path, text.getvalue())
    return path


def _of_others(path: Path, lines: Collection[str]) -> list[list[str]]:
    """The rows in a file of other lines than these, as they are; none of no file."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = list(csv.reader(file)) or [[]]
    if header != [*WRITTEN]:
        raise WorkbenchError(f"Expected the columns of `workbench report --rows` in {path}, got others. Name another file.")
    return [row for row in rows if row[0] not in lines]


def _of_run(result: Mapping[str, Any]) -> dict[str, Any]:
    """What was trained, at what it costs, and where: of several attempts, the last one's code and machine."""
    bound, made = result["bound"], (result["environments"] or [{}])[-1]
    return {
        "line": result["name"],
        "method": result["method"],
        "bound": bound["epsilon"],
        "delta": bound["delta"],
        "relation": bound["neighboring_relation"],
        "claim": result["claim"]["epsilon"],
        "run": result["run"],
        "seed": result["seed"],
        "seconds": result["seconds"],
        "drawing_seconds": result["drawing_seconds"],
        "code": made.get("workbench"),
        "torch": made.get("torch"),
        "processor": made.get("processor"),
        "threads": made.get("threads"),
    }


def _of_measure(entry: Mapping[str, Any]) -> dict[str, Any]:
    low, high = entry["interval"] or (None, None)
    zero = entry["epsilon_zero"]
    return {
        "measure": entry["name"],
        "features": entry["features"],
        "num_samples": entry["num_samples"],
        "value": entry["value"],
        "low": low,
        "high": high,
        "mark": mark(may_leave(entry, "value")),
        "epsilon_zero": zero,
        "epsilon_zero_mark": None if zero is None else mark(may_leave(entry, "epsilon_zero")),
        "ceiling": entry["ceiling"],
    }


def _short(value: Any) -> Any:
    return "" if value is None else float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value
