"""Workspaces: two of them in one process know nothing of each other."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from workbench import experiment, runs
from workbench.privacy.spending.ledger import Ledger
from workbench.runs.store import RunStore
from workbench.runs.verdicts import Verdicts
from workbench.tasks import worker
from workbench.training.state import PerformanceSettings
from workbench.workspace import Workspace


@pytest.fixture
def two(tmp_path: Path) -> tuple[Workspace, Workspace]:
    """Two workspaces, neither of them the default one."""
    return Workspace.open(tmp_path / "one"), Workspace.open(tmp_path / "two")


def test_two_homes_in_one_process_keep_runs_ledgers_and_verdicts_apart(
    two: tuple[Workspace, Workspace], workbench_home: Path, quick_run: Callable[[Workspace, str], Any]
) -> None:
    one, other = two
    runs = quick_run(one, "dp-merf"), quick_run(other, "nonprivate")
    for workspace, run in zip(two, runs, strict=True):
        Verdicts(workspace.verdicts).judge(run.id, 0, "fine")
        assert [(kept.id, kept.state) for kept in RunStore(workspace).list()] == [(run.id, "done")]
        assert [entry.run_id for entry in Ledger(workspace.ledger).entries()] == [run.id]
        assert [path.name for path in workspace.runs.iterdir()] == [run.id]
    assert Ledger(one.ledger).total("digits", delta=1e-5).is_finite
    assert not Ledger(other.ledger).total("digits", delta=1e-5).is_finite
    assert Verdicts(one.verdicts).of(runs[1].id) == {}
    assert runs[0].fingerprint != runs[1].fingerprint, "fingerprints are keyed to a workspace"
    assert not workbench_home.exists() or not any(workbench_home.iterdir()), "nothing was reached for"


def test_a_process_is_told_its_workspace(two: tuple[Workspace, Workspace], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in two[0].environment.items():
        monkeypatch.setenv(name, value)
    assert Workspace.default() == two[0]


@pytest.fixture
def quick_run() -> Callable[[Workspace, str], Any]:
    """A run of steps few enough to be trained here, by the worker's own code."""

    def make(workspace: Workspace, method: str) -> Any:
        dataset = experiment.load("digits", workspace=workspace)
        settings = {"dp-merf": {"num_features": 20, "hidden_size": 8, "channels": 2}, "nonprivate": {"network.base_channels": 8}}[method]
        chosen = {"training.steps": 2, "training.batch_size": 4, **settings}
        plan = experiment.make_plan(method, dataset.facts, epsilon=10.0 if method == "dp-merf" else None, settings=chosen)
        run = runs.register(workspace, plan, "digits", performance=PerformanceSettings(device="cpu"), loaded=dataset)
        RunStore(workspace).change(run.id, {"queued"}, "started", state="starting", attempt=1)
        worker.main(workspace, run.id)
        return RunStore(workspace).get(run.id)

    return make
