"""What an evaluation says in sentences: whether its samples teach the classes at all, and whether public data are any help."""

from collections.abc import Iterable, Mapping
from typing import Any

from workbench.marks import mark, may_leave

NEAR_CHANCE = 0.2  # of the way from chance to the ceiling: what public data alone have to pass to be called a help


def unlike_public(zero: float | None, chance: float | None, ceiling: float | None) -> bool:
    """Whether public data alone bring an accuracy next to nothing above chance; not where a value is missing."""
    if zero is None or chance is None or ceiling is None or ceiling <= chance:
        return False
    return (zero - chance) / (ceiling - chance) < NEAR_CHANCE


def guessing_note(results: Iterable[Mapping[str, Any]]) -> str:
    """A sentence where no accuracy is above the share of the held-out records' most frequent class; else empty.

    Classes are uneven in most data of one's own: .58 says nothing where six of ten records are of one class.
    """
    rows = [row for row in results if row.get("largest_class") is not None]
    if not rows:
        return ""
    best = max(rows, key=lambda row: float(row["value"]))
    if float(best["value"]) > float(best["largest_class"]):
        return ""
    share = f"{float(best['largest_class']):.3g} ({mark(may_leave(best, 'largest_class'))})"
    value = f"{float(best['value']):.3g} in {best['name']} ({mark(may_leave(best, 'value'))})"
    return (
        f"These samples do not teach what tells the classes apart: the best classifier that was trained on them has {value}, and whoever "
        f"always names the most frequent class has {share}."
    )


def likeness_note(results: Iterable[Mapping[str, Any]]) -> str:
    """A sentence for results of measures of which at least one says that public data were no help, and whose fault that is; else empty.

    What the public records themselves give in the place of samples tells a model that learned too little from records that look like
    nothing public. A result of before, or a table's, may lack it: then the sentence names both. Rows drawn evenly, which stand at
    epsilon 0 of a table, are never meant to look like its records.
    """
    for row in results:
        if row.get("epsilon_zero_reason"):
            continue
        zero, chance, ceiling = (row.get(name) for name in ("epsilon_zero", "chance", "ceiling"))
        if row.get("better") == "higher" and unlike_public(zero, chance, ceiling):
            return _words(row, None if row.get("public_records") is None else float(row["public_records"]))
    return ""


def _words(row: Mapping[str, Any], direct: float | None) -> str:
    """The sentence, by what the public records themselves give (`direct`), if that is known."""
    result = f"{float(row['epsilon_zero']):.3g} in {row['name']} ({mark(may_leave(row, 'epsilon_zero'))})"
    guessing = f"where guessing gives {float(row['chance']):.3g}"
    if direct is None:
        return (
            f"Public data alone give {result}, {guessing}: either these records look like nothing public, or the public model learned too "
            f"little. `workbench evaluate` tells the two apart. {NO_HELP}"
        )
    itself = f"{direct:.3g} ({mark(may_leave(row, 'public_records'))})"
    if unlike_public(direct, row["chance"], row["ceiling"]):
        return (
            f"These records look like nothing public: samples of a public model give {result}, the public records themselves {itself}, "
            f"{guessing}. {NO_HELP}"
        )
    return (
        f"The public model learned too little: its samples give {result}, {guessing}, and the public records that it learned from give "
        f"{itself}. Pre-train for more steps, or on more public records, before you judge what public data are worth here."
    )


NO_HELP = (
    "A method that selects public images or pre-trains on them has no help here; whatever it shows above that it has bought from the "
    "private records, and the floor (class-moments), which takes nothing public but a norm, is what to hold it against."
)
