"""`workbench help`: a command's help, a group's commands, or what a word means."""

import shutil
import textwrap
from collections.abc import Mapping
from typing import Annotated

import typer

from workbench.cli.groups import GROUPS
from workbench.errors import choose

app = typer.Typer()
WIDEST = 100  # columns

WORDS = {
    "epsilon": "How much one record can change what is released: no outcome is more than e^epsilon times as likely with the record as "
    "without it, plus delta. At 0 nothing depends on the records; at 1 an outcome is at most 2.7 times as likely, at "
    "10 at most 22 026 times, which rules little out by itself.",
    "delta": "What is left over beyond epsilon: for every set of outcomes, its probability with the record is at most e^epsilon times its "
    "probability without it, plus delta. Take it far below 1/n for n records. The default is 1/(n ln n); a plan shows "
    "epsilon at 1/n^2 beside it.",
    "bound": "An epsilon that is proved, whatever an attacker knows of the other records. Where nothing is proved it is infinite, and the "
    "plan says why. docs/proofs.md has the proofs.",
    "claim": "The epsilon that a paper states for its method, computed as the paper does. It may differ from the proved bound: "
    "`workbench claims` shows both, and says why.",
    "lower bound": "An epsilon that an attack measured: the true one is at least as large, with the confidence that is stated. An attack "
    "that finds nothing proves nothing.",
    "neighbours": "Data sets that differ in one record. ADD_OR_REMOVE_ONE: one of them has a record more. REPLACE_SPECIAL: a record is "
    "there or empty, and the number of records is public. REPLACE_ONE: one record is another, which costs about twice the epsilon. "
    "An epsilon means nothing without its relation.",
    "marks": "'private': the value was computed from the records without noise; do not share it. 'releasable': it was computed "
    "without them, or the proved bound covers it.",
    "ledger": "What all runs on the records of the same people have spent together. A run writes what it will spend before it reads a "
    "record, and deleting a run gives nothing back.",
    "seed": "A run with a seed can be repeated, and whoever knows the seed can take the noise away again: nothing of it may be released. A "
    "run without one draws its noise from the operating system.",
    "epsilon 0": "What public data alone reach, without a look at the private records. A method that is not above it has spent its budget "
    "for nothing.",
    "ceiling": "What real training records reach in the same measure, in the place of samples; no synthetic set is expected to do "
    "better. Of measures that tell of copying (privacy_score, nearer_to_training) it is what plain copies reach.",
    "largest class": "The share of the held-out records that are of their most frequent class: the accuracy of always guessing it. An "
    "accuracy that is not above it has learnt nothing of use.",
    "teach": "For a lecture: `workbench process PANEL --out FILE.html` writes an interactive panel (forward, step, reverse, selection, "
    "attacker), `workbench app` opens the same on its Process page, `make lab` the lessons. Nothing private is read.",
    "tune": "Find a method and its settings: `workbench plan` shows the price, `workbench dry-run` what it comes to on drawn records, "
    "`workbench train` and `workbench sweep` carry it out, `workbench sweeps` sets the runs of a sweep side by side.",
    "public images": "Images that you declare to need no protection: they are used without noise, no bound covers them, and samples may "
    "repeat them.",
}


@app.command("help")
def explain(
    context: typer.Context,
    topic: Annotated[list[str] | None, typer.Argument(help="A command, a group of commands, a word, or a measure.")] = None,
) -> None:
    """Explain a command, a group of commands, a word or a measure; without one, list the words."""
    whole, wanted = context.find_root(), " ".join(topic or [])
    if not wanted:
        typer.echo("\n\n".join([whole.get_help(), _wrapped_text(f"Words: {', '.join(WORDS)}.")]))
        return
    groups = {title.lower(): commands for title, commands in GROUPS.items()}
    parts = [_wrapped_text(WORDS[wanted.lower()])] if wanted.lower() in WORDS else []
    if wanted.lower() in groups:
        parts.append("\n".join(f"{name:<12} {line}" for name, line in groups[wanted.lower()].items()))
    if command := whole.command.get_command(whole, wanted):  # type: ignore[attr-defined]
        parts.append(command.get_help(typer.Context(command, info_name=wanted, parent=whole)))
    typer.echo("\n\n".join(parts or [_wrapped_text(_measure(wanted, {**WORDS, **groups}))]))


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
