"""Build the site: `python -m docs.site`, with `--execute` to carry out the lessons and show what they print."""

import argparse
import os
import sys

from docs.site.assemble import assemble
from docs.site.links import ROOT

BUILD = ROOT / "build" / "site"


def main() -> int:
    """Assemble the sources and let Sphinx build; a warning is an error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--execute", action="store_true", help="Carry out the lessons; what has not changed comes from a cache.")
    if parser.parse_args().execute:
        os.environ |= {"DOCS_EXECUTE": "cache", "DOCS_CACHE": str(BUILD / "cache")}
    assemble(BUILD / "source")
    from sphinx.cmd.build import main as build

    failed = build(["-W", "--keep-going", "-q", "-d", str(BUILD / "doctrees"), str(BUILD / "source"), str(BUILD / "html")])
    print("Failed." if failed else f"Open {BUILD / 'html' / 'index.html'}")
    return failed


sys.exit(main())
