"""`workbench claims` and `workbench ledger`: the document, budgets before a first run, and totals of chosen runs."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dp_accounting import GaussianDpEvent
from support.homes import here

from workbench.cli import main
from workbench.errors import WorkbenchError
from workbench.privacy.accounting.events import ReplaceOneGaussianDpEvent
from workbench.privacy.accounting.gaussian import gdp_epsilon
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.spending.ledger import Ledger

Command = Callable[..., str]


@pytest.fixture
def workbench(capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command and return what it prints; a refusal is raised with its sentence."""

    def run(*arguments: str) -> str:
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        printed = capsys.readouterr()
        if ended.value.code not in (0, None):
            raise WorkbenchError(printed.err.strip())
        return printed.out

    return run


def totals(workbench: Command, *arguments: str) -> dict[str, Any]:
    """Total epsilon by dataset."""
    return {row["dataset"]: row["total"]["epsilon"] for row in json.loads(workbench("ledger", *arguments, "--json"))}


@pytest.fixture
def three_runs() -> None:
    """Two runs on one dataset and one on another, each a Gaussian release of mu = 1/4."""
    for run_id, dataset in (("first", "ours"), ("second", "ours"), ("third", "theirs")):
        Ledger(here().ledger).open_run(
            run_id, f"print of {dataset}", dataset, "dp-merf", [Stage("release", GaussianDpEvent(4.0), "once")], 1e-5
        )
        Ledger(here().ledger).charge(run_id, "release", 1)


def test_claims_prints_the_document(workbench: Command) -> None:
    assert workbench("claims", "--markdown") == (Path(__file__).parents[2] / "docs" / "claims.md").read_text()


def test_a_budget_before_the_first_run(workbench: Command) -> None:
    with pytest.raises(WorkbenchError, match="no budget"):
        workbench("ledger", "--dataset", "digits")
    (row,) = json.loads(workbench("ledger", "--dataset", "digits", "--budget", "2", "--delta", "1e-4", "--json"))
    assert (row["budget"], row["total"]["epsilon"], row["runs"]) == ({"epsilon": 2.0, "delta": 1e-4}, 0.0, [])
    warning = Ledger(here().ledger).warning_before("digits", [Stage("release", GaussianDpEvent(0.5), "once")], 1e-4)
    assert warning is not None
    assert "its budget" in warning


def test_lines_keep_within_the_terminal(workbench: Command, three_runs: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "90")
    for arguments in (("claims",), ("claims", "dp-promise"), ("ledger",)):
        assert max(map(len, workbench(*arguments).splitlines())) <= 90, arguments
    one = "".join(workbench("claims", "dp-promise").split())  # lines may end at a hyphen
    (row,) = json.loads(workbench("claims", "dp-promise", "--json"))
    assert "".join(row["bound"]["reason"].split()) in one
    with pytest.raises(WorkbenchError, match="Choose one of"):
        workbench("claims", "nobody's")


def test_a_total_says_why_it_may_be_less_than_one_run(workbench: Command) -> None:
    event = ReplaceOneGaussianDpEvent(0.5, 0.5)
    Ledger(here().ledger).open_run("alone", "print", "ours", "dp-merf", [Stage("release", event, "once", relations=("REPLACE_ONE",))], 1e-5)
    Ledger(here().ledger).charge("alone", "release", 1)
    (row,) = json.loads(workbench("ledger", "--json"))
    assert row["total"]["epsilon"] < row["runs"][0]["spent"]["epsilon"]
    shown = " ".join(workbench("ledger").split())
    assert "This total holds at delta 1e-05 under replace special" in shown
    assert f"run alone alone is epsilon {row['runs'][0]['spent']['epsilon']:.4g} at delta 1e-05 under replace one" in shown


def test_clone_and_resume_say_what_wait_does(workbench: Command) -> None:
    for command in ("train", "clone", "resume"):
        assert "Stay until the run has ended" in " ".join(workbench(command, "--help").split())


@pytest.mark.usefixtures("three_runs")
def test_totals_of_all_runs_and_of_chosen_ones(workbench: Command) -> None:
    one, both = gdp_epsilon(0.25, 1e-5), gdp_epsilon(0.25 * 2**0.5, 1e-5)
    assert totals(workbench) == pytest.approx({"ours": both, "theirs": one})
    assert totals(workbench, "--run", "second") == pytest.approx({"ours": one})
    assert totals(workbench, "--run", "second", "--run", "third") == pytest.approx({"ours": one, "theirs": one})
    with pytest.raises(WorkbenchError, match="got third"):
        workbench("ledger", "--dataset", "ours", "--run", "third")
    with pytest.raises(WorkbenchError, match="No run in the ledger"):
        workbench("ledger", "--dataset", "nobody's")
