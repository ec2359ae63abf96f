"""What measured runs say about an expected difference: agrees, disagrees or can't tell, and what they could have shown at all.

Runs are paired by seed: those of one seed share whatever lines have in common, from the public pre-training to the very weights. For a
measure y of line l at seed s the residuals of y = line + seed, over all lines that the comparison looks at in that measure, give the
standard deviation s with f = (lines - 1)(seeds - 1) degrees of freedom. The difference between the mean of A lines and that of B others
has the standard error e = s sqrt((1/A + 1/B)/seeds). With two lines this is the paired t-test.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from workbench.recipes.directions import Comparison, Direction

Verdict = Literal["agrees", "disagrees", "can't tell", "not measured"]
Values = Mapping[str, Mapping[int, float]]  # a measure's value by line and seed
LEVEL, POWER = 0.05, 0.8
HOW = (
    "A difference is the mean of the A lines expected to be higher minus that of the B others. Where its interval lies above 0, the runs "
    "agree with what was expected; below 0, they disagree; where it contains 0, they can't tell. Runs are paired by seed: s is the "
    "standard deviation of the residuals of *value = line + seed* over all lines that a comparison looks at in a measure, and "
    "f = (lines - 1)(seeds - 1). With e = s sqrt((1/A + 1/B)/seeds) the interval is the difference ± t(1 - a/2, f) e, where a is 0.05 over "
    "the number of differences: at most one comparison in twenty errs. Four times in five, the seeds could have shown a difference of "
    "(t(1 - a/2, f) + t(0.8, f)) e."
)


class Finding(BaseModel):
    """A direction and what was measured of it; of one seed that has all its lines there is the difference alone, of none no number."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    direction: Direction
    seeds: int
    difference: float | None
    interval: tuple[float, float] | None
    smallest: float | None
    verdict: Verdict


def findings(comparison: Comparison, results: Sequence[Mapping[str, Any]]) -> list[Finding]:
    """What the results of `workbench reproduce` say about every direction, in order."""
    level = LEVEL / len(comparison.directions)
    return [_finding(direction, _pool(comparison, direction, results), level) for direction in comparison.directions]


def values_of(results: Sequence[Mapping[str, Any]], measure: str) -> dict[str, dict[int, float]]:
    """The measure's finite values by line and seed."""
    values: dict[str, dict[int, float]] = {}
    for result in results:
        for entry in result["evaluation"]["results"]:
            if entry["name"] == measure and entry["value"] is not None and math.isfinite(float(entry["value"])):
                values.setdefault(result["name"], {})[result["seed"]] = float(entry["value"])
    return values


def residual_deviation(values: Values, seeds: Sequence[int]) -> tuple[float, int]:
    """The standard deviation of what lines and seeds leave, and its degrees of freedom, over lines that have all of `seeds`."""
    rows = [[by_seed[seed] for seed in seeds] for by_seed in values.values()]
    lines, columns = [statistics.fmean(row) for row in rows], [statistics.fmean(column) for column in zip(*rows, strict=True)]
    whole = statistics.fmean(lines)
    left = [
        value - line - column + whole for row, line in zip(rows, lines, strict=True) for value, column in zip(row, columns, strict=True)
    ]
    freedom = (len(rows) - 1) * (len(seeds) - 1)
    return math.sqrt(math.fsum(residual**2 for residual in left) / freedom), freedom


def _pool(comparison: Comparison, direction: Direction, results: Sequence[Mapping[str, Any]]) -> dict[str, dict[int, float]]:
    values = values_of(results, direction.measure)
    return {name: values[name] for name in comparison.pooled_lines(direction.measure) if name in values}


def _finding(direction: Direction, values: Values, level: float) -> Finding:
    seeds = sorted(set[int].intersection(*(set(values.get(name, {})) for name in direction.lines)))
    if len(seeds) < 2:
        difference = _difference(values, direction, seeds) if seeds else None
        return Finding(direction=direction, seeds=len(seeds), difference=difference, interval=None, smallest=None, verdict="not measured")
    whole = {name: by_seed for name, by_seed in values.items() if set(seeds) <= set(by_seed)}
    deviation, freedom = residual_deviation(whole, seeds)
    error = deviation * math.sqrt((1 / len(direction.higher) + 1 / len(direction.lower)) / len(seeds))
    difference = _difference(whole, direction, seeds)
    reach, further = _quantiles(level, freedom)
    interval = difference - reach * error, difference + reach * error
    return Finding(
        direction=direction,
        seeds=len(seeds),
        difference=difference,
        interval=interval,
        smallest=(reach + further) * error,
        verdict="agrees" if interval[0] > 0 else "disagrees" if interval[1] < 0 else "can't tell",
    )


def _quantiles(level: float, freedom: int) -> tuple[float, float]:
    """t(1 - level/2, freedom) and t(POWER, freedom)."""
    from scipy.stats import t

    return float(t.ppf(1 - level / 2, freedom)), float(t.ppf(POWER, freedom))


def _difference(values: Values, direction: Direction, seeds: Sequence[int]) -> float:
    return _mean(values, direction.higher, seeds) - _mean(values, direction.lower, seeds)


def _mean(values: Values, names: Sequence[str], seeds: Sequence[int]) -> float:
    return statistics.fmean(values[name][seed] for name in names for seed in seeds)
