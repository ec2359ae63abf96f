"""A declaration as the rows of a grid: what is proposed, what is changed, and what is said of a cell that makes none."""

from pathlib import Path
from typing import Any

import pytest

from workbench.datasets.declaration import DeclaredColumn, TableDeclaration
from workbench.datasets.proposal import propose
from workbench.errors import WorkbenchError
from workbench.ui.declaration_grid import declaration_from, frame, proposed_rows, rows_of

DECLARED = TableDeclaration(
    columns=(
        DeclaredColumn(name="age", edges=(0, 20, 40, 60), missing="unknown"),
        DeclaredColumn(name="income", edges=(0, 1.5, 10), points=(0, 2.25)),
        DeclaredColumn(name="town", categories=("Aa, north", 'Bb "old"', "Cc"), other="elsewhere"),
        DeclaredColumn(name="ill", categories=("no", "yes")),
    ),
    target="ill",
)


def test_rows_say_all_that_is_declared() -> None:
    rows = rows_of(DECLARED)
    assert declaration_from(rows) == DECLARED
    assert declaration_from(frame(rows).astype(object).where(frame(rows).notna(), None).to_dict("records")) == DECLARED
    assert [row["kind"] for row in rows] == ["numbers", "numbers", "categories", "categories"]
    assert (rows[0]["lower"], rows[0]["upper"], rows[0]["bins"], rows[1]["categories"]) == (0, 60, 3, "0, 1.5, 10")
    assert rows[1]["points"] == "0, 2.25"
    assert [row["column"] for row in rows if row["target"]] == ["ill"]


def test_a_proposal_is_the_commands_and_a_column_of_too_many_texts_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("key,size,ill\n" + "".join(f"k{number},{number % 30},{'yes' if number % 3 else 'no'}\n" for number in range(1_200)))
    rows, (reason,) = proposed_rows(path)
    assert [row["read"] for row in rows] == [False, True, True]
    assert "at most 1000 categories in the column 'key', got 1200" in reason
    assert declaration_from(rows) == propose(path, leave_out=["key"])


def test_the_column_of_persons_is_kept_and_is_no_feature() -> None:
    declared = DECLARED.model_copy(update={"person": "patient", "rows_per_person": 3})
    rows = rows_of(declared)
    assert (rows[-1]["column"], rows[-1]["read"], rows[-1]["person"]) == ("patient", False, True)
    assert declaration_from(rows, 3) == declared
    rows[-1]["read"] = True
    assert declaration_from(rows, 3) == declared, "whoever ticks both has named the person"
    with pytest.raises(WorkbenchError, match="together with `rows_per_person` from 1"):
        declaration_from(rows)
    with pytest.raises(WorkbenchError, match="one person column, or none, got age and patient"):
        declaration_from([rows[0] | {"person": True}, *rows[1:]], 3)


@pytest.mark.parametrize(
    ("column", "change", "said"),
    [
        (0, {"upper": None}, "a lower limit of 'age', an upper one above it"),
        (0, {"upper": -1.0}, "a lower limit of 'age', an upper one above it"),
        (1, {"categories": "0, ten"}, "rising edges of 'income'"),
        (1, {"categories": "10, 0"}, "rising edges of 'income'"),
        (1, {"points": "2, 0"}, "rising points of 'income'"),
        (2, {"categories": ""}, "categories of town"),
        (2, {"target": True}, "one target column, or none, got town and ill"),
        (3, {"categories": "yes,yes"}, "categories of ill that differ"),
    ],
)
def test_what_makes_no_declaration_gets_a_sentence(column: int, change: dict[str, Any], said: str) -> None:
    rows = rows_of(DECLARED)
    rows[column] |= change
    with pytest.raises(WorkbenchError, match=said):
        declaration_from(rows)


def test_nothing_read_declares_nothing() -> None:
    with pytest.raises(WorkbenchError, match="Expected a declaration of columns"):
        declaration_from({**row, "read": False} for row in rows_of(DECLARED))
