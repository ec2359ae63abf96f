"""The document of a recipe's results: its audits, its tables, and what others published beside them; with the picture."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.escaping import markdown
from workbench.files import write_text_atomically
from workbench.marks import MARKS_MEAN, mark
from workbench.published import load_published
from workbench.recipes.audited import audit_table
from workbench.recipes.picture import draw
from workbench.recipes.picture_of_many import draw_measures
from workbench.recipes.report import SAME_BOUND, Line, at_delta, by_features, line_table, markdown_table, mean_of, measured_lines
from workbench.recipes.side_by_side import as_markdown, side_by_side

if TYPE_CHECKING:
    from workbench.recipes.lines import Recipe

Results = Sequence[Mapping[str, Any]]
PUBLISHED_READING = (
    "Published values are as their sources print them: means of three networks, larger than those here, whose epoch was chosen on private "
    "records with noise. Where this recipe took that measure, its own values are beside, of *here*, with the seconds that training took."
)


def write(rows: Results, recipe: Recipe, beside: Path) -> tuple[Path, Path]:
    """Write the document (.md) and the picture (.png) of results beside their file; returns both paths."""
    table, picture = beside.with_suffix(".md"), beside.with_suffix(".png")
    write_text_atomically(table, page(rows, recipe))
    if recipe.by_dataset:
        panels = {place: measured_lines(own, recipe.measure) for place, own in _results_by_dataset(rows, recipe).items()}
        draw({place: lines for place, lines in panels.items() if lines} or {"": []}, picture, recipe.title, recipe.measure)
    else:
        draw_measures(columns_of(rows, recipe), picture, recipe.title)
    return table, picture


def page(rows: Results, recipe: Recipe) -> str:
    """The whole document: the recipe's title and what it says of itself, which a reader meets before the first table; then the tables."""
    return "\n\n".join(filter(None, [f"# {markdown(recipe.title)}", markdown(recipe.description), document(rows, recipe)]))


def document(rows: Results, recipe: Recipe) -> str:
    """The tables of a recipe's results in Markdown: what was audited, if anything was, and the lines.

    A recipe with `by_dataset` has a part for each dataset, with a table for each of its measures; audited runs, which have canaries
    among their records, are not in these. With `side_by_side` a table of all measures follows.
    A measure of `published` stands beside what others printed of it.
    """
    audits = audit_table(rows)
    if not recipe.by_dataset:
        table = markdown_table(columns_of(rows, recipe))
        beside = f"## All measures\n\n{as_markdown(side_by_side(rows))}" if recipe.side_by_side else ""
        return "\n".join(filter(None, [audits, table, beside, _unmeasured(rows, recipe)]))
    parts = [f"## {place}\n\n{_section(own, recipe)}" for place, own in _results_by_dataset(rows, recipe).items()]
    deltas = at_delta(float(row["bound"]["delta"]) for row in rows)
    reading = [PUBLISHED_READING] if recipe.published else []
    return (
        "\n\n".join([*parts, *reading, f"{deltas} {_machines(rows)}", MARKS_MEAN, *([f"## Audits\n\n{audits}"] if audits else [])]).rstrip()
        + "\n"
    )


def _machines(rows: Results) -> str:
    """On what the runs were trained."""
    made = [row["environments"][-1] for row in rows if row.get("environments")]
    machines = dict.fromkeys(f"{one['processor']}, {one['threads']} thread{'s' * (str(one['threads']) != '1')}" for one in made)
    return f"Trained on {' and '.join(map(markdown, machines))}." if machines else ""


def _section(rows: Results, recipe: Recipe) -> str:
    tables = [line_table({heading: lines}) for heading, lines in columns_of(rows, recipe).items() if lines]
    beside = [_published_table(rows, recipe, measure) for measure in recipe.published]
    return "\n\n".join([*tables, *beside])


