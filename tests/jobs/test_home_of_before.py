"""A home that version 0.1 made opens in today's code: runs, samples, measures, ledger, and what may be resumed."""

import json
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from workbench.errors import WorkbenchError
from workbench.jobs import control, finished
from workbench.jobs.folder import RunFolder
from workbench.jobs.samples import sample_set
from workbench.jobs.store import RunStore
from workbench.privacy.spending.ledger import Ledger
from workbench.workspace import Workspace

MADE = Path(__file__).parents[1] / "fixtures" / "home-0.1.tar.gz"
RUNS = {"e9k2j695": "nonprivate", "m6u9ygzs": "dp-promise", "rsgjfgnp": "dp-merf"}


@pytest.fixture
def before(tmp_path: Path) -> Workspace:
    """The home, unpacked."""
    with tarfile.open(MADE) as archive:
        archive.extractall(tmp_path / "before", filter="data")
    return Workspace.open(tmp_path / "before")


def test_its_runs_and_ledger_are_known(before: Workspace) -> None:
    runs = {run.id: run for run in RunStore(before).list()}
    assert {run_id: run.method for run_id, run in runs.items()} == RUNS
    assert {run.state for run in runs.values()} == {"done"}
    assert runs["rsgjfgnp"].bound.epsilon == pytest.approx(9.983325294190847)
    ledger = Ledger(before.ledger)
    assert {entry.run_id for entry in ledger.entries("digits")} == set(RUNS)
    assert ledger.epsilon_spent("rsgjfgnp", runs["rsgjfgnp"].delta).epsilon == pytest.approx(runs["rsgjfgnp"].bound.epsilon)


def test_its_samples_and_measures_open_and_more_can_be_drawn(before: Workspace) -> None:
    found, measured = sample_set(before, "rsgjfgnp"), finished.kept_evaluation(before, "rsgjfgnp")
    kept = found.kept()
    assert kept is not None
    assert measured is not None
    assert measured["results"]
    assert (found.records(len(kept) + 1).records[: len(kept)] == kept.records).all()


def test_its_losses_are_named_values(before: Workspace) -> None:
    rows = RunFolder(before, "rsgjfgnp").read_metrics()
    assert rows[0]["values"] == {}
    assert not any("loss" in row for row in rows)
    kept = [json.loads(line)["loss"] for line in RunFolder(before, "rsgjfgnp").metrics.read_text().splitlines()]
    assert [row["values"].get("loss") for row in rows] == kept


def test_its_ledger_takes_today_s_stages_for_those_it_knows(before: Workspace) -> None:
    """A free stage then had the event of the paid one before it; now it has none."""
    ledger, run = Ledger(before.ledger), RunStore(before).get("rsgjfgnp")
    (entry,) = (entry for entry in ledger.entries("digits") if entry.run_id == run.id)
    opening = (run.id, entry.fingerprint, entry.dataset, entry.method)
    ledger.open_run(*opening, run.plan.stages, entry.delta)
    with pytest.raises(WorkbenchError, match="it was opened with"):
        ledger.open_run(*opening, [replace(stage, steps=stage.steps + 1) for stage in run.plan.stages], entry.delta)


def test_a_finished_run_is_not_resumed(before: Workspace) -> None:
    with pytest.raises(WorkbenchError, match="is done"):
        control.resume(before, "rsgjfgnp")
