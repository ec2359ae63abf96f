"""Every notebook runs from top to bottom, small; its solution is right; and it is committed without outputs."""

import re
import time
from pathlib import Path

import nbformat
import pytest

from docs.site.lessons import carry_out

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
FIRST_RUN = "A first run"  # its exercise is to change and run it again, so nothing is checked
SECONDS_A_CELL = 120
SECONDS = 40.0  # of a lesson in small
# A figure of 12 inches fills a slide, so its 24 points are 24 on the wall.
STYLE = (
    'plt.rcParams.update({"font.size": 24, "axes.titlesize": 24, "figure.titlesize": 24, "figure.figsize": (12, 5), "lines.linewidth": 4})'
)
FOLDED = {"source_hidden": True, "outputs_hidden": True}


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request: pytest.FixtureRequest) -> nbformat.NotebookNode:
    """One notebook, as it is in the checkout."""
    return nbformat.read(request.param, as_version=4)


def code_cells(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_the_files_have_the_course_s_order() -> None:
    course = re.findall(r"^\| \[.+\]\(\.\./notebooks/(.+)\.ipynb\) \|", (ROOT / "docs/lessons.md").read_text(), flags=re.MULTILINE)
    assert [path.stem for path in NOTEBOOKS] == course
    assert [name[:3] for name in course] == [f"{number:02d}_" for number in range(1, len(course) + 1)]
    assert re.findall(r"^lessons/(\d.+)$", (ROOT / "docs/index.md").read_text(), flags=re.MULTILINE) == course


def test_it_is_valid_and_carries_no_outputs(notebook: nbformat.NotebookNode) -> None:
    nbformat.validate(notebook)
    assert [cell.id for cell in code_cells(notebook) if cell.outputs or cell.execution_count is not None] == []


def test_it_explains_every_cell_before_it_runs_it(notebook: nbformat.NotebookNode) -> None:
    kinds = [cell.cell_type for cell in notebook.cells]
    assert [i for i, kind in enumerate(kinds) if kind == "code" and (i == 0 or kinds[i - 1] != "markdown")] == []


def test_it_ends_in_an_exercise_and_all_but_the_first_run_have_a_slider(notebook: nbformat.NotebookNode) -> None:
    assert any("Your turn" in cell.source for cell in notebook.cells[-6:])
    if FIRST_RUN not in notebook.cells[0].source:
        assert "interact(" in "\n".join(cell.source for cell in code_cells(notebook))


def test_its_check_and_solution_are_folded_in_the_notebook_and_on_the_site(notebook: nbformat.NotebookNode) -> None:
    if FIRST_RUN in notebook.cells[0].source:
        assert "<details>" in notebook.cells[-1].source
        return
    check, answer, solution = code_cells(notebook)[-3:]
    assert check.source.startswith("def check(answer):")
    assert "Hint: " in check.source
    assert check.metadata == {"jupyter": {"source_hidden": True}, "tags": ["hide-input"]}
    assert answer.source == "answer = None\ncheck(answer)"
    assert solution.source.startswith("solution = ")
    assert solution.metadata == {"jupyter": FOLDED, "tags": ["hide-cell"]}


def test_its_figures_can_be_read_from_the_last_row(notebook: nbformat.NotebookNode) -> None:
    code = "\n".join(cell.source for cell in code_cells(notebook))
    assert not re.search(r"\bplt\.|\.plot\b", code) or STYLE in code
    assert re.findall(r"fontsize=|figsize=\((?!12, )", code) == []
    assert [int(size) for size in re.findall(r"\bpixels=(\d+)", code) if int(size) < 48] == []


@pytest.mark.timeout(900)
def test_it_runs(notebook: nbformat.NotebookNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, warm_kernels: list[str]) -> None:
    monkeypatch.setenv("FAST", "1")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # two workers share two cores
    started = time.monotonic()
    carry_out(notebook, tmp_path, SECONDS_A_CELL, warm_kernels)
    assert time.monotonic() - started < SECONDS
    drawn = [cell for cell in code_cells(notebook) if any("image/png" in output.get("data", {}) for output in cell.outputs)]
    assert [cell.id for cell in drawn if not cell.metadata.get("mystnb", {}).get("image", {}).get("alt")] == [], "no alternative text"
    assert drawn
    shown = [output for cell in code_cells(notebook) for output in cell.outputs]
    assert [output.text for output in shown if output.output_type == "stream" and output.name == "stderr"] == []
    if FIRST_RUN not in notebook.cells[0].source:
        printed = "".join(output.text for output in code_cells(notebook)[-1].outputs)  # a kernel may send one line in two parts
        assert ": Right" in printed
    assert {path.name for path in tmp_path.iterdir()} <= {"home"}, "nothing beside the workbench's own home"
