"""`workbench help`: a command's help, a group's commands, or what a word means."""

import shutil
import textwrap
from collections.abc import Mapping
from typing import Annotated

import typer

from workbench.cli.groups import GROUPS
from workbench.errors import choose
from workbench.words import ALSO, WORDS

app = typer.Typer()
WIDEST = 100  # columns

TASKS = {
    "teach": "For a lecture: `workbench process PANEL --out FILE.html` writes an interactive panel (forward, step, reverse, selection, "
    "attacker), `workbench app` opens the same on its Process page, `make lab` the lessons. Nothing private is read.",
    "tune": "Find a method and its settings: `workbench plan` shows the price, `workbench dry-run` what it comes to on drawn records, "
    "`workbench train` and `workbench sweep` carry it out, `workbench sweeps` sets the runs of a sweep side by side.",
}
EXPLAINED = {**WORDS, **TASKS}


@app.command("help")
def explain(
    context: typer.Context,
    topic: Annotated[list[str] | None, typer.Argument(help="A command, a group of commands, a word, or a measure.")] = None,
) -> None:
    """Explain a command, a group of commands, a word or a measure; without one, list the words."""
    whole, wanted = context.find_root(), " ".join(topic or [])
    if not wanted:
        typer.echo("\n\n".join([whole.get_help(), _wrapped_text(f"Words: {', '.join(EXPLAINED)}.")]))
        return
    groups = {title.lower(): commands for title, commands in GROUPS.items()}
    word = ALSO.get(wanted.lower(), wanted.lower())
    parts = [_wrapped_text(EXPLAINED[word])] if word in EXPLAINED else []
    if wanted.lower() in groups:
        parts.append("\n".join(f"{name:<12} {line}" for name, line in groups[wanted.lower()].items()))
    if command := whole.command.get_command(whole, wanted):  # type: ignore[attr-defined]
        parts.append(command.get_help(typer.Context(command, info_name=wanted, parent=whole)))
    typer.echo("\n\n".join(parts or [_wrapped_text(_measure(wanted, {**EXPLAINED, **groups}))]))


def _measure(name: str, others: Mapping[str, object]) -> str:
    """What a measure measures, and which of its values are better; raises WorkbenchError where there is none of this name."""
    from workbench.evaluation import METRICS

    if name not in METRICS:
        choose(name, {**others, **METRICS}, "command, group, word or measure")
    metric = METRICS[name]
    unit = f", in {metric.unit}" if metric.unit else ""
    return f"{metric.title}: {metric.description} {metric.better.capitalize()} is better{unit}."


def _wrapped_text(text: str) -> str:
    """The text in lines that the terminal has room for."""
    return textwrap.fill(text, min(shutil.get_terminal_size().columns, WIDEST), break_on_hyphens=False)
