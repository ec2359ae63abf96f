"""What a recipe found: every measure in rows, and of one measure a table and a picture for a README, with epsilon 0 and the ceiling."""

import json
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from workbench.errors import WorkbenchError, choose
from workbench.escaping import markdown
from workbench.marks import MARKS_MEAN, mark, may_leave
from workbench.measured import FLOOR

if TYPE_CHECKING:
    from workbench.recipes.lines import Recipe


SAME_BOUND = 0.02  # calibration meets an epsilon from below, within less than this


class Line(BaseModel):
    """One measure of one line of a recipe over its runs; tuples have one value a run.

    Values of different `features` are not comparable: those of two lines in different ones stand in columns of their own.
    `epsilon_zero` has the value of each public model by its run's seed, or by the run where none was given: lines that share
    seed and pre-training share the public model, and its value counts once. The marks say of each kind of value whether all of
    them may leave the room.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    method: str
    measure: str
    features: str
    claim: float
    bound: float
    delta: float
    values: tuple[float, ...]
    epsilon_zero: tuple[tuple[str, float], ...]
    ceiling: tuple[float, ...]
    releasable: bool
    epsilon_zero_releasable: bool
    ceiling_releasable: bool
    seconds: tuple[float, ...]


def measured_lines(results: Sequence[Mapping[str, Any]], measure: str) -> list[Line]:
    """The lines of a recipe's results in order, for `measure`; lines that did not take it are left out."""
    names = list(dict.fromkeys(result["name"] for result in results))
    lines = [_line(name, [result for result in results if result["name"] == name], measure) for name in names]
    return [line for line in lines if line is not None]


