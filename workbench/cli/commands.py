"""All commands as one application, and what becomes of their errors."""

import sqlite3
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import typer
from pydantic import ValidationError

from workbench.cli import (
    accounting,
    attacks,
    compare,
    control,
    dossier,
    dry_running,
    housekeeping,
    planning,
    process,
    queueing,
    records,
    release,
    results,
    samples,
    sweeping,
    topics,
)
from workbench.cli.groups import GroupedCommands
from workbench.cli.waiting import InterruptedWorkError
from workbench.errors import BudgetWarning, WorkbenchError, said_of
from workbench.escaping import terminal
from workbench.files import full_disk
from workbench.jobs.registry import unusable
from workbench.workspace import Workspace

INTERRUPTED = 130

app = typer.Typer(
    name="workbench",
    help="Learn, budget and audit differentially private diffusion models.",
    cls=GroupedCommands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
APPS = (
    topics,
    control,
    housekeeping,
    planning,
    dry_running,
    sweeping,
    samples,
    results,
    compare,
    attacks,
    records,
    release,
    dossier,
    process,
    accounting,
)
for commands in APPS:
    app.registered_commands.extend(commands.app.registered_commands)
app.add_typer(queueing.app, name="queue")
app.add_typer(housekeeping.home, name="home")


def complaint(error: typer.TyperException) -> str:
    """What the library says of an option, what came where it leaves that out, and what one that is missing would be."""
    words, cause, came = error.format_message(), error.__cause__, ""
    if isinstance(cause, ValidationError):
        detail = cause.errors()[0]
        words, came = words.replace(detail["msg"], said_of(detail)), repr(detail["input"])
    about = str(getattr(getattr(error, "param", None), "help", None) or "") if words.startswith("Missing") else ""
    words = words.rstrip(".") + (f": {about.rstrip('.')}" if about else "")
    return f"{words}." if came in words else f"{words}, got {came}."


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns its exit code."""
    command = typer.main.get_command(app)
    logged = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *rest: Any) -> None:
        if issubclass(category, BudgetWarning):
            print(f"Warning: {terminal(message)}", file=sys.stderr)
        else:
            logged(message, category, *rest)

    warnings.showwarning = show
    try:
        code = command.main(args=None if arguments is None else list(arguments), prog_name="workbench", standalone_mode=False) or 0
    except (WorkbenchError, typer.TyperException) as error:
        message = complaint(error) if isinstance(error, typer.TyperException) else str(error)
        print(terminal(message), file=sys.stderr)
        return 2
    except RecursionError:
        print("Expected values that are nested less deeply. Look for a file or an option of many brackets.", file=sys.stderr)
        return 2
    except OSError as error:
        words = full_disk(error)
        print(f"{words} Free space and try again." if words else terminal(error), file=sys.stderr)
        return 1
    except sqlite3.OperationalError as error:
        print(unusable(Workspace.default(), error), file=sys.stderr)
        return 1
    except InterruptedWorkError as error:
        print(error, file=sys.stderr)
        return INTERRUPTED
    except typer.Abort:
        raise KeyboardInterrupt from None
    if code == INTERRUPTED:  # what becomes of Ctrl-C in the library, without a word
        raise KeyboardInterrupt
    return code
