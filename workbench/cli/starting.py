"""What is said and asked before a command starts a run."""

import sys
from typing import TYPE_CHECKING

import typer

from workbench.cli.output import warn
from workbench.errors import WorkbenchError
from workbench.escaping import terminal
from workbench.workspace import Workspace

if TYPE_CHECKING:
    from workbench.datasets import Dataset
    from workbench.plan import Plan


def seed_warning(seed: int | None) -> str | None:
    """What a seed means for what the run makes."""
    return None if seed is None else "A seeded run is repeatable and NOT releasable: whoever knows the seed can remove the noise."


def ask_again(plan: "Plan", loaded: "Dataset", yes: bool) -> None:
    """Where an equal plan has been started on the same records, ask whether to spend once more; with `yes` only say what that spends.

    Where nobody can answer, as in a script, it is refused.
    """
    from workbench.jobs.again import repetition

    found = repetition(Workspace.default(), plan, loaded)
    if found is None:
        return
    if yes:
        warn([found.question])
    elif not sys.stdin.isatty():
        raise WorkbenchError(f"{found.question} Nothing was started: --yes starts another all the same.")
    elif not typer.confirm(f"{terminal(found.question)}\nStart another?", err=True):
        raise typer.Exit(1)
