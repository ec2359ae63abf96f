"""The `workbench` command: a thin layer over the functions that pages and notebooks call too.

Wrong input ends with one sentence on stderr and exit code 2, work that failed with 1, Ctrl-C with 130. `--json` prints results as
JSON, with "inf" for infinity; progress goes to stderr.
"""

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code; Ctrl-C is a word from the first import on."""
    try:
        from workbench.cli.commands import run

        sys.exit(run(arguments))
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        sys.exit(130)
