"""A line of the claims table, and what can give one."""

from collections.abc import Mapping
from typing import Protocol

from pydantic import BaseModel, ConfigDict

from workbench.claims.caught import AttackResult
from workbench.privacy.accounting.values import PrivacyValue


class ClaimRow(BaseModel):
    """A line of the claims table: what the paper claims and what is proved at the same setting.

    `caught`: an attack on what the claim covers, measured at a setting of its own, where there is one.
    """

    model_config = ConfigDict(frozen=True)

    method: str
    title: str
    formula: str
    setting: str
    claim: PrivacyValue
    bound: PrivacyValue
    source: str
    caught: AttackResult | None = None


def reasons_of(row: ClaimRow) -> list[str]:
    """Why the claim has its status, marked as such, and why the bound has its own: only where there is something to say."""
    of_claim = f"On the claim: {row.claim.reason}" if row.claim.reason and row.claim.reason != row.bound.reason else ""
    return [reason for reason in (of_claim, row.bound.reason) if reason]


def demonstration_of(row: ClaimRow, is_built: bool) -> str:
    """How anybody sees it on runs of their own: by the attack on the claim, by an audit of a built method; or that there is none."""
    if row.caught is not None:
        return f"Demonstration: `workbench caught {row.method}` attacks the claim by many small runs, in minutes."
    if is_built:
        audit = f"workbench train {row.method} --dataset DATASET --audit-canaries 200 --wait"
        return f"Demonstration: `{audit}` measures a lower bound on a run of yours."
    return "Demonstration: none is built for this row; formula and reasons say how its numbers are computed."


class ClaimEntry(Protocol):
    """A paper, or one reading of it, that can be evaluated at one stated setting."""

    def row(self, name: str) -> ClaimRow:
        """The line of the table under `name`."""
        ...


def setting_text(where: str, numbers: Mapping[str, float | None], notation: Mapping[str, str]) -> str:
    """The numbers by name, each with its symbol in the formula where `notation` has one: "MNIST: steps T=4500, ..."."""
    parts = [
        f"{name} {notation[name]}={_number(value)}" if notation.get(name) else f"{name} {_number(value)}" for name, value in numbers.items()
    ]
    return f"{where}: {', '.join(parts)}"


def _number(value: float | None) -> str:
    """In at most six digits; a rate as the fraction that it is."""
    if value is None:
        return "none"
    inverse = round(1 / value) if 0 < value < 0.5 else 0
    return f"1/{inverse}" if inverse and inverse <= 1000 and abs(1 / value - inverse) < 1e-9 else f"{value:.10g}"
