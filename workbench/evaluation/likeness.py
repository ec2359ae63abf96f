"""What the epsilon-0 row says of the private records: whether public data look like them at all."""

from collections.abc import Iterable, Mapping
from typing import Any

from workbench.marks import mark, may_leave

NEAR_CHANCE = 0.2  # of the way from chance to the ceiling: what public data alone have to pass to be called a help


def unlike_public(zero: float | None, chance: float | None, ceiling: float | None) -> bool:
    """Whether public data alone bring an accuracy next to nothing above chance; not where a value is missing."""
    if zero is None or chance is None or ceiling is None or ceiling <= chance:
        return False
    return (zero - chance) / (ceiling - chance) < NEAR_CHANCE


def likeness_note(results: Iterable[Mapping[str, Any]]) -> str:
    """A sentence for results of measures of which at least one says that nothing public looks like the records; else empty.

    Rows drawn evenly, which stand at epsilon 0 of a table, are never meant to look like its records.
    """
    for row in results:
        if row.get("epsilon_zero_reason"):
            continue
        zero, chance, ceiling = (row.get(name) for name in ("epsilon_zero", "chance", "ceiling"))
        if row.get("better") == "higher" and unlike_public(zero, chance, ceiling):
            return unlike_public_words(row["name"], float(row["epsilon_zero"]), float(row["chance"]), mark(may_leave(row, "epsilon_zero")))
    return ""


def unlike_public_words(measure: str, zero: float, chance: float, marked: str) -> str:
    """The sentence itself."""
    return (
        f"These records look like nothing public: public data alone give {zero:.3g} in {measure} ({marked}), where guessing gives "
        f"{chance:.3g}. A method that selects public images or pre-trains on them has no help here; whatever it shows above that it has "
        "bought from the private records, and the floor (class-moments), which takes nothing public but a norm, is what to hold it against."
    )
