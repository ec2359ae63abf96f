"""Errors that a user can mend: one sentence that says what was expected, what came, and what to do."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from pydantic import ValidationError

T = TypeVar("T")


class WorkbenchError(ValueError):
    """Wrong input or an impossible request; the command line prints it and exits with 2, a page shows it."""


class RefusedError(WorkbenchError):
    """The theory does not allow a number here; the message is the reason."""


class DamagedFileError(WorkbenchError):
    """A file of the workbench's own that cannot be read any more; the message names it and says what to do."""


class BudgetWarning(UserWarning):
    """A launch may exceed the budget that was set for its dataset."""


class AccountWarning(BudgetWarning):
    """Much the same records have an account under another name, so that neither total counts both."""


def choose(name: str, choices: Mapping[str, T], what: str) -> T:
    """Look `name` up in a registry; an unknown name lists the choices."""
    if name not in choices:
        raise WorkbenchError(f"Unknown {what} {name!r}. Choose one of: {', '.join(choices) or 'none'}.")
    return choices[name]


A_LIST = 'Expected a list, such as ["a", "b"]'
WORDS: Mapping[str, str] = {"tuple_type": A_LIST, "list_type": A_LIST}  # in place of pydantic's names of types


def first_complaint(error: "ValidationError", field: str = "") -> str:
    """The first validation error as one sentence; the value is told where it is a field's (`field`, if given), not the whole model's."""
    detail = error.errors()[0]
    place = ".".join(str(part) for part in ([field] if field else []) + [*detail["loc"]])
    words = WORDS.get(detail["type"], detail["msg"]).removeprefix("Value error, ").rstrip(".")
    told = detail["type"] == "value_error" and ", got " in words  # a check of our own that says what came
    return f"{place}: {words}, got {detail['input']!r}." if place and not told else f"{f'{place}: ' if place else ''}{words}."


def check_delta(delta: float) -> float:
    """Return `delta` if it lies in (0, 1)."""
    if not 0.0 < delta < 1.0:
        raise WorkbenchError(f"Expected delta in (0, 1), got {delta}.")
    return delta
