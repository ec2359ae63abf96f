"""`workbench --help` by groups, `workbench help`, and the commands that texts name."""

import re
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from workbench.cli.commands import app
from workbench.cli.groups import GROUPS
from workbench.cli.topics import EXPLAINED
from workbench.evaluation import METRICS
from workbench.words import ALSO, WORDS

NAMED = re.compile(r"`workbench ([a-z][a-z-]*)")
COMMANDS = sorted(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
ROOT = Path(__file__).parents[1]


def shown(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "80"})
    assert result.exit_code == 0, result.output
    return result.output


def test_every_command_is_in_one_group_with_a_line_that_80_columns_have_room_for() -> None:
    listed = [name for commands in GROUPS.values() for name in commands]
    assert sorted(listed) == COMMANDS
    lines = shown("--help").splitlines()
    for commands in GROUPS.values():
        for name, line in commands.items():
            assert f"  {name:<11}  {line}" in lines
            assert line.endswith(".")
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("topic", sorted({*COMMANDS, *(title.lower() for title in GROUPS), *EXPLAINED, *ALSO}))
def test_help_explains_each_command_group_and_word(topic: str) -> None:
    text = " ".join(shown("help", *topic.split()).split())
    if topic in COMMANDS:
        assert f"workbench {topic}" in text
    if topic.capitalize() in GROUPS:
        assert all(name in text for name in GROUPS[topic.capitalize()])
    if (word := ALSO.get(topic, topic)) in EXPLAINED:
        assert EXPLAINED[word] in text


def test_help_knows_every_word_of_the_glossary() -> None:
    assert WORDS.items() <= EXPLAINED.items()


def test_help_alone_lists_the_words() -> None:
    listed = " ".join(shown("help").split()).partition("Words: ")[2]
    assert listed == ", ".join(EXPLAINED) + "."


def test_what_help_does_not_know_lists_what_it_does() -> None:
    result = CliRunner().invoke(app, ["help", "epsilom"])
    assert "Unknown command, group, word or measure 'epsilom'. Choose one of: epsilon, epsilon 0, delta" in str(result.exception)


def test_help_explains_each_measure_and_says_which_values_are_better() -> None:
    for name, metric in METRICS.items():
        text = " ".join(shown("help", name).split())
        assert metric.description in text
        assert f"{metric.better.capitalize()} is better" in text


def test_a_word_that_is_a_command_too_is_explained_first() -> None:
    text = " ".join(shown("help", "epsilon").split())
    assert text.index(WORDS["epsilon"]) < text.index("Usage: ")


def test_every_command_that_a_text_names_exists() -> None:
    texts = [*ROOT.glob("workbench/**/*.py"), *ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("notebooks/*.ipynb")]
    named = {(path.name, name) for path in texts for name in NAMED.findall(path.read_text())}
    assert len(named) > 100
    assert sorted(f"{place}: {name}" for place, name in named if name not in COMMANDS) == []
