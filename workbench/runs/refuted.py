"""Attacks on papers' claims that were made here: each is kept in the home, beside those that the package ships."""

from collections.abc import Callable
from pathlib import Path

from pydantic import ValidationError

from workbench.claims.caught import AttackResult
from workbench.errors import DamagedFileError, choose
from workbench.evaluation.nearest import ignore_progress
from workbench.files import make_private_folder, write_text_atomically
from workbench.runs.threads import few_threads
from workbench.serialization import dumps
from workbench.workspace import Workspace


def caught_here(
    workspace: Workspace, name: str, trials: int, confidence: float = 0.99, seed: int = 0, report: Callable[[float], None] = ignore_progress
) -> AttackResult:
    """Attack the claim `name` by so many runs with the record and as many without; what is kept is not attacked again."""
    from workbench.evaluation.refuting import ATTACKS, attack_claim

    attack, path = choose(name, ATTACKS, "attacked claim"), _file(workspace, name, trials, confidence, seed)
    if path.exists():
        return _read_result(path)
    with few_threads():
        result = attack_claim(name, attack, trials, confidence, seed, report)
    make_private_folder(path.parent)
    write_text_atomically(path, dumps(result, indent=2))
    return result


def kept_caught(workspace: Workspace, name: str) -> list[AttackResult]:
    """The attacks on a claim that were made here, the longest first."""
    attacks = [_read_result(path) for path in sorted(workspace.attacks.glob(f"{name}-[0-9]*.json"))] if workspace.attacks.exists() else []
    return sorted(attacks, key=lambda one: -one.trials)


def _file(workspace: Workspace, name: str, trials: int, confidence: float, seed: int) -> Path:
    return workspace.attacks / f"{name}-{trials}-{confidence!r}-{seed}.json"


def _read_result(path: Path) -> AttackResult:
    try:
        return AttackResult.model_validate_json(path.read_text())
    except ValidationError:
        raise DamagedFileError(f"Expected an attack on a claim in {path}, got a damaged file. Move it away: it is made anew.") from None
