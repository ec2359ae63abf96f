"""A run on a table whose persons have several rows: ledger, card and the check of an export speak of the person."""

from pathlib import Path

from support.homes import here
from support.persons import VISITS, visits

from workbench import datasets, experiment, runs
from workbench.privacy.spending.ledger import Ledger
from workbench.privacy.spending.totals import ROWS_TOGETHER
from workbench.runs.release import export_run, verify
from workbench.runs.run import Run
from workbench.runs.store import RunStore
from workbench.tasks import worker
from workbench.training.state import PerformanceSettings


def trained(path: Path, rows_per_person: int) -> Run:
    """A finished run on a table, on the account `visits`."""
    person = VISITS.person if rows_per_person else ""
    declared = VISITS.model_copy(update={"person": person, "rows_per_person": rows_per_person})
    path.with_suffix(".declared.json").write_text(declared.text)
    loaded = datasets.load(path, declared=declared, name="visits")
    plan = experiment.make_plan("independent-marginals", loaded.facts, epsilon=2.0)
    run = runs.register(here(), plan, str(path), performance=PerformanceSettings(device="cpu", num_threads=1), loaded=loaded)
    RunStore(here()).change(run.id, {"queued"}, "started", state="starting", attempt=1)
    worker.main(here(), run.id)
    return RunStore(here()).get(run.id)


def test_a_run_is_exported_and_checked_as_one_that_protects_persons(tmp_path: Path) -> None:
    folder = tmp_path / "table"
    folder.mkdir()
    path = visits(folder)
    run = trained(path, 3)
    assert run.state == "done"
    export_run(here(), run.id, tmp_path / "run.zip")
    checked = verify(tmp_path / "run.zip")
    assert checked.holds, checked.checks
    assert checked.card.unit.startswith("One person, as the column patient names them, with all that at most 3 of the rows of each say")
    assert "at most 3 rows of each" in checked.card.markdown
    book = Ledger(here().ledger)
    total = book.total("visits")
    assert total.epsilon == run.bound.epsilon
    assert "What it protects is a person (patient)." in total.reason
    trained(path, 0)
    mixed = book.total("visits")
    assert ROWS_TOGETHER in mixed.reason
    assert mixed.epsilon > total.epsilon