def summary_rows(results: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One row a measure and line: mean and spread (standard deviation) over the runs, with the means of epsilon 0 and ceiling."""
    measures = dict.fromkeys(entry["name"] for result in results for entry in result["evaluation"]["results"])
    return [
        {
            "line": line.name,
            "bound": line.bound,
            "delta": line.delta,
            "measure": measure,
            "mean": mean_of(line.values),
            "spread": statistics.stdev(line.values) if len(line.values) > 1 else None,
            "runs": len(line.values),
            "mark": mark(line.releasable),
            "epsilon 0": mean_of(_public_values([line])),
            "epsilon 0 mark": _mark_of(line.epsilon_zero, line.epsilon_zero_releasable),
            "ceiling": mean_of(line.ceiling),
            "ceiling mark": _mark_of(line.ceiling, line.ceiling_releasable),
        }
        for measure in measures
        for line in measured_lines(results, measure)
    ]


def by_features(lines: Sequence[Line]) -> dict[str, list[Line]]:
    """Lines of one measure by the heading of their column: the measure, with the features where lines were measured in different ones."""
    columns: dict[str, list[Line]] = {}
    several = len({line.features for line in lines}) > 1
    for line in lines:
        columns.setdefault(f"{line.measure} in {line.features}" if several else line.measure, []).append(line)
    return columns


def _line(name: str, results: Sequence[Mapping[str, Any]], measure: str) -> Line | None:
    taken = [(result, entry) for result in results for entry in result["evaluation"]["results"] if entry["name"] == measure]
    entries = [entry for _, entry in taken]
    if not entries:
        return None
    return Line(
        name=name,
        method=results[0]["method"],
        measure=measure,
        features=" or ".join(dict.fromkeys(entry.get("features", "") for entry in entries)),
        claim=float(results[0]["claim"]["epsilon"]),
        bound=float(results[0]["bound"]["epsilon"]),
        delta=float(results[0]["bound"]["delta"]),
        values=tuple(float(entry["value"]) for entry in entries if entry["value"] is not None),
        epsilon_zero=tuple((_source(result), float(entry["epsilon_zero"])) for result, entry in taken if entry["epsilon_zero"] is not None),
        ceiling=tuple(float(entry["ceiling"]) for entry in entries if entry["ceiling"] is not None),
        releasable=all(may_leave(entry, "value") for entry in entries),
        epsilon_zero_releasable=all(may_leave(entry, "epsilon_zero") for entry in entries if entry["epsilon_zero"] is not None),
        ceiling_releasable=all(may_leave(entry, "ceiling") for entry in entries if entry["ceiling"] is not None),
        seconds=tuple(float(result["seconds"]) for result in results),
    )


def markdown_table(lines: Mapping[str, Sequence[Line]]) -> str:
    """The lines of each column, by its heading, as a Markdown table: mean and standard deviation over the runs, and two references.

    Every number of a measure carries its mark, and a sentence says what the marks mean. A line whose mean is worse than that of the
    floor at the same bound is said to be below it.
    """
    deltas = at_delta(line.delta for own in lines.values() for line in own)
    return "\n".join([line_table(lines), "", deltas, "", MARKS_MEAN]) + "\n"


def line_table(lines: Mapping[str, Sequence[Line]]) -> str:
    """The rows of `markdown_table` alone: a row a line; a line that was not measured so has `-` in a column."""
    headings = list(lines)
    zeros = {
        heading: {label: _mean_and_deviation(values, public) for label, values, public in public_models(own)}
        for heading, own in lines.items()
    }
    means = {heading: {line.name: _measured(line, own) for line in own} for heading, own in lines.items()}
    rows = [
        ["real training data (ceiling)", "-", "-", *map(_ceiling, lines.values()), "-"],
        *(
            [f"epsilon 0: {markdown(label)}", "0", "0", *(zeros[heading].get(label, "-") for heading in headings), "-"]
            for label in dict.fromkeys(label for labels in zeros.values() for label in labels)
        ),
        *(
            [
                markdown(line.name),
                _epsilon(line.claim),
                _epsilon(line.bound),
                *(means[heading].get(line.name, "-") for heading in headings),
                _range(line.seconds),
            ]
            for line in {line.name: line for own in lines.values() for line in own}.values()
        ),
    ]
    head = ["line", "claim", "proved bound", *map(heading_text, headings), "seconds to train"]
    return "\n".join([_cells(head), "|" + "---|" * len(head), *map(_cells, rows)])


def heading_text(heading: str) -> str:
    """A column's heading in Markdown: the measure's name, which is one of ours, as it is; the features may have a file's."""
    measure, between, features = heading.partition(" in ")
    return f"{measure}{between}{markdown(features)}"


def _cells(row: Sequence[str]) -> str:
    return f"| {' | '.join(row)} |"


def _ceiling(lines: Sequence[Line]) -> str:
    return _mean_and_deviation(ceilings(lines), all(line.ceiling_releasable for line in lines if line.ceiling))


def _measured(line: Line, lines: Sequence[Line]) -> str:
    return _mean_and_deviation(line.values, line.releasable) + ", below the floor" * is_below_floor(line, lines)


def at_delta(deltas: Iterable[float]) -> str:
    """At which delta the bounds of a table hold."""
    return f"Bounds hold at delta {', '.join(f'{delta:.3g}' for delta in dict.fromkeys(deltas))}."


def is_below_floor(line: Line, lines: Sequence[Line]) -> bool:
    """Whether a line's mean is worse than that of every floor among `lines` at its bound, in its features; never where there is none.

    Measures that tell of copying have no floor: one that copies less is not worse.
    """
    from workbench.evaluation import METRICS
    from workbench.runs.finished import COPYING

    if line.measure in COPYING:
        return False
    floors = [
        other.values
        for other in lines
        if other.method == FLOOR and other.features == line.features and math.isclose(other.bound, line.bound, rel_tol=SAME_BOUND)
    ]
    if line.method == FLOOR or not line.values or not floors:
        return False
    sign = 1 if METRICS[line.measure].better == "higher" else -1
    return all(sign * statistics.fmean(line.values) < sign * statistics.fmean(values) for values in floors if values)


def recipe_with_results(path: Path) -> tuple["Recipe", list[dict[str, Any]]]:
    """The recipe and its results from a file that `workbench reproduce --out` wrote."""
    from workbench.evaluation import METRICS
    from workbench.recipes.lines import Recipe

    try:
        kept = json.loads(path.read_text())
        recipe, rows = Recipe.model_validate(kept["recipe"]), kept["results"]
        choose(recipe.measure, METRICS, "metric")
        measured_lines(rows, recipe.measure)
        return recipe, rows
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise WorkbenchError(
            f"Expected results of `workbench reproduce --out` in {path}, got a file that cannot be read: {error}."
        ) from None


def ceilings(lines: Sequence[Line]) -> list[float]:
    return [value for line in lines for value in line.ceiling]


def _public_values(lines: Sequence[Line]) -> list[float]:
    return [value for _, value in dict.fromkeys(pair for line in lines for pair in line.epsilon_zero)]


def public_models(lines: Sequence[Line]) -> list[tuple[str, list[float], bool]]:
    """The public models behind `lines`: what to call each, its values at epsilon 0, and whether all of those may leave the room.

    Lines share a public model where they have the same value at every seed that they have in common. One without any value stands for
    lines that have none.
    """
    groups: list[list[Line]] = []
    for line in (line for line in lines if line.epsilon_zero):
        shared = next((group for group in groups if _same_public_model(group, line)), None)
        if shared is None:
            groups.append([line])
        else:
            shared.append(line)
    if len(groups) < 2:
        return [("public data only", _public_values(lines), all(line.epsilon_zero_releasable for group in groups for line in group))]
    methods = [", ".join(dict.fromkeys(line.method for line in group)) for group in groups]
    names = [
        name if methods.count(name) == 1 else ", ".join(line.name for line in group) for name, group in zip(methods, groups, strict=True)
    ]
    return [
        (f"public data of {name}", _public_values(group), all(line.epsilon_zero_releasable for line in group))
        for name, group in zip(names, groups, strict=True)
    ]


def _same_public_model(group: Sequence[Line], line: Line) -> bool:
    known = dict(pair for other in group for pair in other.epsilon_zero)
    common = [(known[source], value) for source, value in line.epsilon_zero if source in known]
    if not common:  # runs without a seed tell by their method alone
        return any(other.method == line.method for other in group)
    return all(value == other for value, other in common)


def _source(result: Mapping[str, Any]) -> str:
    return f"run {result['run']}" if result["seed"] is None else f"seed {result['seed']}"


def mean_of(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None


def _epsilon(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "none"


def _mark_of(values: Sequence[Any], releasable: bool) -> str | None:
    return mark(releasable) if values else None


def _mean_and_deviation(values: Sequence[float], releasable: bool) -> str:
    if not values:
        return "not given"
    deviation = f" ± {statistics.stdev(values):.3f}" if len(set(values)) > 1 else ""  # a value that no seed enters has no spread
    return f"{statistics.fmean(values):.3f}{deviation} ({mark(releasable)})"


def _range(seconds: Sequence[float]) -> str:
    low, high = round(min(seconds)), round(max(seconds))
    return f"{low}" if low == high else f"{low} to {high}"
