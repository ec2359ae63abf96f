"""Which value of a measure's result may leave the room: one mark a value, obeyed by tables, charts, reports and exports.

Results are plain JSON values here, of any version: a value whose mark is missing stays in the room.
"""

from collections.abc import Mapping
from typing import Any

MARKS = {
    "value": "releasable",
    "interval": "releasable",
    "epsilon_zero": "epsilon_zero_releasable",
    "public_records": "public_records_releasable",
    "ceiling": "ceiling_releasable",
    "largest_class": "largest_class_releasable",
}
MARKS_MEAN = (
    "*private*: computed from the dataset's records without noise; if the data are yours, do not share it. "
    "*releasable*: computed without them, or covered by the proved bound."
)


def may_leave(result: Mapping[str, Any], name: str) -> bool:
    """Whether the value `name` (of MARKS) of a result may leave the room."""
    return result.get(MARKS[name]) is True


def mark(releasable: bool) -> str:
    """The word that stands at a number wherever it is shown."""
    return "releasable" if releasable else "private"


def withheld(result: Mapping[str, Any]) -> dict[str, Any]:
    """A result as it may leave the room: what may not is None, the note on it is gone, and so is what real rows come to beside it."""
    kept = {name: result[name] if may_leave(result, name) else None for name in MARKS if name in result}
    note = {"note": result["note"] if may_leave(result, "value") else ""} if "note" in result else {}
    beside: dict[str, Any] = {"baselines": {}} if "baselines" in result else {}  # of real rows, as a ceiling
    return {**result, **kept, **note, **beside}
