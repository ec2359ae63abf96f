"""Every lesson in full: each within three minutes of two cores, without a word on stderr, and with a solution that is right."""

import os
import time
from pathlib import Path
from typing import Any

import nbformat
import pytest

from docs.site.lessons import carry_out
from docs.site.outputs import keep

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
RECIPES = ["!workbench/recipes/*.json", "!workbench/recipes/comparisons/*.json"]  # what is to be measured, not what was
# Of what a browser shows, rows of images and what these take.
DEPENDS = ["workbench/**", "!workbench/pages/**", "!workbench/server/**", "!workbench/ui/[!gtw]*.py", *RECIPES]
MOST_SECONDS = 180.0  # of processor time over two cores, which other work on the machine does not lengthen


def depends(path: Path) -> list[str]:
    """The package less what the lesson does not read, and the lesson."""
    measured = [] if "load_measured" in path.read_text() else ["!workbench/measured/*.csv"]
    return [*DEPENDS, *measured, f"notebooks/{path.name}"]


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, id=path.stem, marks=pytest.mark.slow(depends=depends(path))) for path in NOTEBOOKS],
)
def test_a_lesson_in_full(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, figures: dict[str, Any]) -> None:
    monkeypatch.delenv("FAST", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    notebook = nbformat.read(path, as_version=4)
    before, started = os.times(), time.perf_counter()
    carry_out(notebook, tmp_path, 900)
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    figures |= {"seconds": round(time.perf_counter() - started, 1), "processor_seconds": round(used, 1)}
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert [output.text for output in outputs if output.get("name") == "stderr"] == []
    solved = [output.text for output in notebook.cells[-1].get("outputs", []) if output.get("name") == "stdout"]
    assert solved == [] or ": Right" in "".join(solved)  # the first run's exercise is to change it and run it again
    assert used / 2 < MOST_SECONDS
    keep(path, notebook)  # for the site
