"""Every notebook runs from top to bottom, small, and is committed without outputs."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).parent.parent / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
SECONDS_A_CELL = 240


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def notebook(request: pytest.FixtureRequest) -> nbformat.NotebookNode:
    """One notebook, as it is in the checkout."""
    return nbformat.read(request.param, as_version=4)


def code_cells(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_there_is_a_first_lesson() -> None:
    assert NOTEBOOKS[0].stem == "04_first_run"


def test_it_is_valid_and_carries_no_outputs(notebook: nbformat.NotebookNode) -> None:
    nbformat.validate(notebook)
    assert [cell.id for cell in code_cells(notebook) if cell.outputs or cell.execution_count is not None] == []


def test_it_explains_every_cell_before_it_runs_it(notebook: nbformat.NotebookNode) -> None:
    kinds = [cell.cell_type for cell in notebook.cells]
    assert [i for i, kind in enumerate(kinds) if kind == "code" and (i == 0 or kinds[i - 1] != "markdown")] == []


def test_it_ends_in_an_exercise_and_all_but_the_first_have_a_slider_and_check_the_answer(notebook: nbformat.NotebookNode) -> None:
    assert any("Your turn" in cell.source for cell in notebook.cells[-3:])
    if "A first run" not in notebook.cells[0].source:
        code = "\n".join(cell.source for cell in code_cells(notebook))
        assert "interact(" in code
        assert "\nanswer = None\n" in f"\n{code}"
        assert code.endswith("check(answer)")


@pytest.mark.timeout(900)
def test_it_runs(notebook: nbformat.NotebookNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAST", "1")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # two workers share two cores
    client = NotebookClient(notebook, timeout=SECONDS_A_CELL, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    shown = [output for cell in code_cells(notebook) for output in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in shown)
    assert [output.text for output in shown if output.output_type == "stream" and output.name == "stderr"] == []
    assert {path.name for path in tmp_path.iterdir()} <= {"home"}, "nothing beside the workbench's own home"
