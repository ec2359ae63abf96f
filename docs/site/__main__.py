"""Build the site: `python -m docs.site`, with `--execute` to carry out the lessons that changed since their outputs were kept."""

import argparse
import os
import sys
import tempfile
from pathlib import Path

import nbformat

from docs.site.assemble import assemble
from docs.site.lessons import carry_out
from docs.site.links import ROOT
from docs.site.outputs import StaleOutputsError, is_stale, keep

BUILD = ROOT / "build" / "site"
SECONDS_A_CELL = 900


def main() -> int:
    """Assemble the sources and let Sphinx build; a warning is an error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--execute", action="store_true", help="Carry out the lessons whose code changed, and keep what they show.")
    if parser.parse_args().execute:
        execute()
    try:
        assemble(BUILD / "source")
    except StaleOutputsError as error:
        print(error, file=sys.stderr)
        return 1
    from sphinx.cmd.build import main as build

    failed = build(["-W", "--keep-going", "-q", "-d", str(BUILD / "doctrees"), str(BUILD / "source"), str(BUILD / "html")])
    print("Failed." if failed else f"Open {BUILD / 'html' / 'index.html'}")
    return failed


def execute() -> None:
    """Carry out, in full, every lesson of whose code no outputs are kept, and keep them."""
    os.environ.pop("FAST", None)
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        if is_stale(path, notebook):
            print(f"Carrying out {path.name}, which takes up to three minutes", flush=True)
            with tempfile.TemporaryDirectory() as folder:
                carry_out(notebook, Path(folder), SECONDS_A_CELL)
            keep(path, notebook)


sys.exit(main())
