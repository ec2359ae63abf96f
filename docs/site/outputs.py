"""What lessons print and draw, kept in `docs/site/outputs/`: notebooks are committed without it, and the site shows it."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat

from docs.site.links import ROOT

FOLDER = ROOT / "docs" / "site" / "outputs"
WIDGET = "application/vnd.jupyter.widget-view+json"  # asks for a kernel, which a page has not


class StaleOutputsError(Exception):
    """A lesson's code is not the code whose outputs are kept."""


def keep(lesson: Path, carried_out: nbformat.NotebookNode) -> None:
    """Write the outputs of a lesson that was carried out in full, with the digest of its code."""
    outputs = [[_lean(output) for output in cell.outputs if WIDGET not in output.get("data", {})] for cell in _code(carried_out)]
    FOLDER.mkdir(exist_ok=True)
    _file(lesson).write_text(json.dumps({"code": code_digest(carried_out), "outputs": outputs}, indent=0, sort_keys=True) + "\n")


def with_outputs(lesson: Path, notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The notebook with its kept outputs; raises StaleOutputsError where there are none of this code."""
    if is_stale(lesson, notebook):
        raise StaleOutputsError(
            f"Expected outputs of {lesson.name}'s code in {FOLDER.relative_to(ROOT)}. `make docs ARGS=--execute` makes them."
        )
    for cell, outputs in zip(_code(notebook), json.loads(_file(lesson).read_text())["outputs"], strict=True):
        cell.outputs = [nbformat.from_dict(output) for output in outputs]
    return notebook


def is_stale(lesson: Path, notebook: nbformat.NotebookNode) -> bool:
    """Whether no outputs of the notebook's present code are kept."""
    return not _file(lesson).exists() or json.loads(_file(lesson).read_text())["code"] != code_digest(notebook)


def code_digest(notebook: nbformat.NotebookNode) -> str:
    """SHA-256 of the cells of code, in order."""
    return hashlib.sha256(json.dumps([cell.source for cell in _code(notebook)]).encode()).hexdigest()


def _code(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def _lean(output: Mapping[str, Any]) -> dict[str, Any]:
    """The output without the count of executions, which changes from one to the next."""
    return {name: None if name == "execution_count" else value for name, value in output.items()}


def _file(lesson: Path) -> Path:
    return FOLDER / f"{lesson.stem}.json"
