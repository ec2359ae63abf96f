"""Exact tests of how batches and noise are distributed. All of one method's together fail by chance with probability below 1e-6."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import stats

FALSE_ALARM = 1e-8  # of one test; a method has fewer than a hundred
SIMULATED = 2000  # further batches by the very call that was recorded

Floats = NDArray[np.float64]


def binomial(count: int, trials: int, probability: float) -> float:
    """Two-sided p-value of a count."""
    law = stats.binom(trials, probability)
    return float(min(1.0, 2 * min(law.cdf(count), law.sf(count - 1))))


def chi_squared(value: float, degrees: int) -> float:
    """Two-sided p-value of a sum of squares."""
    law = stats.chi2(degrees)
    return float(min(1.0, 2 * min(law.cdf(value), law.sf(value))))


def members(draw: Callable[[int], np.ndarray], num_records: int) -> NDArray[np.bool_]:
    """Which records are in batches 1, .., SIMULATED of `draw(number)`: (SIMULATED, num_records)."""
    member = np.zeros((SIMULATED, num_records), dtype=bool)
    for number in range(SIMULATED):
        member[number, draw(number + 1)] = True
    return member


def poisson_p_values(member: NDArray[np.bool_], rate: float) -> dict[str, float]:
    """p-values of batches (M, n) that should hold every record independently with probability `rate`.

    Independence is tested on disjoint pairs of batches and of records, so that every count is binomial.
    """
    count, num_records = member.shape
    sizes = member.sum(1)
    even = count // 2 * 2
    both_steps = int((member[0:even:2] & member[1:even:2]).sum())
    shuffled = member[:, np.random.default_rng(0).permutation(num_records)][:, : num_records // 2 * 2]
    both_records = int((shuffled[:, ::2] & shuffled[:, 1::2]).sum())
    variance = num_records * rate * (1 - rate)
    return {
        "sampling rate": min(binomial(int(member.sum()), member.size, rate), rarest(member, rate)),
        "independence of steps": binomial(both_steps, even // 2 * num_records, rate**2),
        "independence of records": min(
            binomial(both_records, count * (num_records // 2), rate**2),
            chi_squared(float(((sizes - num_records * rate) ** 2).sum() / variance), count) if rate < 1 else 1.0,
        ),
    }


def fixed_size_p_values(member: NDArray[np.bool_], size: int, orders: Sequence[np.ndarray]) -> dict[str, float]:
    """p-values of batches of `size` different records, every subset equally likely, in an order that says nothing.

    Counts of pairs vary less than binomial ones here, so their tests alarm even more seldom. `orders` are batches as drawn.
    """
    count, num_records = member.shape
    even, rate = count // 2 * 2, size / num_records
    both_steps = int((member[0:even:2] & member[1:even:2]).sum())
    pairs = num_records // 2
    both_records = int((member[:, : 2 * pairs : 2] & member[:, 1 : 2 * pairs : 2]).sum())
    same_size = 1.0 if (member.sum(1) == size).all() and all(len(order) == size for order in orders) else 0.0
    return {
        "sampling rate": min(same_size, rarest(member, rate)),
        "independence of steps": binomial(both_steps, even // 2 * num_records, rate**2),
        "independence of records": binomial(both_records, count * pairs, rate * (size - 1) / max(num_records - 1, 1)),
        "order": orderless(orders),
    }


def rarest(member: NDArray[np.bool_], rate: float) -> float:
    """p-value of the record whose count is the least likely, for as many records as there are."""
    return min(1.0, member.shape[1] * min(binomial(int(count), len(member), rate) for count in member.sum(0)))


def orderless(orders: Sequence[np.ndarray]) -> float:
    """p-value of the number of neighbours in a batch (disjoint pairs) that stand in ascending order."""
    ascending = [order[i] < order[i + 1] for order in orders for i in range(0, len(order) - 1, 2)]
    return binomial(int(np.sum(ascending)), len(ascending), 0.5)


def normal_p_value(values: Floats) -> float:
    """p-value of standard normals: their sum of squares, their sum, and their distribution function."""
    squares = chi_squared(float((values**2).sum()), values.size)
    total = chi_squared(float(values.sum() ** 2 / values.size), 1)
    return min(squares, total, float(stats.kstest(values.ravel(), "norm").pvalue))


def deviation(releases: Floats) -> tuple[float, float]:
    """The noise's deviation from releases (K, N) of the same data under K keys, and how far it may be off, relatively."""
    apart = releases - releases.mean(0)
    degrees = (releases.shape[0] - 1) * releases.shape[1]
    reach = float(np.sqrt(stats.chi2(degrees).isf(FALSE_ALARM) / degrees)) - 1.0
    return float(np.sqrt((apart**2).sum() / degrees)), max(reach, 1.0 - float(np.sqrt(stats.chi2(degrees).ppf(FALSE_ALARM) / degrees)))


def coordinates_p_value(releases: Floats) -> float:
    """p-value of releases (K, N) whose coordinates have noise of their own: the spread of their sums over coordinates."""
    sums = releases.sum(1)
    unit = deviation(releases)[0] ** 2 * releases.shape[1]
    return chi_squared(float(((sums - sums.mean()) ** 2).sum() / unit), len(sums) - 1)
