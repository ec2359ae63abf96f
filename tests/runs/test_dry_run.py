"""A dry run: nothing of the dataset is read, nothing is spent, and what it came to is found by whoever asks for the same."""

import json

import pytest
from support.homes import here
from support.launchers import Here

from workbench import datasets, experiment, tasks
from workbench.cli.commands import run
from workbench.datasets.reference import DatasetRef
from workbench.errors import WorkbenchError
from workbench.jobs.job import WORKSPACE
from workbench.jobs.launchers import LAUNCHERS
from workbench.jobs.lifecycle import Jobs
from workbench.plan import Plan
from workbench.privacy.spending.ledger import Ledger
from workbench.runs import dry_run
from workbench.runs.store import RunStore
from workbench.tasks import dry_running
from workbench.training.state import PerformanceSettings

CPU = PerformanceSettings(device="cpu", num_threads=1)


@pytest.fixture
def untouched(monkeypatch: pytest.MonkeyPatch) -> None:
    """No record of any dataset can be read, and jobs work in this process."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a dry run reads no records")

    monkeypatch.setattr(DatasetRef, "load", refuse)
    monkeypatch.setattr(datasets, "load", refuse)
    monkeypatch.setitem(LAUNCHERS, "local", Here())


def plan_of(name: str = "digits", epsilon: float = 10.0) -> Plan:
    facts = datasets.facts("digits").model_copy(update={"name": name})
    return experiment.make_plan("class-moments", facts, epsilon=epsilon)


@pytest.mark.usefixtures("untouched")
def test_it_reads_nothing_spends_nothing_and_is_found_again() -> None:
    assert dry_run.kept_dry_run(here(), plan_of()) is None
    job = dry_running.begin(here(), plan_of(), CPU)
    assert Jobs(here()).get(job.id).state == "done"
    kept = dry_run.kept_dry_run(here(), plan_of())
    assert kept is not None
    (result,) = kept.results
    assert (result.name, result.chance) == ("accuracy_logistic_regression", 0.1)
    assert result.ceiling is not None
    assert 0.5 < result.value <= result.ceiling + 0.05
    assert dry_run.kept_dry_run(here(), plan_of("mine")) == kept, "the name of a dataset changes nothing"
    assert dry_run.kept_dry_run(here(), plan_of(epsilon=9.0)) is None
    assert dry_run.kept_dry_run(here(), plan_of(), seed=1) is None
    assert (Ledger(here().ledger).entries("digits"), RunStore(here()).list()) == ([], [])
    written = dry_run.place_of(here(), plan_of())
    before = written.stat().st_mtime_ns
    dry_running.begin(here(), plan_of(), CPU)
    assert written.stat().st_mtime_ns == before, "what was done is not done again"


def test_less_noise_leaves_more_to_learn() -> None:
    few, many = (dry_run.dry_run(here(), plan_of(epsilon=epsilon), CPU).results[0].value for epsilon in (0.2, 10.0))
    assert few + 0.2 < many


@pytest.mark.usefixtures("untouched")
def test_the_command_shows_its_measures_beside_the_drawn_records(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")  # or the columns stand one below the other
    assert run(["dry-run", "mst", "--dataset", "breast-cancer", "--epsilon", "1", "--json"]) == 0
    results = {result["name"]: result for result in json.loads(capsys.readouterr().out)["results"]}
    assert list(results) == ["accuracy_logistic_regression", "accuracy_gradient_boosting", "two_way_marginals"]
    assert results["accuracy_logistic_regression"]["value"] > 0.8
    assert run(["dry-run", "mst", "--dataset", "breast-cancer", "--epsilon", "1"]) == 0
    assert "real drawn records" in capsys.readouterr().out


def test_a_plan_that_could_not_be_trained_is_refused_before_a_job_is_registered() -> None:
    with pytest.raises(WorkbenchError, match="bound"):
        dry_running.begin(here(), experiment.make_plan("dp-kernel", datasets.facts("digits"), preset="published"), CPU)
    assert Jobs(here()).all() == []


@pytest.mark.parametrize("request_", [{}, {"dry_run": "../x"}, {"dry_run": "0" * 32, "more": 1}])
def test_only_a_name_becomes_part_of_a_path(request_: dict[str, object]) -> None:
    with pytest.raises(WorkbenchError, match="name of a dry run"):
        tasks.begin(here(), "dry-run", WORKSPACE, request_)
