"""Pages that the registries give: methods, commands, settings, environment variables, formats, data sets, measures, Python."""

from collections.abc import Iterator, Mapping
from typing import Any, get_args

import typer
from pydantic import BaseModel
from pydantic.fields import FieldInfo

import workbench
from docs.site.environment import FOR_TESTS, VARIABLES
from workbench.cli.commands import app
from workbench.cli.groups import GROUPS
from workbench.datasets import DATASETS
from workbench.datasets.declaration import TableDeclaration
from workbench.evaluation import METRICS
from workbench.measured import load_measured
from workbench.methods import METHODS
from workbench.methods.base import Method
from workbench.published import load_published
from workbench.recipes.lines import Recipe
from workbench.request import Request
from workbench.training.dp_sgd import DPSGD
from workbench.training.ordinary import OrdinaryTraining
from workbench.training.state import PerformanceSettings

MODELS = {
    "A request, as `--request FILE` reads it": Request,
    "A declaration of a table, `FILE.declared.json`": TableDeclaration,
    "A recipe, as `workbench reproduce FILE` reads it": Recipe,
}
SETTINGS = {
    "Performance: changes speed, never the guarantee": PerformanceSettings,
    "DP-SGD, a part of many methods": DPSGD,
    "Ordinary training, without privacy or after a release": OrdinaryTraining,
}
MOST_RESULTS = 40  # lines of results on a method's page


def reference_pages(claims: str) -> dict[str, str]:
    """Every page by its path below the sources; `claims` is the document of claims, whose sections the methods' pages show."""
    pages = {f"methods/{name}.md": _method(name, method, claims) for name, method in METHODS.items()}
    pages["methods/index.md"] = _methods()
    pages["reference/commands.md"] = _commands()
    pages["reference/settings.md"] = _models("Settings that methods share", SETTINGS)
    pages["reference/formats.md"] = _models("File formats", MODELS)
    pages["reference/environment.md"] = _environment()
    pages["reference/datasets.md"] = table(
        "Data sets", ("name", "what it is"), ((f"`{name}`", entry.summary) for name, entry in DATASETS.items())
    )
    pages["reference/measures.md"] = table(
        "Measures",
        ("name", "what it measures", "better"),
        ((f"`{name}`", metric.description, metric.better) for name, metric in METRICS.items()),
    )
    pages["reference/python.md"] = _python()
    return pages


def table(title: str, heads: tuple[str, ...], rows: Any) -> str:
    """A page of one table."""
    return f"# {title}\n\n" + "\n".join(rows_of(heads, rows)) + "\n"


def rows_of(heads: tuple[str, ...], rows: Any) -> list[str]:
    """Lines of a table; what would end a cell is escaped."""
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    return [*lines, *(f"| {' | '.join(str(cell).replace('|', chr(92) + '|').replace(chr(10), ' ') for cell in row)} |" for row in rows)]


def _method(name: str, method: type[Method], claims: str) -> str:
    folder = "/".join(method.__module__.split(".")[:-1])
    lines = [f"# {name}: {method.title}", "", f"Source: {method.source}. Records: {', '.join(sorted(method.kinds))}.", ""]
    lines += ["```sh", f"workbench plan {name} --dataset {'breast-cancer' if method.kinds == {'table'} else 'digits'}", "```", ""]
    lines += ["## Claim and proved bound", "", *(_claims_of(reading, claims) for reading in (method.readings or (name,))), ""]
    lines += ["## What is released", "", f"Samples are made from: {', '.join(f'`{part}`' for part in method.released)}.", ""]
    lines += [f"The releases are named in `{folder}/method.py`; training and sampling are in `{folder}`.", ""]
    lines += [
        "## Presets",
        "",
        *rows_of(("preset", "what it is"), ((f"`{key}`", preset.description) for key, preset in method.presets.items())),
        "",
    ]
    lines += ["## Settings", "", "As `--set NAME=VALUE`.", "", *settings_table(method.Config), "", *_results(name), *_published_table(name)]
    return "\n".join(lines) + "\n"


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
    return ["## Results here", "", "As recipes measured them, at the proved bound.", "", *rows_of(heads, rows), ""]


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


def settings_table(model: type[BaseModel]) -> list[str]:
    """Name, default and meaning of every field of a configuration, nested ones by their dotted names."""
    return rows_of(("setting", "default", "meaning"), _fields(model))


def _fields(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, str, str]]:
    for name, field in model.model_fields.items():
        if (inner := _inner(field)) is not None:
            yield from _fields(inner, f"{prefix}{name}.")
        else:
            yield f"`{prefix}{name}`", _default(field), field.description or ""


def _inner(field: FieldInfo) -> type[BaseModel] | None:
    kinds = [field.annotation, *get_args(field.annotation)]
    models = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)]
    return models[0] if len(models) == 1 and models[0].model_fields else None


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "to be given"
    value = field.get_default(call_default_factory=True, validated_data={})
    return "empty" if value is None else f"`{value}`"


def _models(title: str, models: Mapping[str, type[BaseModel]]) -> str:
    parts = [f"# {title}", ""]
    for name, model in models.items():
        parts += [f"## {name}", "", (model.__doc__ or "").strip(), "", *settings_table(model), ""]
    return "\n".join(parts)


def _commands() -> str:
    whole: Any = typer.main.get_command(app)
    lines = ["# Commands", "", "`workbench COMMAND --help` prints the same.", ""]
    for title, commands in GROUPS.items():
        lines += [f"## {title}", ""]
        for name, summary in commands.items():
            command = whole.commands[name]
            lines += [f"### workbench {name}", "", summary, "", *_parameters(command)]
            for part, inner in getattr(command, "commands", {}).items():
                lines += [f"**workbench {name} {part}**: {inner.get_short_help_str(200)}", "", *_parameters(inner)]
    return "\n".join(lines)


def _parameters(command: Any) -> list[str]:
    rows = [
        (f"`{' '.join(item.opts) if item.param_type_name == 'option' else item.name.upper()}`", item.help or "")
        for item in command.params
        if item.name != "help"
    ]
    return [*rows_of(("argument or option", "meaning"), rows), ""] if rows else []


def _environment() -> str:
    parts = [table("Environment variables", ("variable", "meaning"), ((f"`{name}`", words) for name, words in VARIABLES.items()))]
    parts += [
        "## For tests and lessons",
        "",
        *rows_of(("variable", "meaning"), ((f"`{name}`", words) for name, words in FOR_TESTS.items())),
    ]
    return "\n".join(parts) + "\n"


def _python() -> str:
    lines = [
        "# Python",
        "",
        (workbench.__doc__ or "").partition("\n\n")[0],
        "",
        "```python",
        (workbench.__doc__ or "").split("\n\n")[1],
        "```",
        "",
    ]
    for name in sorted(workbench.__all__):
        value = getattr(workbench, name)
        kind = "autoclass" if isinstance(value, type) else "autofunction" if callable(value) else ""
        if kind:
            lines += ["```{eval-rst}", f".. {kind}:: {value.__module__}.{value.__qualname__}", "   :no-index-entry:", "```", ""]
    return "\n".join(lines)
