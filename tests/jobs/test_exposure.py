"""Values per record of a finished run: made once, kept in its folder, refused where a method has none; by command too."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.homes import here
from support.launchers import Here
from support.odd_methods import join_registry
from support.quick import quick_dataset, quick_plan
from support.tables import toy_table

from workbench.cli import main
from workbench.datasets import DATASETS, DatasetEntry
from workbench.errors import WorkbenchError
from workbench.jobs import control, exposure, runs, worker
from workbench.jobs.folder import RunFolder
from workbench.jobs.launchers import LAUNCHERS
from workbench.jobs.run import Run
from workbench.jobs.store import RunStore
from workbench.methods.ddm import DDM
from workbench.training.state import PerformanceSettings


@pytest.fixture
def trained(workbench_home: object, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Train a method's quick plan in this process."""
    entry = DatasetEntry("A small table.", lambda _: toy_table().facts, lambda _: toy_table())
    monkeypatch.setitem(DATASETS, "toy-table", entry)
    monkeypatch.setitem(LAUNCHERS, "local", Here())

    def train(method: str) -> Run:
        plan = quick_plan(method)
        settings = PerformanceSettings(device="cpu", num_threads=1)
        run = runs.register(here(), plan, plan.facts.name, performance=settings, loaded=quick_dataset(method))
        RunStore(here()).change(run.id, {"queued"}, "started", state="starting", attempt=1)
        worker.main(here(), run.id)
        return RunStore(here()).get(run.id)

    return train


def test_values_are_made_once_kept_and_read_back(trained: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run = trained("ddm")
    assert exposure.kept_exposure(here(), run.id, 20) is None
    shares: list[float] = []
    found = exposure.expose_run(here(), run.id, 20, progress=shares.append)
    assert shares == sorted(shares)
    assert 0.85 < shares[-1] <= 0.9 + 1e-9
    assert found.leakage.total.shape == (240,)
    assert (np.diff(found.leakage.total[found.ranking()]) <= 0).all()
    assert found.error is not None
    assert found.error.timesteps[[0, -1]].tolist() == [1, 50]
    assert (found.error.gamma >= 0).all()
    assert (found.error.floor < 0.1).all()
    (path,) = RunFolder(here(), run.id).path.glob("records-*")
    assert path.stat().st_mode & 0o077 == 0 or path.parent.stat().st_mode & 0o077 == 0, "nobody else may read it"
    monkeypatch.setattr(DDM, "per_instance", lambda *_: pytest.fail("made twice"))
    for again in (exposure.expose_run(here(), run.id, 20), exposure.kept_exposure(here(), run.id, 20)):
        assert again is not None
        assert again.leakage.label == found.leakage.label
        assert np.array_equal(again.leakage.per_step, found.leakage.per_step)
        assert again.error is not None
        assert np.array_equal(again.error.gamma, found.error.gamma)
    assert exposure.kept_exposure(here(), run.id, 21) is None


def test_a_method_without_values_and_senseless_requests_are_refused(trained: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    join_registry(monkeypatch)
    other, run = trained("odd-marginals"), trained("ddm")
    for request in ({"num_draws": 1}, {"draws": 20}):
        with pytest.raises(WorkbenchError, match="draws"):
            control.begin(here(), "records", run.id, request)
    with pytest.raises(WorkbenchError, match="such as ddm"):
        control.begin(here(), "records", other.id, {})


def test_the_command_lists_the_most_exposed_and_writes_all(trained: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = trained("ddm")
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(["records", run.id, "--draws", "20", "--top", "5", "--epsilon", "2", "--json", "--out", str(tmp_path / "all.csv")])
    assert not ended.value.code
    out, err = capsys.readouterr()
    told = json.loads(out)
    assert "stay in the room" in err
    assert told["releasable"] is False
    assert {"gamma", "gamma_tilde", "gamma_tilde_of_equals"} <= told.keys()
    found = exposure.kept_exposure(here(), run.id, 20)
    assert found is not None
    assert [row["record"] for row in told["records"]] == found.ranking()[:5].tolist()
    assert [row["delta"] for row in told["records"]] == pytest.approx(found.leakage.delta(2.0)[found.ranking()[:5]])
    with (tmp_path / "all.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 240
    assert {row["mark"] for row in rows} == {"private"}
