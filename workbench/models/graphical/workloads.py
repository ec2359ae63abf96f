"""Sets of columns that are to come out right, by name, and how much each of them counts. No torch."""

from collections.abc import Sequence

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError, choose
from workbench.models.graphical.junction_tree import Columns
from workbench.records import TableKind

MOST_NAMED = 6  # columns of a set: it and all of its parts may be chosen
LEAST_WEIGHT, MOST_WEIGHT = 2**-8, 1e6
WEIGHT_BITS = 8  # weights of choices are multiples of 2^-8, so that weighted distances are exact
EXAMPLE = "age+income: 3; race+sex+income"

WeightedSets = Sequence[tuple[Columns, float]]


def names_of(facts: DatasetFacts) -> list[str]:
    """The columns by name, the label's last where there are classes, as marginals number them."""
    kind = TableKind.of(facts.kind)
    return [column.name for column in kind.columns] + [kind.label] * bool(facts.num_classes)


def named_sets(text: str, facts: DatasetFacts) -> list[tuple[Columns, float]]:
    """The sets that a text names, as `age+income: 3; race+sex+income`, each with its weight, 1 where none is given.

    Refuses unknown columns, a set of one column or of too many, a set that is named twice, and weights that are no such numbers.
    """
    places = {name: number for number, name in enumerate(names_of(facts))}
    weights: dict[Columns, float] = {}
    for part in filter(None, (part.strip() for part in text.split(";"))):
        listed, _, weight = part.partition(":")
        names = [name.strip() for name in listed.split("+")]
        columns = tuple(sorted({choose(name, places, f"column of {facts.name}") for name in names}))
        if not 2 <= len(columns) <= MOST_NAMED or len(columns) < len(names):
            raise WorkbenchError(f"Expected sets of 2 to {MOST_NAMED} different columns, as {EXAMPLE}, got {part!r}.")
        if columns in weights:
            raise WorkbenchError(f"Expected each set of columns once, got {listed.strip()!r} again.")
        weights[columns] = _weight(weight.strip(), part)
    if not weights:
        raise WorkbenchError(f"Expected sets of columns, as {EXAMPLE}, got {text!r}.")
    return list(weights.items())


def shared_weights(workload: WeightedSets, candidates: Sequence[Columns]) -> list[float]:
    """Of each candidate, how much of the workload it has, over the most that any has, in multiples of 2^-8 of at most 1.

    Source: McKenna et al. 2022, section 4: the sum over the workload of a set's weight times the columns shared with it.
    """
    counted = [(set(one), weight) for one, weight in workload]
    return scaled_weights([sum(weight * len(one.intersection(candidate)) for one, weight in counted) for candidate in candidates])


def pair_weights(workload: WeightedSets, pairs: Sequence[Columns]) -> list[float]:
    """Of each pair, the sum of the weights of the sets that have both columns, scaled alike; the least weight where none has."""
    sums = [sum(weight for one, weight in workload if set(pair) <= set(one)) for pair in pairs]
    return [max(weight, LEAST_WEIGHT) for weight in scaled_weights(sums)]


def scaled_weights(weights: Sequence[float]) -> list[float]:
    """Weights over the largest, rounded to multiples of 2^-8: none is above 1, so that no weighted score moves further than itself."""
    most = max(weights)
    return [round(2**WEIGHT_BITS * weight / most) / 2**WEIGHT_BITS for weight in weights]


def _weight(text: str, part: str) -> float:
    try:
        value = float(text) if text else 1.0
    except ValueError:
        value = 0.0
    if not LEAST_WEIGHT <= value <= MOST_WEIGHT:
        raise WorkbenchError(f"Expected a weight between {LEAST_WEIGHT:g} and {MOST_WEIGHT:g} after the colon, as {EXAMPLE}, got {part!r}.")
    return value
