"""Pages that the registries give: methods, commands, settings, environment variables, formats, data sets, measures, Python."""

from collections.abc import Mapping
from typing import Any

import typer
from pydantic import BaseModel

import workbench
from docs.site import citations
from docs.site.environment import FOR_TESTS, VARIABLES
from docs.site.formats import formats_page
from docs.site.methods import method_pages
from docs.site.tables import rows_of, settings_table, table
from workbench.cli.commands import app
from workbench.cli.groups import GROUPS
from workbench.datasets import DATASETS
from workbench.evaluation import METRICS
from workbench.training.dp_sgd import DPSGD
from workbench.training.ordinary import OrdinaryTraining
from workbench.training.state import PerformanceSettings

SETTINGS = {
    "Performance: changes speed, never the guarantee": PerformanceSettings,
    "DP-SGD, a part of many methods": DPSGD,
    "Ordinary training, without privacy or after a release": OrdinaryTraining,
}


def reference_pages(claims: str) -> dict[str, str]:
    """Every page by its path below the sources; `claims` is the document of claims, whose sections the methods' pages show."""
    pages = method_pages(claims)
    pages["reference/commands.md"] = _commands()
    pages["reference/settings.md"] = _models("Settings that methods share", SETTINGS)
    pages["reference/formats.md"] = formats_page()
    pages["reference/environment.md"] = _environment()
    pages["reference/datasets.md"] = table(
        "Data sets", ("name", "what it is"), ((f"`{name}`", entry.summary) for name, entry in DATASETS.items())
    )
    pages["reference/measures.md"] = table(
        "Measures",
        ("name", "what it measures", "better"),
        ((f"`{name}`", metric.description, metric.better) for name, metric in METRICS.items()),
    )
    pages["reference/papers.md"] = citations.PAGE
    pages["reference/python.md"] = _python()
    return pages


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