def _unmeasured(rows: Results, recipe: Recipe) -> str:
    """A sentence on lines of the recipe whose runs are not all there; empty where they are."""
    runs = Counter(row["name"] for row in rows)
    missing = [
        f"{line.name} ({runs[line.name]} of {len(line.all_seeds)} runs)" for line in recipe.runs if runs[line.name] < len(line.all_seeds)
    ]
    return f"Not measured in full yet: {markdown(', '.join(missing))}.\n" if missing else ""


def columns_of(rows: Results, recipe: Recipe) -> dict[str, list[Line]]:
    """The lines of each measure that the recipe shows and that any line took, by the heading of their column."""
    taken = [by_features(measured_lines(rows, measure)) for measure in (recipe.measure, *recipe.also)]
    return {heading: lines for columns in taken for heading, lines in columns.items()} or {recipe.measure: []}


def _results_by_dataset(rows: Results, recipe: Recipe) -> dict[str, list[Mapping[str, Any]]]:
    """The results by dataset, without audited ones, which have a table of their own."""
    places = {line.name: line.request.place.text for line in recipe.runs}
    own = [row for row in rows if row.get("audit") is None]
    return {place: [row for row in own if places[row["name"]] == place] for place in dict.fromkeys(places[row["name"]] for row in own)}


def _published_table(rows: Results, recipe: Recipe, measure: str) -> str:
    """What others printed of `measure` at the bounds that were measured here, and the means here, a row a method, best first."""
    places = {line.name: line.request.place.text for line in recipe.runs}
    lines = measured_lines(rows, measure)
    bounds = sorted({round(float(row["bound"]["epsilon"]), 1) for row in rows if math.isfinite(float(row["bound"]["epsilon"]))})
    entries = _published_entries(places[rows[0]["name"]], measure, bounds) | _own(
        lines, _takes_public(recipe, {line.name for line in lines}), bounds
    )
    ranked = sorted(entries.items(), key=lambda entry: [-entry[1].get(bound, (0.0, ""))[0] for bound in reversed(bounds)])
    head = ["method", "public images", *(f"{measure} at {bound:g}" for bound in bounds), "source"]
    cells = [
        [method, public, *(values[bound][1] if bound in values else "-" for bound in bounds), source]
        for (method, public, source), values in ranked
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *cells])


Entries = dict[tuple[str, str, str], dict[float, tuple[float, str]]]  # (method, public images, source): bound -> value, text


def _published_entries(dataset: str, measure: str, bounds: Sequence[float]) -> Entries:
    entries: Entries = {}
    for row in load_published(dataset, measure).to_dict("records"):
        for bound in bounds:
            if math.isclose(row["epsilon"], bound, rel_tol=SAME_BOUND):
                key = (markdown(str(row["method"])), "yes" if row["public_data"] else "no", markdown(str(row["source"])))
                hours = str(row["note"]).rpartition("; ")[2]
                text = f"{row['value']:.3f}" + (f" ({markdown(hours)})" if "hours" in hours else "")
                entries.setdefault(key, {})[bound] = (float(row["value"]), text)
    return entries


def _takes_public(recipe: Recipe, names: Set[str]) -> dict[str, str]:
    """What images each of these lines of a recipe takes to be public."""
    from workbench.planning import make_plan

    return {line.name: make_plan(line.request).public_images or "no" for line in recipe.runs if line.name in names}


def _own(lines: Sequence[Line], public: Mapping[str, str], bounds: Sequence[float]) -> Entries:
    entries: Entries = {}
    for line in lines:
        for bound in bounds:
            value = mean_of(line.values)
            if value is not None and math.isclose(line.bound, bound, rel_tol=SAME_BOUND):
                text = f"**{value:.3f}** ({mark(line.releasable)}; {max(line.seconds):.0f} s)"
                entries.setdefault((f"**{markdown(line.method)}**", markdown(public[line.name]), "here"), {})[bound] = (value, text)
    return entries
