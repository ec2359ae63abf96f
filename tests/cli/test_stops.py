"""Where somebody who knows only `workbench --help` stopped, and what is said there now."""

import pytest
from support.homes import here

from workbench import runs
from workbench.cli.commands import run as execute
from workbench.datasets import facts
from workbench.planning import make_plan
from workbench.training.state import PerformanceSettings


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["process"], "Missing argument 'PANEL': forward, step, reverse, selection or attacker."),
        (["show"], "Missing argument 'RUN': A run's id; `workbench runs` lists them."),
        (
            ["help", "nothing"],
            "teach, tune, start, train, look, measure, housekeeping, accuracy_logistic_regression",
        ),
    ],
)
def test_what_is_missing_is_said_with_what_it_could_be(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(arguments) == 2
    assert said in capsys.readouterr().err


def test_an_attack_says_which_runs_it_takes_and_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    plan = make_plan("dp-merf", facts("digits"), epsilon=10.0)
    run = runs.register(here(), plan, "digits", performance=PerformanceSettings(device="cpu"))
    assert execute(["audit", run.id]) == 2
    refusal = capsys.readouterr().err
    assert "`workbench train dp-merf --dataset digits --epsilon 10.0 --audit-canaries 200 --yes --wait`" in refusal
    for command in ("membership", "game"):
        assert execute([command, run.id]) == 2
        assert "(nonprivate, dp-promise, dp-sgd-dm," in (said := capsys.readouterr().err)
        assert "`workbench copies` and `workbench audit` take any." in said
    assert execute(["compare", run.id]) == 2
    assert "`workbench evaluate RUN` takes them." in capsys.readouterr().err


def test_a_sweep_says_how_one_method_alone_gets_a_field(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["sweep", "class-moments", "dp-merf", "--dataset", "digits", "--epsilons", "1", "--set", "training.steps=9"]) == 2
    assert "`--set METHOD:KEY=...`, as dp-merf:training.steps=100." in capsys.readouterr().err


@pytest.mark.parametrize(("way", "command"), [("teach", "workbench process"), ("tune", "workbench dry-run"), ("audit", "membership")])
def test_each_of_the_three_ways_of_the_start_page_has_its_commands(way: str, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["help", way]) == 0
    assert command in " ".join(capsys.readouterr().out.split())
