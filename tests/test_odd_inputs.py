"""Inputs that nobody means: each is refused, or asked about, before anything is spent."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.homes import here

from workbench.cli import main, starting
from workbench.privacy.spending.ledger import Ledger

Call = Callable[..., tuple[Any, str]]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    """`call(*arguments)`: a command's exit code and what it says on stderr."""

    def run(*arguments: str) -> tuple[Any, str]:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        return ended.value.code, capsys.readouterr().err

    return run


@pytest.mark.parametrize(
    "arguments",
    [
        ("plan", "dp-merf", "--dataset", ""),
        ("train", "dp-merf", "--dataset", "", "--epsilon", "1"),
        ("duplicates", "--dataset", " "),
        ("import", "samples.npz", "--dataset", ""),
        ("ledger", "--dataset", ""),
    ],
)
def test_an_empty_name_is_no_name_of_this_folder(arguments: tuple[str, ...], call: Call, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    code, said = call(*arguments)
    assert (code, "got an empty text" in said) == (2, True)


def test_an_empty_place_of_data_is_the_usual_one(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = here().data
    monkeypatch.setenv("WORKBENCH_DATA", "")
    assert here().data == usual


@pytest.mark.parametrize(
    ("method", "field"), [("dp-sgd-dm", "pretraining.dataset"), ("class-moments", "dataset"), ("private-evolution", "selection.dataset")]
)
@pytest.mark.parametrize(("name", "words"), [("nothing", "Unknown dataset 'nothing'"), ("./nothing.npz", "a path that exists")])
def test_a_plan_with_an_unknown_public_dataset_is_refused(method: str, field: str, name: str, words: str, call: Call) -> None:
    code, said = call("plan", method, "--dataset", "digits", "--set", f"{field}={name}")
    assert (code, words in said) == (2, True)


def test_a_table_of_headings_alone_has_nothing_to_declare(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("age,sex,ill\n")
    code, said = call("declare", str(path))
    assert (code, "Expected rows below the headings" in said) == (2, True)


def test_values_that_are_nested_deep_end_in_a_sentence(call: Call, tmp_path: Path) -> None:
    path, deep = tmp_path / "results.json", "[" * 100_000
    path.write_text(deep)
    code, said = call("report", str(path))
    assert (code, "got a file that cannot be read" in said) == (2, True)
    code, said = call("plan", "dp-merf", "--dataset", "digits", "--set", f"num_features={deep}")
    assert (code, "nested less deeply" in said) == (2, True)


QUICK = ("--set", "num_features=100", "--set", "training.steps=2", "--set", "training.batch_size=20")


def test_a_training_without_an_epsilon_says_what_it_takes_before_it_spends(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """The launch itself is taken away: what is said is said before."""
    monkeypatch.setattr("workbench.runs.launch", no_launch)
    with pytest.raises(LaunchedError) as begun:
        main(["train", "dp-merf", "--dataset", "digits", *QUICK, "--json"])
    assert begun.value.plan.target_epsilon is None
    assert Ledger(here().ledger).entries() == []


def test_what_is_taken_is_said(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.runs.launch", refused)
    code, said = call("train", "dp-merf", "--dataset", "digits", *QUICK, "--json")
    assert (code, "No --epsilon was given" in said, "spends epsilon 9.98" in said) == (2, True, True)
    code, said = call("train", "dp-merf", "--dataset", "digits", *QUICK, "--epsilon", "5", "--json")
    assert (code, "No --epsilon was given" in said) == (2, False)


def test_a_person_at_a_terminal_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.runs.launch", no_launch)
    monkeypatch.setattr(starting, "at_terminal", lambda: True)
    monkeypatch.setattr("typer.prompt", lambda question, default, **_rest: 3.0 if default == 10.0 and "digits" in question else None)
    with pytest.raises(LaunchedError) as begun:
        main(["train", "dp-merf", "--dataset", "digits", *QUICK, "--json"])
    assert begun.value.plan.target_epsilon == 3.0
    assert begun.value.plan.bound.epsilon <= 3.0


class LaunchedError(Exception):
    """Instead of a launch."""

    def __init__(self, plan: Any) -> None:
        super().__init__("launched")
        self.plan = plan


def no_launch(_workspace: Any, plan: Any, **_options: Any) -> None:
    raise LaunchedError(plan)


def refused(*_arguments: Any, **_options: Any) -> None:
    from workbench.errors import WorkbenchError

    raise WorkbenchError("Nothing is launched here.")


def test_nested_json_of_a_request_ends_in_a_sentence(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "request.json"
    path.write_text(json.dumps({"method": "dp-merf"})[:-1] + ', "settings": ' + '{"a":' * 50_000)
    assert call("plan", "--request", str(path))[0] == 2


def test_a_value_in_the_place_of_fields_is_refused_in_a_sentence(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "request.json"
    path.write_text('{"method": "dp-merf", "dataset": {"name": "digits"}, "settings": 3}')
    code, said = call("plan", "--request", str(path))
    assert (code, 'settings: Expected fields by name, such as {"steps": 100}, got 3' in said) == (2, True)
