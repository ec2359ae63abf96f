"""Norms to clip to that no arithmetic fails on: a number too small or too large would fail after its release is paid for."""

from typing import Annotated

from pydantic import AfterValidator

SMALLEST, LARGEST = 1e-6, 1e6


def norm_or_none(value: float) -> float:
    """Return 0 (none is given), or a norm within range."""
    if value != 0 and not SMALLEST <= value <= LARGEST:
        raise ValueError(f"Expected 0, or a norm from {SMALLEST:g} to {LARGEST:g}, got {value:g}.")
    return value


NormOrNone = Annotated[float, AfterValidator(norm_or_none)]
