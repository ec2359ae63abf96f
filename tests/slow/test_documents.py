"""The code blocks of documents that take longer than seconds run as they are printed, each document in a home of its own."""

import os
from pathlib import Path
from typing import Any

import pytest
from support.documents import LONG, reader

# Of the pages, commands draw the panels of Process alone.
DEPENDS = ["workbench/**", "!workbench/pages/[!p]*/**", "!workbench/server/**", "tests/support/documents.py"]


@pytest.mark.parametrize(
    "document",
    [pytest.param(name, marks=pytest.mark.slow(depends=[*DEPENDS, name])) for name in LONG],
)
def test_what_a_document_prints_runs(document: str, tmp_path: Path, figures: dict[str, Any]) -> None:
    own = reader(tmp_path / "folder", os.environ)
    own.read(document)
    figures["commands"] = own.commands
