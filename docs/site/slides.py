"""A deck of each lesson for the projector: `python -m docs.site.slides [NAME...]`; its figures and statements, one section a slide.

Every heading begins a slide; code is left out, what it prints and draws stays. The lessons are carried out, small where FAST is set.
"""

import argparse
import base64
import os
import re
import shutil
import tempfile
from html import escape
from itertools import takewhile
from pathlib import Path

import nbformat
import sphinx_revealjs
from nbconvert import SlidesExporter
from traitlets.config import Config

from docs.site.lessons import carry_out
from docs.site.links import ROOT

BUILD = ROOT / "build" / "slides"
SECONDS_A_CELL = 300
STYLE = """<style>.reveal { font-size: 24pt; } .reveal table { font-size: 18pt; } .reveal .slides { text-align: left; }
.reveal img, .reveal .jp-RenderedSVG svg { width: 92%; height: auto; max-height: 62vh; object-fit: contain; image-rendering: pixelated; }
.reveal section { overflow-y: auto; max-height: 96vh; }</style>
"""
START = """<script src="reveal/dist/reveal.js"></script>
<script>Reveal.initialize({controls: true, progress: true, hash: true, slideNumber: true, width: 1280, height: 720, margin: 0.03});</script>
"""
SHARP = "%config InlineBackend.figure_formats = ['svg']"  # figures that a projector may enlarge; at a slide's width their text is 24 points
EXERCISE = "Your turn"  # what follows, with its check and solution, is for the notebook


def deck(notebook: nbformat.NotebookNode) -> str:
    """A lesson as HTML of reveal.js: a slide a section, without code and without the exercise at its end."""
    shown = [cell for cell in takewhile(lambda cell: EXERCISE not in cell.source, notebook.cells) if cell.source != SHARP]
    for place, cell in enumerate(shown):
        describe_pictures(cell)
        begins = cell.cell_type == "markdown" and (place == 0 or re.match(r"#+ ", cell.source))
        cell.metadata["slideshow"] = {"slide_type": "slide" if begins else "-"}
    notebook = nbformat.from_dict({**notebook, "cells": shown})
    settings = Config(
        {
            "SlidesExporter": {
                "exclude_input": True,
                "exclude_input_prompt": True,
                "exclude_output_prompt": True,
                "reveal_theme": "white",
                "reveal_url_prefix": "reveal",
            }
        }
    )
    html, _ = SlidesExporter(config=settings).from_notebook_node(notebook)
    return offline(html).replace("</head>", f"{STYLE}</head>", 1)


def describe_pictures(cell: nbformat.NotebookNode) -> None:
    """Give a cell's pictures its alternative text, where the site reads it too: `mystnb.image.alt` in the cell's metadata."""
    alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt")
    for output in cell.get("outputs", []) if alt else []:
        data = output.get("data", {})
        if "image/svg+xml" in data:
            source = f"image/svg+xml;base64,{base64.b64encode(data['image/svg+xml'].encode()).decode()}"
        elif "image/png" in data:
            source = f"image/png;base64,{data['image/png'].strip()}"
        else:
            continue
        output.data = nbformat.from_dict({"text/html": f'<img alt="{escape(alt)}" src="data:{source}">'})


def offline(html: str) -> str:
    """The page without what it would ask of the network: reveal.js lies beside it, and nothing else is needed."""
    html = re.sub(r'<script[^>]* src="https?://[^"]*"[^>]*>\s*</script>', "", html)
    scripts = [
        script
        for script in re.findall(r"<script(?:(?!</script>).)*</script>", html, flags=re.DOTALL)
        if re.search(r"require\(|MathJax", script)
    ]
    for script in scripts:
        html = html.replace(script, "")
    return html.replace("</body>", f"{START}</body>", 1)


def execute(notebook: nbformat.NotebookNode) -> None:
    """Carry it out in a home of its own."""
    notebook.cells.insert(0, nbformat.v4.new_code_cell(SHARP))
    with tempfile.TemporaryDirectory() as folder:
        os.environ["WORKBENCH_HOME"] = str(Path(folder) / "home")
        carry_out(notebook, Path(folder), SECONDS_A_CELL)


def main() -> None:
    """Write the decks that were named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="Lessons by their files' names; all by default.")
    parser.add_argument("--no-execute", action="store_true", help="Statements alone, without carrying out a lesson.")
    arguments = parser.parse_args()
    BUILD.mkdir(parents=True, exist_ok=True)
    shutil.copytree(Path(sphinx_revealjs.__file__).parent / "_static" / "revealjs", BUILD / "reveal", dirs_exist_ok=True)
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        if arguments.names and path.stem not in arguments.names:
            continue
        notebook = nbformat.read(path, as_version=4)
        if not arguments.no_execute:
            execute(notebook)
        (BUILD / f"{path.stem}.html").write_text(deck(notebook))
        print(BUILD / f"{path.stem}.html")


if __name__ == "__main__":
    main()
