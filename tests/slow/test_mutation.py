"""Mutants of `privacy/`, `training/` and `methods/`: which changes of one operator or number no test notices."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
from support.mutants import by_package, drawn

COUNT, SEED = 160, 9
ARGUMENTS = Path(__file__).with_name("equivalent_mutants.json")  # by the key of a mutant: why its change changes no guarantee
DECIDE = (  # where a bound is computed, or what it is a bound of is carried out
    "workbench/privacy/accounting/accountants/*",
    "workbench/privacy/accounting/bounds.py",
    "workbench/privacy/accounting/curves.py",
    "workbench/privacy/accounting/groups.py",
    "workbench/privacy/accounting/sampler.py",
    "workbench/privacy/attacks/audit.py",
    "workbench/privacy/accounting/calibration.py",
    "workbench/privacy/not_dp/discrete_chain.py",
    "workbench/privacy/accounting/events.py",
    "workbench/privacy/accounting/gaussian.py",
    "workbench/privacy/spending/ledger.py",
    "workbench/privacy/spending/rows.py",
    "workbench/privacy/not_dp/pac.py",
    "workbench/privacy/not_dp/per_instance*.py",
    "workbench/privacy/spending/totals.py",
    "workbench/privacy/accounting/stages.py",
    "workbench/training/checkpoints.py",
    "workbench/training/distributed.py",
    "workbench/training/microbatch.py",
    "workbench/training/one_shot.py",
    "workbench/training/per_record/*",
    "workbench/training/poisson.py",
    "workbench/training/private_optimizer.py",
    "workbench/training/private_step.py",
    "workbench/training/randomness.py",
    "workbench/training/streams.py",
    "workbench/methods/base.py",
    "workbench/methods/*/*",
)
PROMISING_NOTHING = ("workbench/methods/nonprivate/*",)
DEPENDS = [
    *(f"workbench/{package}/**" for package in ("privacy", "training", "methods")),
    *(f"tests/{package}/**" for package in ("privacy", "training", "methods", "support")),
    "tests/slow/equivalent_mutants.json",
]


@pytest.mark.slow(depends=DEPENDS)
def test_no_change_goes_unnoticed_where_a_bound_is_decided(request: pytest.FixtureRequest, tmp_path: Path, figures: dict[str, Any]) -> None:
    root, arguments = request.config.rootpath, json.loads(ARGUMENTS.read_text())
    found = outcomes(root, tmp_path)
    alive = {key: value for key, value in found.items() if value["outcome"] != "killed"}
    figures |= {"mutants drawn": len(found), "seed": SEED, "killed": len(found) - len(alive), "held to change no guarantee": 0}
    figures |= {f"drawn in {name}": number for name, number in by_package(drawn(root, COUNT, SEED)).items()}
    figures["held to change no guarantee"] = len(alive.keys() & arguments.keys())
    figures["survivors"] = [
        {"mutant": f"`{key}`", "line": value["line"], "outcome": value["outcome"], "argument": arguments.get(key)}
        for key, value in sorted(alive.items())
    ]
    assert [key for key in alive if key not in arguments and decides(key)] == []


def decides(key: str) -> bool:
    """Whether a mutant stands in a file that decides a bound: in a method's folder, say, that is not known to promise nothing."""

    def among(patterns: Sequence[str]) -> bool:
        return any(fnmatch(key.split(" | ")[0], pattern) for pattern in patterns)

    return among(DECIDE) and not among(PROMISING_NOTHING)


def outcomes(root: Path, folder: Path) -> dict[str, Any]:
    """What the tests make of every mutant drawn, by its key; kept in the checkout's slow home, so that a session goes on."""
    store = root / ".slow-home" / "mutants.json"
    store.parent.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "support.mutation_run", str(root), str(folder / "copy"), str(store), str(COUNT), str(SEED)]
    subprocess.run(command, check=True, env=os.environ | {"PYTHONPATH": f"{root / 'tests'}{os.pathsep}{root}"})
    known = json.loads(store.read_text())
    return {mutant.key: known[mutant.key] for mutant in drawn(root, COUNT, SEED)}
