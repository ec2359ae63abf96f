"""A page for each method: its claim and bound, what it releases, presets, settings, and what it reached here and elsewhere."""

import json
from collections.abc import Mapping
from functools import cache

from docs.site.citations import cited, papers_of
from docs.site.links import ROOT
from docs.site.tables import rows_of, settings_table, table
from workbench.datasets import facts
from workbench.measured import load_measured
from workbench.methods import METHODS
from workbench.methods.base import Method
from workbench.planning import make_plan
from workbench.published import load_published
from workbench.recipes.lines import load_recipe, recipe_names

MOST_RESULTS = 40  # lines of results on a page
EPSILON = 10.0  # the target at which a method that no paper claims anything for shows its bound


def method_pages(claims: str) -> dict[str, str]:
    """The pages by their paths below the sources; `claims` is the document of claims, whose sections they show."""
    pages = {f"methods/{name}.md": _method(name, method, claims) for name, method in METHODS.items()}
    return {"methods/index.md": _methods(), **pages}


def _method(name: str, method: type[Method], claims: str) -> str:
    folder = "/".join(method.__module__.split(".")[:-1])
    lines = [
        f"# {name}: {method.title}",
        "",
        f"Source: {method.source}. Records: {', '.join(sorted(method.kinds))}.",
        "",
        *cited(papers_of(name)),
    ]
    lines += ["```sh", f"workbench plan {name} --dataset {_dataset(method)}", "```", ""]
    lines += ["## Claim and proved bound", "", *(_claims_of(reading, claims) for reading in (method.readings or (name,))), ""]
    lines += [] if method.readings else [*_bound(name, method), ""]
    lines += ["## What is released", "", f"Samples are made from: {', '.join(f'`{part}`' for part in method.released)}.", ""]
    lines += [f"The releases are named in `{folder}/method.py`; training and sampling are in `{folder}`.", ""]
    lines += [
        "## Presets",
        "",
        *rows_of(("preset", "what it is"), ((f"`{key}`", preset.description) for key, preset in method.presets.items())),
        "",
    ]
    lines += ["## Settings", "", "As `--set NAME=VALUE`.", "", *settings_table(method.Config), ""]
    lines += ["## Results here", "", *(_results(name) or [_without_results(name, method)]), "", *_published_table(name)]
    return "\n".join(lines) + "\n"


def _dataset(method: type[Method]) -> str:
    return "breast-cancer" if method.kinds == {"table"} else "digits"


def _bound(name: str, method: type[Method]) -> list[str]:
    """What is proved of a method without a paper's setting: its bound at a target, or why there is none."""
    plan = make_plan(name, facts(_dataset(method)), epsilon=EPSILON if method.calibrated_fields else None)
    if not plan.bound.is_finite:
        return [f"**Proved bound**: infinite, at every setting. {plan.bound.reason}"]
    replaced = f", and {plan.replace_one.epsilon:.4g} where one is replaced" if plan.replace_one else ""
    return [
        f"**Proved bound**: asked for epsilon {EPSILON:g} on `{_dataset(method)}`, its plan proves {plan.bound.epsilon:.4g} at delta "
        f"{plan.bound.delta:.4g} where a record is made null{replaced} ({plan.bound.accountant}). No preset fixes the noise, so the table "
        "of claims has no number: `--epsilon` decides it.",
    ]


def _claims_of(reading: str, claims: str) -> str:
    _, there, rest = claims.partition(f"\n## {reading}\n")
    return (
        f"**{reading}**: {rest.partition(chr(10) + '## ')[0].strip()}\n" if there else f"No line of the claims table is about {reading}.\n"
    )


def _results(name: str) -> list[str]:
    frame = load_measured()
    frame = frame[(frame["method"] == name) & frame["measure"].str.startswith("accuracy")]
    if frame.empty:
        return []
    groups = (
        frame.groupby(["recipe", "line", "dataset", "bound", "measure"], sort=True)["value"]
        .agg(["mean", "min", "max", "count"])
        .reset_index()
    )
    rows = [
        (
            row["recipe"],
            row["line"],
            row["dataset"],
            f"{row['bound']:.4g}",
            row["measure"],
            f"{row['mean']:.3f} ({row['min']:.3f} to {row['max']:.3f})",
            row["count"],
        )
        for row in groups.to_dict("records")[:MOST_RESULTS]
    ]
    heads = ("recipe", "line", "data", "proved bound", "measure", "mean (range)", "runs")
    return ["As recipes measured them, at the proved bound.", "", *rows_of(heads, rows)]


def _without_results(name: str, method: type[Method]) -> str:
    """Where numbers are, or would come from, of a method without an accuracy among the measured rows."""
    kept = [f"[{page}](../results/{page}.md)" for page, methods in _kept_results().items() if name in methods]
    if kept:
        return f"The rows that are measured at a proved bound have none of this method. Its results are in {', '.join(kept)}."
    none = "No result of this method is kept in `docs/results`."
    recipes = [recipe for recipe in recipe_names() if name in {line.method for line in load_recipe(recipe).runs}]
    if not recipes:
        trained = f"workbench train {name} --dataset {_dataset(method)} --epsilon {EPSILON:g}"
        return f"{none} No recipe has a line of it: `{trained}` makes a run, and `workbench evaluate` measures its samples."
    return f"{none} {' or '.join(f'`workbench reproduce {recipe}`' for recipe in recipes)} makes some."


@cache
def _kept_results() -> Mapping[str, set[str]]:
    """The methods that have results, by the name of the page."""
    pages = sorted((ROOT / "docs/results").glob("*.json"))
    return {page.stem: {result["method"] for result in json.loads(page.read_text())["results"]} for page in pages}


def _published_table(name: str) -> list[str]:
    frame = load_published()
    rows = frame[frame["method_id"] == name].to_dict("records")
    if not rows:
        return []
    heads = ("source", "data", "epsilon as printed", "measure", "value", "note")
    cells = [
        (row["source"], row["dataset"], f"{row['epsilon']:g}", row["metric"], f"{row['value']:g}", row["note"])
        for row in rows[:MOST_RESULTS]
    ]
    more = [f"{len(rows) - MOST_RESULTS} more are in `workbench/published/published_results.csv`.", ""] if len(rows) > MOST_RESULTS else []
    return ["## Published numbers", "", "Each in its source's own protocol; epsilon is a claim.", "", *rows_of(heads, cells), "", *more]


def _methods() -> str:
    rows = ((f"[{name}]({name}.md)", method.title, method.source, ", ".join(sorted(method.kinds))) for name, method in METHODS.items())
    listed = "\n".join(METHODS)
    return table("Methods", ("name", "title", "source", "records"), rows) + f"\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n"
