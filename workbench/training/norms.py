"""Norms to clip to that no arithmetic fails on: a number too small or too large would fail after its release is paid for."""

from typing import Annotated

from pydantic import AfterValidator

SMALLEST, LARGEST = 1e-6, 1e6


def norm_or_none(value: float) -> float:
    """Return 0 (none is given), or a norm within range."""
    if value != 0 and not SMALLEST <= value <= LARGEST:
        raise ValueError(f"Expected 0, or a norm from {SMALLEST:g} to {LARGEST:g}, got {value:g}.")
    return value


def norms(values: tuple[float, ...]) -> tuple[float, ...]:
    """Return norms that are all within range."""
    if wrong := [value for value in values if not SMALLEST <= value <= LARGEST]:
        raise ValueError(f"Expected norms from {SMALLEST:g} to {LARGEST:g}, got {wrong[0]:g}.")
    return values


NormOrNone = Annotated[float, AfterValidator(norm_or_none)]
Norms = Annotated[tuple[float, ...], AfterValidator(norms)]
