"""The `workbench` command: a thin layer over the functions that pages and notebooks call too.

Wrong input ends with one sentence on stderr and exit code 2, work that failed with 1. `--json` prints results as JSON, with
"inf" for infinity; progress goes to stderr.
"""

import sqlite3
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import typer

from workbench.cli import accounting, control, planning, results, samples
from workbench.errors import BudgetWarning, WorkbenchError
from workbench.escaping import terminal
from workbench.workspace import Workspace

app = typer.Typer(
    name="workbench",
    help="Learn, budget and audit differentially private diffusion models.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for commands in (control.app, planning.app, samples.app, results.app, accounting.app):
    app.registered_commands.extend(commands.registered_commands)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    command = typer.main.get_command(app)
    logged = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *rest: Any) -> None:
        if issubclass(category, BudgetWarning):
            print(f"Warning: {terminal(message)}", file=sys.stderr)
        else:
            logged(message, category, *rest)

    warnings.showwarning = show
    try:
        code = command.main(args=None if arguments is None else list(arguments), prog_name="workbench", standalone_mode=False)
    except (WorkbenchError, typer.TyperException) as error:
        message = error.format_message() if isinstance(error, typer.TyperException) else str(error)
        print(terminal(message), file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        print(terminal(error), file=sys.stderr)
        sys.exit(1)
    except sqlite3.OperationalError as error:
        print(f"The records of runs in {Workspace.default().home} could not be read or written: {error}.", file=sys.stderr)
        sys.exit(1)
    except (typer.Abort, KeyboardInterrupt):
        print("Stopped.", file=sys.stderr)
        sys.exit(130)
    sys.exit(code or 0)


if __name__ == "__main__":
    main()
