"""A home of when runs were the only jobs: a finished run with samples, measures and a verdict, one that was killed, one in the queue."""

import sqlite3
import tarfile
from pathlib import Path

import pytest
from support.launchers import Here

from workbench.errors import WorkbenchError
from workbench.jobs import control, finished, runs
from workbench.jobs.launchers import LAUNCHERS
from workbench.jobs.lifecycle import Jobs
from workbench.jobs.registry import MIGRATIONS
from workbench.jobs.samples import sample_set
from workbench.jobs.store import RunStore
from workbench.jobs.verdicts import Verdicts
from workbench.privacy.spending.ledger import Ledger
from workbench.sqlite import statements
from workbench.workspace import Workspace

MADE = Path(__file__).parents[1] / "fixtures" / "home-before-jobs.tar.gz"
DONE, KILLED, QUEUED = "jxnuqhgr", "fvryvwu9", "4q5j2e68"


@pytest.fixture
def before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """The home, unpacked; what is started there works in the test's own process."""
    monkeypatch.setitem(LAUNCHERS, "local", Here())
    with tarfile.open(MADE) as archive:
        archive.extractall(tmp_path / "before", filter="data")
    return Workspace.open(tmp_path / "before")


def test_every_run_has_its_job_and_nothing_is_lost(before: Workspace) -> None:
    with sqlite3.connect(before.registry) as connection:
        connection.row_factory = sqlite3.Row
        rows = {row["id"]: dict(row) for row in connection.execute("SELECT * FROM runs")}
    runs = {run.id: run for run in RunStore(before).list()}
    assert list(runs) == [QUEUED, KILLED, DONE], "newest first, as they were made"
    assert {run_id: run.state for run_id, run in runs.items()} == {DONE: "done", KILLED: "lost", QUEUED: "queued"}
    assert {(job.id, job.task, job.owner) for job in Jobs(before).all()} == {(run_id, "train", run_id) for run_id in runs}
    for run_id, row in rows.items():
        now = runs[run_id].model_dump()
        kept = row.keys() - {"state", "error", "finished", "process", "claim", "bound", "config", "plan", "performance", "epsilon_spent"}
        assert {name: row[name] for name in kept} == {name: now[name] for name in kept}
    assert runs[KILLED].epsilon_spent == pytest.approx(runs[DONE].bound.epsilon), "as the ledger says"
    with sqlite3.connect(before.registry) as connection:
        columns = {column[1] for column in connection.execute("PRAGMA table_info(runs)")}
    assert not {"state", "process", "heartbeat"} & columns


def test_its_samples_measures_and_verdicts_are_known_and_its_neighbours_are_not_searched_again(
    before: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = sample_set(before, DONE).kept()
    assert kept is not None
    assert finished.kept_evaluation(before, DONE) is not None
    assert Verdicts(before.verdicts).of(DONE)[3].note == "a note"
    assert finished.kept_neighbours(before, DONE, "pixels", len(kept)) is not None
    assert finished.kept_copying(before, DONE, "pixels", len(kept)) is None
    monkeypatch.setattr("workbench.evaluation.find_neighbours", lambda *_: pytest.fail("searched again"))
    assert control.begin(before, "neighbours", DONE, {}).state == "done"
    results = finished.kept_copying(before, DONE, "pixels", len(kept))
    assert results is not None
    assert [row["name"] for row in results] == ["privacy_score", "nearer_to_training"]


def test_its_killed_run_does_not_go_on_from_a_checkpoint_that_names_no_run(before: Workspace) -> None:
    assert control.resume(before, KILLED).state == "failed"


def test_its_runs_are_deleted_and_stay_in_the_ledger(before: Workspace) -> None:
    spent = Ledger(before.ledger).epsilon_spent(KILLED, 1e-5).epsilon
    for run_id in (DONE, KILLED, QUEUED):
        runs.delete(before, run_id)
    assert RunStore(before).list() == Jobs(before).all() == []
    assert list(before.runs.iterdir()) == []
    assert Ledger(before.ledger).epsilon_spent(KILLED, 1e-5).epsilon == spent


def test_a_migration_that_is_cut_short_leaves_the_home_as_it_was(before: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    with sqlite3.connect(before.registry) as connection:
        whole = list(connection.execute("SELECT * FROM runs"))
    cut = statements("CREATE TABLE jobs (id TEXT)", "DROP TABLE runs", "no statement at all")
    monkeypatch.setattr("workbench.jobs.registry.MIGRATIONS", (*MIGRATIONS[:-1], cut))
    with pytest.raises(sqlite3.OperationalError):
        RunStore(before)
    with sqlite3.connect(before.registry) as connection:
        assert list(connection.execute("SELECT * FROM runs")) == whole
    monkeypatch.undo()
    assert len(RunStore(before).list()) == 3


def test_a_run_that_is_not_there_is_refused(before: Workspace) -> None:
    for asked in (QUEUED, "zzzzzzzz"):
        with pytest.raises(WorkbenchError, match=r"is queued|Unknown run"):
            control.begin(before, "evaluate", asked, {})
    assert len(Jobs(before).all()) == 3
