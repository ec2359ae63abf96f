"""Names, notes and tags of runs: kept, shown and filtered by in their home, and in no export."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.homes import here

from workbench.cli.commands import run as command
from workbench.errors import WorkbenchError
from workbench.runs.housekeeping import size_of_run
from workbench.runs.labels import label
from workbench.runs.release.export import export_run
from workbench.runs.run import Run
from workbench.runs.selection import Selection
from workbench.runs.store import RunStore

PlanMaker = Callable[..., Any]
Make = Callable[..., Run]


def test_what_is_not_said_stays(quick_plan: PlanMaker, queue: Make) -> None:
    run = queue(quick_plan())
    label(here(), run.id, name=" The   good one ", note="Look at it\nagain.", tags=["paper", "v2"])
    label(here(), run.id, tags=["draft", "paper"], untag=["v2"])
    kept = RunStore(here()).get(run.id)
    assert (kept.name, kept.note, kept.tags) == ("The good one", "Look at it\nagain.", ("draft", "paper"))
    assert (kept.state, kept.bound) == (run.state, run.bound)
    label(here(), run.id, name="", note="", untag=kept.tags)
    assert RunStore(here()).get(run.id).model_dump() == run.model_dump()


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"name": "x" * 81}, "Expected a name of at most 80 letters, got 81"),
        ({"tags": ["two words"]}, "Expected a tag of 1 to 40 letters"),
        ({"tags": [str(number) for number in range(21)]}, "Expected at most 20 tags, got 21"),
    ],
)
def test_what_is_no_label_is_refused_and_changes_nothing(values: dict[str, Any], said: str, quick_plan: PlanMaker, queue: Make) -> None:
    run = queue(quick_plan())
    with pytest.raises(WorkbenchError, match=said):
        label(here(), run.id, **values)
    assert RunStore(here()).get(run.id).model_dump() == run.model_dump()


def test_the_commands_keep_show_and_filter(
    quick_plan: PlanMaker, queue: Make, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    run, other = queue(quick_plan()), queue(quick_plan())
    assert command(["label", run.id, "--name", "The good one", "--tag", "paper", "--note", "Seen."]) == 0
    assert "The good one" in capsys.readouterr().out
    assert command(["runs", "--tag", "paper", "--sizes", "--json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)
    assert (listed["id"], listed["name"], listed["tags"], listed["bytes"]) == (
        run.id,
        "The good one",
        ["paper"],
        size_of_run(here(), run.id),
    )
    assert listed["bytes"] > 0
    assert command(["runs", "--sizes"]) == 0
    table = capsys.readouterr().out
    assert "The good one" in table
    assert "paper" in table
    assert command(["show", run.id]) == 0
    assert "Seen." in capsys.readouterr().out
    assert [one.id for one in RunStore(here()).select(Selection())] == [other.id, run.id]


def test_no_export_has_them(quick_plan: PlanMaker, train_here: Make, tmp_path: Path) -> None:
    run = train_here(quick_plan())
    label(here(), run.id, name="Sibyl", note="Sibyl said so.", tags=["Sibyl"])
    export_run(here(), run.id, tmp_path / "run.zip")
    with zipfile.ZipFile(tmp_path / "run.zip") as archive:
        assert not [name for name in archive.namelist() if b"Sibyl" in archive.read(name)]
