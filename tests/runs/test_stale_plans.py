"""A plan that no longer holds is refused wherever it would be carried out, before a record is read and before anything is spent."""

import json
import sqlite3
from collections.abc import Callable
from typing import Any

import pytest
from support.homes import here
from typer.testing import CliRunner

from workbench import experiment, runs
from workbench.cli.commands import app
from workbench.datasets import load
from workbench.datasets.reference import DatasetRef
from workbench.errors import WorkbenchError
from workbench.plan import Plan
from workbench.privacy.spending.ledger import Ledger
from workbench.runs.run import Run
from workbench.runs.samples import sample_set
from workbench.runs.store import RunStore
from workbench.runs.trained import as_shown
from workbench.serialization import dumps
from workbench.tasks import worker

Make = Callable[..., Run]


def cheaper(values: dict[str, Any]) -> dict[str, Any]:
    """Shows a tenth of the bound."""
    return {**values, "bound": values["bound"] | {"epsilon": values["bound"]["epsilon"] / 10}}


def louder(values: dict[str, Any]) -> dict[str, Any]:
    """Half the noise of what was planned."""
    return {**values, "config": values["config"] | {"noise_multiplier": values["config"]["noise_multiplier"] / 2}}


def outdated(values: dict[str, Any]) -> dict[str, Any]:
    """A plan whose configuration came to fewer steps when it was made."""
    *first, last = values["releases"]
    return {**values, "releases": [*first, last | {"steps": last["steps"] - 1}]}


@pytest.fixture(params=[cheaper, louder, outdated])
def change(request: pytest.FixtureRequest) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return request.param


@pytest.fixture
def tampered(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[Run], Run]:
    """Changes a run's plan where it is kept."""

    def make(run: Run) -> Run:
        values = change(json.loads(dumps(run.plan)))
        with sqlite3.connect(here().registry) as connection:
            connection.execute("UPDATE runs SET plan = ?, bound = ? WHERE id = ?", (dumps(values), dumps(values["bound"]), run.id))
        return RunStore(here()).get(run.id)

    return make


@pytest.fixture
def untouched(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From here on no record may be read; the check that nothing more is spent."""

    def forbid() -> None:
        def read(*_arguments: Any) -> None:
            raise AssertionError("records were read")

        monkeypatch.setattr(DatasetRef, "load", read)

    return forbid


def test_launching_refuses_it(
    change: Callable[..., Any], quick_plan: Callable[..., Plan], untouched: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    stale = Plan.model_validate(change(json.loads(dumps(quick_plan()))))
    dataset = load("digits")
    state = experiment.new_state(quick_plan(), seed=0)
    with pytest.raises(WorkbenchError, match="plan again"):
        next(experiment.fit(stale, dataset, state))
    untouched()
    with pytest.raises(WorkbenchError, match="plan again"):
        runs.register(here(), stale, "digits")
    assert RunStore(here()).list() == []
    assert Ledger(here().ledger).entries() == []


def test_fitting_and_resuming_refuse_it(
    queue: Make, tampered: Callable[[Run], Run], quick_plan: Callable[..., Plan], untouched: Callable[[], None]
) -> None:
    run = tampered(queue(quick_plan()))
    untouched()
    assert worker.main(here(), run.id) == 1
    failed = RunStore(here()).get(run.id)
    assert failed.state == "failed"
    assert "plan again" in (failed.error or "")
    assert Ledger(here().ledger).entries() == []
    with pytest.raises(WorkbenchError, match="plan again"):
        runs.resume(here(), run.id)
    assert RunStore(here()).get(run.id).attempt == failed.attempt


def test_sampling_and_showing_refuse_it(
    train_here: Make, tampered: Callable[[Run], Run], quick_plan: Callable[..., Plan], untouched: Callable[[], None]
) -> None:
    run = train_here(quick_plan())
    assert as_shown(run) == run
    sample_set(here(), run.id).records(4)
    changed, entries = tampered(run), Ledger(here().ledger).entries()
    untouched()
    for count in (4, 8):
        with pytest.raises(WorkbenchError, match="plan again"):
            sample_set(here(), run.id).records(count)
    assert Ledger(here().ledger).entries() == entries
    shown = as_shown(changed)
    assert (shown.bound.status, shown.may_be_released, shown.replace_one) == ("not_proved", False, None)
    assert "plan again" in shown.release_reason
    said = json.loads(CliRunner().invoke(app, ["show", run.id, "--json"]).stdout)
    assert (said["bound"]["epsilon"], said["releasable"]) == ("inf", False)


def test_a_finished_run_has_its_plan_s_bound_whatever_the_registry_said(quick_plan: Callable[..., Plan], queue: Make) -> None:
    run = queue(quick_plan())
    small = run.bound.model_copy(update={"epsilon": 1.0})
    RunStore(here()).change(run.id, {"starting"}, "changed", bound=small)
    assert not as_shown(RunStore(here()).get(run.id)).bound.is_finite
    worker.main(here(), run.id)
    assert RunStore(here()).get(run.id).bound == run.plan.bound
