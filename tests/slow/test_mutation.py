"""Mutants of all that a release goes through: which changes of one operator or number no test notices."""

import json
import os
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
from support.mutants import SHOWING, by_package, drawn

COUNT, SEED = 240, 9
TESTS = Path(__file__).parents[1]
PACKAGE = TESTS.parent / "workbench"
ARGUMENTS = Path(__file__).with_name("equivalent_mutants.json")  # by the key of a mutant: why its change changes no guarantee
DECIDES_NOTHING = (  # by name; in every other file that mutants are drawn from a survivor needs an argument
    "workbench/datasets/*_canvas.py",  # images that are drawn without any record
    "workbench/datasets/glyph_*.py",
    "workbench/datasets/process_families.py",
    "workbench/datasets/stand_in.py",
    "workbench/claims/*",  # what papers say; the formulas stand with the methods
    "workbench/evaluation/*",  # measures and attacks: what they say of samples stays in the room
    "workbench/measured/*",
    "workbench/published/*",
    "workbench/recipes/*",
    *(f"workbench/networks/{path.name}" for path in (PACKAGE / "networks").glob("*.py") if path.stem != "row_by_row"),  # what is trained
    "workbench/diffusion/samplers.py",
    "workbench/diffusion/*/samplers.py",
    "workbench/methods/nonprivate/*",
    "workbench/privacy/attacks/canaries.py",
    "workbench/privacy/attacks/tradeoff.py",
    "workbench/privacy/not_dp/released_chain.py",
    "workbench/training/cost.py",
    "workbench/training/ordinary*.py",
)
ONLY_SHOWN = tuple(name for name in SHOWING if name != "cli")  # tests of commands run on mutants
DEPENDS = [
    *(f"workbench/{path.name}/**" for path in sorted(PACKAGE.iterdir()) if any(path.rglob("*.py")) and path.name not in ONLY_SHOWN),
    "workbench/*.py",
    *(
        f"tests/{path.name}/**"
        for path in sorted(TESTS.iterdir())
        if any(path.rglob("*.py")) and path.name not in (*ONLY_SHOWN, "browser", "slow")
    ),
    "tests/*.py",
    "tests/slow/equivalent_mutants.json",
]


@pytest.mark.slow(depends=DEPENDS)
def test_no_change_goes_unnoticed_where_a_bound_is_decided(request: pytest.FixtureRequest, tmp_path: Path, figures: dict[str, Any]) -> None:
    root, arguments = request.config.rootpath, json.loads(ARGUMENTS.read_text())
    mutants = outcomes(root, tmp_path)
    alive = {key: value for key, value in mutants.items() if value["outcome"] != "killed"}
    figures |= {"mutants drawn": len(mutants), "seed": SEED, "killed": len(mutants) - len(alive), "held to change no guarantee": 0}
    figures |= {f"drawn in {name}": number for name, number in by_package(drawn(root, COUNT, SEED)).items()}
    figures["held to change no guarantee"] = len(alive.keys() & arguments.keys())
    figures["survivors"] = [
        {"mutant": f"`{key}`", "line": value["line"], "outcome": value["outcome"], "argument": arguments.get(key)}
        for key, value in sorted(alive.items())
    ]
    assert [key for key in alive if key not in arguments and decides(key)] == []


def decides(key: str) -> bool:
    """Whether a mutant stands in a file that may decide a bound, or what leaves the room: all that are not named otherwise."""
    return not any(fnmatch(key.split(" | ")[0], pattern) for pattern in DECIDES_NOTHING)


def outcomes(root: Path, folder: Path) -> dict[str, Any]:
    """What the tests make of every mutant drawn, by its key; kept in the checkout's slow home, so that a session goes on."""
    store = root / ".slow-home" / "mutants.json"
    store.parent.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "support.mutation_run", str(root), str(folder), str(store), str(COUNT), str(SEED)]
    subprocess.run(command, check=True, env=os.environ | {"PYTHONPATH": f"{root / 'tests'}{os.pathsep}{root}"})
    known = json.loads(store.read_text())
    return {mutant.key: known[mutant.key] for mutant in drawn(root, COUNT, SEED)}
