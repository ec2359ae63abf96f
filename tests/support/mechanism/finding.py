"""What the harness found of one statement, and when an exact test counts as a violation."""

from dataclasses import dataclass

from support.mechanism.statistics import FALSE_ALARM
from workbench.privacy.accounting.stages import Stage


@dataclass(frozen=True)
class Finding:
    """One statement of a stage and what was found: numbers where there are, else words."""

    stage: str
    quantity: str
    stated: float | str
    measured: float | str
    holds: bool


def p_value(stage: Stage, quantity: str, value: float, stated: float | str) -> Finding:
    """A finding of an exact test."""
    return Finding(stage.name, quantity, stated, f"p = {value:.3g}", value >= FALSE_ALARM)
