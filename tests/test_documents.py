"""The code blocks of README, first pages and guides run as they are printed: here those of seconds, the others in the slow tier."""

import os
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from support.documents import BEFORE, CANNOT_RUN, DOCUMENTS, LONG, QUICK, SHORTER, blocks, reader


@pytest.mark.parametrize("document", QUICK)
def test_what_a_document_prints_runs(document: str, tmp_path: Path) -> None:
    reader(tmp_path / "folder", os.environ).read(document)


def test_what_is_excepted_is_printed() -> None:
    printed = {(document, line) for document in DOCUMENTS for block in blocks(document) for line in block.lines()}
    assert set(CANNOT_RUN) - printed == set()
    for document, text in SHORTER:
        assert sum(block.text.count(text) for block in blocks(document)) == 1
    assert set(BEFORE) <= {*QUICK, *LONG}
    assert len(printed) > 60


def test_the_command_line_takes_what_cannot_run_here() -> None:
    import typer

    from workbench.cli.commands import app

    whole: Any = typer.main.get_command(app)
    lines = [line for _document, line in CANNOT_RUN if line.startswith("workbench ")]
    assert lines
    for line in lines:
        _workbench, name, *words = shlex.split(line)
        whole.commands[name].make_context(name, words)  # a usage error where it would not be taken


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_fence_of_a_document_is_a_block(document: str) -> None:
    text = (Path(__file__).parents[1] / document).read_text()
    assert len(re.findall(r"^\s*```", text, flags=re.MULTILINE)) == 2 * len(blocks(document))
