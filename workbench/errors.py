"""Errors that a user can mend: one sentence that says what was expected, what came, and what to do."""

from collections.abc import Mapping
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from pydantic import ValidationError

T = TypeVar("T")
MUCH_ALIKE = 0.6  # of difflib's ratio, as its own close matches have it


class WorkbenchError(ValueError):
    """Wrong input or an impossible request; the command line prints it and exits with 2, a page shows it."""


class RefusedError(WorkbenchError):
    """The theory does not allow a number here; the message is the reason."""


class DamagedFileError(WorkbenchError):
    """A file of the workbench's own that cannot be read any more; the message names it and says what to do."""


class ReadOnlyHomeError(WorkbenchError):
    """Something was to be written in a home that is only to be read."""


class BudgetWarning(UserWarning):
    """A launch may exceed the budget that was set for its dataset."""


class AccountWarning(BudgetWarning):
    """Much the same records have an account under another name, so that neither total counts both."""


def choose(name: str, choices: Mapping[str, T], what: str) -> T:
    """Look `name` up in a registry; an unknown name lists the choices, those spelt much alike first."""
    if name not in choices:
        listed = ", ".join(sorted(choices, key=lambda choice: _alike(name, choice), reverse=True))
        raise WorkbenchError(f"Unknown {what} {name!r}. Choose one of: {listed or 'none'}.")
    return choices[name]


def _alike(name: str, other: str) -> float:
    """How much alike two names are spelt, from MUCH_ALIKE to 1; 0 below, so that what is unlike keeps its order."""
    ratio = SequenceMatcher(None, name, other).ratio()
    return ratio if ratio >= MUCH_ALIKE else 0.0


A_LIST = 'Expected a list, such as ["a", "b"]'
AN_INTEGER, A_NUMBER, TRUE_OR_FALSE, TEXT = "Expected a whole number", "Expected a number", "Expected true or false", "Expected a text"
FIELDS = 'Expected fields by name, such as {{"steps": 100}}'  # braces doubled: it is formatted
WORDS: Mapping[str, str] = {  # in place of pydantic's, by its name of the error; in braces what it knows of it
    "tuple_type": A_LIST,
    "list_type": A_LIST,
    "int_parsing": AN_INTEGER,
    "int_type": AN_INTEGER,
    "int_from_float": AN_INTEGER,
    "int_parsing_size": "Expected a smaller whole number",
    "float_parsing": A_NUMBER,
    "float_type": A_NUMBER,
    "finite_number": "Expected a finite number",
    "bool_parsing": TRUE_OR_FALSE,
    "bool_type": TRUE_OR_FALSE,
    "string_type": TEXT,
    "none_required": "Expected nothing",
    "dict_type": FIELDS,
    "model_type": FIELDS,
    "model_attributes_type": FIELDS,
    "missing": "Expected this field, which is missing,",
    "extra_forbidden": "Expected no such field",
    "literal_error": "Expected {expected}",
    "greater_than": "Expected more than {gt}",
    "greater_than_equal": "Expected at least {ge}",
    "less_than": "Expected less than {lt}",
    "less_than_equal": "Expected at most {le}",
    "too_short": "Expected at least {min_length} of them",
    "too_long": "Expected at most {max_length} of them",
    "string_too_short": "Expected a text of at least {min_length} letters",
    "json_invalid": "Expected JSON ({error})",
}


def first_complaint(error: "ValidationError", field: str = "") -> str:
    """The first validation error as one sentence; the value is told where it is a field's (`field`, if given), not the whole model's."""
    detail = error.errors()[0]
    place = ".".join(str(part) for part in ([field] if field else []) + [*detail["loc"]])
    words = said_of(detail)
    is_said = detail["type"] == "value_error" and ", got " in words  # a check of our own that says what came
    return f"{place}: {words}, got {detail['input']!r}." if place and not is_said else f"{f'{place}: ' if place else ''}{words}."


def said_of(detail: Mapping[str, Any]) -> str:
    """What is wrong in one of pydantic's errors, in our words."""
    known = WORDS.get(detail["type"])
    return (detail["msg"] if known is None else known.format_map(detail.get("ctx", {}))).removeprefix("Value error, ").rstrip(".")


def check_delta(delta: float) -> float:
    """Return `delta` if it lies in (0, 1)."""
    if not 0.0 < delta < 1.0:
        raise WorkbenchError(f"Expected delta in (0, 1), got {delta}.")
    return delta
