"""The mutator of the slow tier: what it changes, what it leaves, and what it makes of tests that notice and tests that do not."""

import json
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support import mutants, mutation_run

from workbench.training import checkpoints

SOURCE = '''"""A module of 2 parts."""

LIMIT = 10
Pair = int | str


def bounded(value: float, least: "float | None" = None) -> float:
    """At least `least`, at most 10."""
    if value < 0 or value is None:
        raise ValueError(f"Expected {0 + 1}.")
    return min(value + 2.5, LIMIT) if not least else -value
'''
TEST = """from workbench.privacy.thing import bounded

def test_sum():
    assert bounded(1.0) == 3.5
    assert bounded(1.0, 2.0) == -1.0
    assert bounded(9.0) == 10
"""
FOUND = [
    "10 -> 11",
    "value < 0 or value is None -> value < 0 and value is None",
    "value < 0 -> value <= 0",
    "value < 0 -> value >= 0",
    "0 -> 1",
    "value is None -> value is not None",
    "not least -> least",
    "value + 2.5 -> value - 2.5",
    "2.5 -> 5.0",
    "-value -> value",
]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A project with one module and one test."""
    root = tmp_path / "root"
    for name, text in {
        "workbench/__init__.py": "",
        "workbench/privacy/__init__.py": "",
        "workbench/privacy/thing.py": SOURCE,
        "tests/privacy/test_thing.py": TEST,
        "pytest.ini": "[pytest]\naddopts = --import-mode=importlib\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_code_is_changed_and_texts_types_and_messages_are_not(checkout: Path) -> None:
    path = checkout / "workbench/privacy/thing.py"
    mutations = mutants.mutants(checkout, path)
    assert sorted(mutant.change for mutant in mutations) == sorted(FOUND)
    assert [mutant.at_import for mutant in mutations] == [mutant.text == "LIMIT = 10" for mutant in mutations]
    original = mutants.ast.unparse(mutants.ast.parse(SOURCE))
    for mutant in mutations:
        changed = mutants.mutated(checkout, mutant)
        differing = [pair for pair in zip(original.splitlines(), changed.splitlines(), strict=True) if pair[0] != pair[1]]
        assert len(differing) == 1, mutant.change
        compile(changed, "changed", "exec")
    assert len({mutant.key for mutant in mutations}) == len(mutations)


def test_every_argument_is_about_a_mutant_that_is_there() -> None:
    root = Path(__file__).parents[1]
    arguments = json.loads((root / "tests/slow/equivalent_mutants.json").read_text())
    there = {mutant.key for path in {key.split(" | ")[0] for key in arguments} for mutant in mutants.mutants(root, root / path)}
    assert arguments.keys() - there == set()


def test_a_seed_decides_what_is_drawn(checkout: Path) -> None:
    first = mutants.drawn(checkout, 4, 1)
    assert first == mutants.drawn(checkout, 4, 1) != mutants.drawn(checkout, 4, 2)
    assert len(mutants.drawn(checkout, 99, 1)) == len(FOUND)
    (checkout / "workbench/privacy/other.py").write_text("LEAST = 1\n")
    assert set(mutants.drawn(checkout, 4, 1)) - set(first) <= {*mutants.drawn(checkout, 99, 1)} - {*first}
    assert len(set(mutants.drawn(checkout, 4, 1)) & set(first)) >= 3, "what is added takes the place of one at most"
    assert mutants.by_package(first) == {"privacy": 4}


def test_a_new_folder_is_drawn_from_by_itself_and_what_only_shows_is_not(checkout: Path) -> None:
    for name in ("models/new.py", "pages/page.py", "cli/train.py", "plan.py"):
        (checkout / "workbench" / name).parent.mkdir(exist_ok=True)
        (checkout / "workbench" / name).write_text("LEAST = 1\n")
    paths = {mutant.path for mutant in mutants.drawn(checkout, 99, 1)}
    assert paths == {"workbench/privacy/thing.py", "workbench/models/new.py", "workbench/plan.py"}
    assert mutants.SHOWING == checkpoints.SHOWING, "what no step goes through is one list"


def outcomes(checkout: Path) -> dict[str, Any]:
    """By change: what the run makes of every mutant of the project; what it keeps between runs is beside the project."""
    program = (
        "from pathlib import Path; from support import mutation_run as m; m.TESTS = ('tests/privacy',); "
        f"m.run(Path({str(checkout)!r}), Path({str(checkout.parent / 'copy')!r}), Path({str(checkout.parent / 'store.json')!r}), 99, 1, ())"
    )
    path = os.pathsep.join(str(Path(mutants.__file__).parents[level]) for level in (1, 2))
    plain = {"PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    subprocess.run([sys.executable, "-c", program], check=True, env=os.environ | plain, capture_output=True)
    kept = json.loads((checkout.parent / "store.json").read_text())
    return {key.split(" | ")[-1]: value for key, value in kept.items()}


def test_what_no_test_notices_survives_and_is_tried_again_when_a_test_changes(checkout: Path) -> None:
    judged = outcomes(checkout)
    survived = {change for change, value in judged.items() if value["outcome"] == "survived"}
    assert survived == {"value < 0 -> value <= 0", "0 -> 1", "value < 0 or value is None -> value < 0 and value is None"}
    assert (checkout / "workbench/privacy/thing.py").read_text() == SOURCE, "the checkout is never written to"
    before = {change: value["seconds"] for change, value in judged.items()}
    assert {change: value["seconds"] for change, value in outcomes(checkout).items()} == before, "nothing is run twice"
    test = checkout / "tests/privacy/test_thing.py"
    test.write_text(TEST + "    assert bounded(0.0) == 2.5\n")
    again = {change for change, value in outcomes(checkout).items() if value["outcome"] == "survived"}
    assert again == survived - {"value < 0 -> value <= 0", "0 -> 1"}


def fork_once_more(item: int, copy: Path) -> tuple[int | None, str]:
    child = multiprocessing.get_context("fork").Process(target=int)
    child.start()
    child.join()
    if item < 0:
        raise ValueError("no such item")
    return child.exitcode, copy.name


def test_what_is_shared_can_fork_whole_processes_and_says_what_stopped_it(tmp_path: Path) -> None:
    copies = [tmp_path / "a", tmp_path / "b"]
    answers = dict(mutation_run.shared(fork_once_more, range(5), copies))
    assert set(answers) == set(range(5))
    assert {code for code, _ in answers.values()} == {0}
    assert {name for _, name in answers.values()} == {"a", "b"}
    with pytest.raises(RuntimeError, match="no such item"):
        list(mutation_run.shared(fork_once_more, [1, -1], copies))
