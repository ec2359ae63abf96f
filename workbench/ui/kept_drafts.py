"""Drafts of declarations, kept in the home until they are confirmed or discarded: a reload or another browser goes on with them.

A draft is made of private rows. It lies in the owner's home alone, and counts in no plan.
"""

import hashlib
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from workbench.datasets.declaration import Rules
from workbench.files import make_private_folder, write_text_atomically
from workbench.serialization import dumps
from workbench.workspace import Workspace


class Draft(BaseModel):
    """The rows of a grid, why some columns are not read, rules between columns, and how many rows of each person take part."""

    model_config = ConfigDict(frozen=True)

    rows: list[dict[str, Any]]
    reasons: list[str] = []
    never: Rules = ()
    rows_per_person: int | None = None


def kept_draft(table: Path) -> Draft | None:
    """The draft of a table's declaration; None where there is none, or another version wrote it."""
    try:
        return Draft.model_validate_json(_place(table).read_text(encoding="utf-8"))
    except (OSError, ValidationError):
        return None


def keep_draft(table: Path, draft: Draft) -> None:
    """Keep it in the place of the one before."""
    make_private_folder(_place(table).parent)
    write_text_atomically(_place(table), dumps(draft))


def drop_draft(table: Path) -> None:
    """Forget it."""
    _place(table).unlink(missing_ok=True)


def _place(table: Path) -> Path:
    name = hashlib.sha256(str(table.resolve()).encode()).hexdigest()[:32]
    return Workspace.default().app / "drafts" / f"{name}.json"
