"""What an evaluation says in sentences: whether its samples teach the classes at all, and whether public data are any help."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from workbench.marks import mark, may_leave

NEAR_CHANCE = 0.2  # of the way from chance to the ceiling: what public data alone have to pass to be called a help


def unlike_public(zero: float | None, chance: float | None, ceiling: float | None) -> bool:
    """Whether public data alone bring an accuracy next to nothing above chance; not where a value is missing."""
    if zero is None or chance is None or ceiling is None or ceiling <= chance:
        return False
    return (zero - chance) / (ceiling - chance) < NEAR_CHANCE


def guessing_note(results: Iterable[Mapping[str, Any]]) -> str:
    """A sentence where nothing shows that samples teach the classes, or which classifiers learned none from them; else empty.

    What shows it is an accuracy whose 95 % interval lies above the share of the held-out records' most frequent class, or an area under
    the curve whose interval lies above one half. Classes are uneven in most data of one's own: .91 of 100 records says nothing where
    ninety of them are of one class.
    """
    results = list(results)
    rows = [row for row in results if row.get("largest_class") is not None]
    shown = any(_low(row) > float(row["largest_class"]) for row in rows)
    if shown:
        return _worse_than_guessing([row for row in rows if float(row["value"]) < float(row["largest_class"])])
    if not rows or any(row["name"].startswith("auc_") and _low(row) > 0.5 for row in results):
        return ""
    best = max(rows, key=lambda row: float(row["value"]))
    above = float(best["value"]) > float(best["largest_class"])
    verdict = "Nothing shows that these samples teach" if above else "These samples do not teach"
    span = ", interval {:.3g} to {:.3g}".format(*best["interval"]) if above and best.get("interval") else ""
    return (
        f"{verdict} what tells the classes apart: the best classifier that was trained on them has {float(best['value']):.3g} in "
        f"{best['name']} ({mark(may_leave(best, 'value'))}{span}), and whoever always names the most frequent class has "
        f"{float(best['largest_class']):.3g} ({mark(may_leave(best, 'largest_class'))})."
    )


def _worse_than_guessing(rows: Sequence[Mapping[str, Any]]) -> str:
    """That classifiers with these accuracies learned nothing of use, where another one did; empty where there are none."""
    if not rows:
        return ""
    values = ", ".join(f"{row['name']} has {float(row['value']):.3g} ({mark(may_leave(row, 'value'))})" for row in rows)
    largest = f"{float(rows[0]['largest_class']):.3g} ({mark(may_leave(rows[0], 'largest_class'))})"
    return (
        f"Whoever always names the most frequent class has {largest}, and not every classifier that was trained on these samples comes to "
        f"that: {values}."
    )


def _low(row: Mapping[str, Any]) -> float:
    """The lower end of a result's interval; its value where it has none."""
    if row.get("value") is None:
        return -math.inf
    return float((row.get("interval") or [row["value"]])[0])


def likeness_note(results: Iterable[Mapping[str, Any]]) -> str:
    """A sentence for results of measures of which at least one says that public data were no help, and whose fault that is; else empty.

    What the public records themselves give in the place of samples tells a model that learned too little from records that look like
    nothing public. What recipes measured (`workbench.measured`) has no such number: then the sentence names both. Rows drawn evenly, which
    stand at epsilon 0 of a table, are never meant to look like its records.
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
