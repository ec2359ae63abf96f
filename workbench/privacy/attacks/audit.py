"""Empirical lower bounds on epsilon: what an attack that succeeded so often proves, at a stated confidence.

Audit results depend on private records and stay in the room. `scipy.special` is loaded on first use.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from workbench.errors import WorkbenchError, check_delta


@dataclass(frozen=True)
class AuditResult:
    """A lower bound on epsilon: with probability `confidence` no mechanism below it lets the attack succeed so often.

    `mu` is the Gaussian-DP lower bound where the audit assumes that family, else None. `assumption` says what else it rests on.
    `ceiling` is what the same audit reports when every guess is right: a bound above it cannot be contradicted.
    """

    epsilon: float
    delta: float
    confidence: float
    method: str
    assumption: str
    ceiling: float
    mu: float | None = None
    releasable: bool = False

    def contradicts(self, bound: float) -> bool:
        """Whether the attack refutes a claimed upper bound."""
        return self.epsilon > bound


@dataclass(frozen=True)
class Rate:
    """A proportion with its two-sided Clopper-Pearson interval."""

    successes: int
    trials: int
    low: float
    high: float

    @property
    def value(self) -> float:
        """The observed proportion."""
        return self.successes / self.trials


def clopper_pearson(successes: int, trials: int, alpha: float = 0.05) -> Rate:
    """The exact interval of a proportion: each side fails with probability at most alpha / 2."""
    from scipy.special import betaincinv

    if not (0 <= successes <= trials and trials > 0):
        raise WorkbenchError(f"Expected successes in 0..trials with trials above 0, got {successes} of {trials}.")
    _check_fraction("alpha", alpha)
    low = 0.0 if successes == 0 else float(betaincinv(successes, trials - successes + 1, alpha / 2))
    high = 1.0 if successes == trials else float(betaincinv(successes + 1, trials - successes, 1 - alpha / 2))
    return Rate(successes, trials, low, high)


def one_run(num_canaries: int, num_guesses: int, num_correct: int, delta: float, confidence: float = 0.95) -> AuditResult:
    """The one-run audit: canaries included with probability one half each, `num_guesses` of them guessed, fixed in advance.

    An excluded canary stays as a null record, so that the number of records and the sampling rate do not change.
    Source: Steinke, Nasr and Jagielski (2023), the bound for (epsilon, delta)-DP.
    """
    epsilon = one_run_epsilon(num_canaries, num_guesses, num_correct, delta, confidence)
    ceiling = one_run_epsilon(num_canaries, num_guesses, num_guesses, delta, confidence)
    assumption = "canaries included independently with probability 1/2; the guesses' number, split and threshold fixed beforehand"
    return AuditResult(epsilon, delta, confidence, "one run", assumption, ceiling)


def one_run_epsilon(num_canaries: int, num_guesses: int, num_correct: int, delta: float, confidence: float = 0.95) -> float:
    """Largest epsilon that the one-run audit rejects at `confidence`; 0 if it rejects none."""
    _check_guesses(num_canaries, num_guesses, num_correct)
    check_delta(delta)
    _check_fraction("confidence", confidence)

    def rejected(epsilon: float) -> bool:
        return _one_run_p_value(num_canaries, num_guesses, num_correct, delta, epsilon) < 1 - confidence

    return _largest_rejected(rejected)


def _one_run_p_value(m: int, r: int, v: int, delta: float, epsilon: float) -> float:
    """P[correct >= v] <= f(v) + 2 m delta max_i (f(v-i) - f(v)) / i under (epsilon, delta)-DP."""
    tails = _binomial_tails(r, 1 / (1 + math.exp(-epsilon)))[: v + 1]  # f(0) .. f(v)
    if v == 0:
        return 1.0
    gains = (tails[v - 1 :: -1] - tails[v]) / np.arange(1, v + 1)
    return float(tails[v] + 2 * m * delta * gains.max())


def _binomial_tails(trials: int, probability: float) -> np.ndarray:
    """P[Bin(trials, probability) >= v] for v = 0..trials."""
    from scipy.special import betainc

    counts = np.arange(1, trials + 1)
    return np.concatenate([[1.0], betainc(counts, trials - counts + 1, probability)])


def f_dp_one_run(num_canaries: int, num_guesses: int, num_correct: int, delta: float, confidence: float = 0.95) -> AuditResult:
    """The f-DP one-run audit inside the family of Gaussian trade-off curves; it holds for mechanisms of that family only.

    Source: Mahloujifar, Melis and Chaudhuri (2025).
    """
    from workbench.privacy.accounting.gaussian import gdp_epsilon

    mu = f_dp_one_run_mu(num_canaries, num_guesses, num_correct, confidence)
    highest = f_dp_one_run_mu(num_canaries, num_guesses, num_guesses, confidence)
    assumption = "the mechanism's trade-off curve is Gaussian; canaries included with probability 1/2, guesses fixed beforehand"
    epsilon, ceiling = gdp_epsilon(mu, delta), gdp_epsilon(highest, delta)
    return AuditResult(epsilon, delta, confidence, "f-DP one run", assumption, ceiling, mu)


def f_dp_one_run_mu(num_canaries: int, num_guesses: int, num_correct: int, confidence: float = 0.95) -> float:
    """Largest mu whose Gaussian trade-off curve the f-DP one-run audit rejects at `confidence`; 0 if it rejects none."""
    from scipy.special import ndtr, ndtri

    _check_guesses(num_canaries, num_guesses, num_correct)
    _check_fraction("confidence", confidence)

    def rejected(mu: float) -> bool:
        return f_dp_rejects(lambda x: float(ndtr(ndtri(x) - mu)), num_canaries, num_guesses, num_correct, 1 - confidence)

    return _largest_rejected(rejected)


def f_dp_rejects(inverse: Callable[[float], float], num_canaries: int, num_guesses: int, num_correct: int, p: float) -> bool:
    """Whether a trade-off curve f is rejected at level `p`; `inverse` is the inverse of x -> 1 - f(x).

    Source: Mahloujifar, Melis and Chaudhuri (2025), the recursion of their audit.
    """
    rho, h = p * num_correct / num_canaries, p * (num_guesses - num_correct) / num_canaries
    for i in range(num_correct - 1, -1, -1):
        higher = max(h, inverse(min(rho, 1.0)))
        if higher == h:
            break
        rho, h = rho + i / (num_guesses - i) * (higher - h), higher
    return rho + h > num_guesses / num_canaries


def membership_test(
    false_negatives: int, members: int, false_positives: int, nonmembers: int, delta: float, alpha: float = 0.05, gaussian: bool = False
) -> AuditResult:
    """The audit of many trained models (or one mechanism run many times) by the error counts of one membership test.

    With `gaussian` the mechanism is taken to have a Gaussian trade-off curve, which proves more from the same counts.
    Source: Nasr et al. (2023).
    """
    counts, perfect = (false_negatives, members, false_positives, nonmembers), (0, members, 0, nonmembers)
    fixed = "the members' and non-members' tests are independent and the threshold was fixed on other data"
    if not gaussian:
        epsilon, ceiling = two_sided_epsilon(*counts, delta, alpha), two_sided_epsilon(*perfect, delta, alpha)
        return AuditResult(epsilon, delta, 1 - alpha, "membership test", fixed, ceiling)
    from workbench.privacy.accounting.gaussian import gdp_epsilon

    mu, highest = two_sided_mu(*counts, alpha), two_sided_mu(*perfect, alpha)
    assumption = f"the mechanism's trade-off curve is Gaussian; {fixed}"
    return AuditResult(gdp_epsilon(mu, delta), delta, 1 - alpha, "Gaussian membership test", assumption, gdp_epsilon(highest, delta), mu)


def two_sided_epsilon(
    false_negatives: int, members: int, false_positives: int, nonmembers: int, delta: float, alpha: float = 0.05
) -> float:
    """Lower bound on epsilon from the two error counts of a membership test, with no assumption on the mechanism.

    Clopper-Pearson upper bounds at alpha / 2 each. Source: Nasr et al. (2023), from the definition of (epsilon, delta)-DP.
    """
    check_delta(delta)
    fnr = clopper_pearson(false_negatives, members, alpha).high
    fpr = clopper_pearson(false_positives, nonmembers, alpha).high
    ratios = [(1 - delta - fnr) / fpr, (1 - delta - fpr) / fnr]
    return max(0.0, *(math.log(ratio) for ratio in ratios if ratio > 0))


def two_sided_mu(false_negatives: int, members: int, false_positives: int, nonmembers: int, alpha: float = 0.05) -> float:
    """Lower bound on mu from the two error counts of a membership test, if the mechanism's trade-off curve is Gaussian.

    Source: Nasr et al. (2023): mu >= Phi^-1(1 - FPR) - Phi^-1(FNR) at the Clopper-Pearson upper bounds, alpha / 2 each.
    """
    from scipy.special import ndtri

    fnr = clopper_pearson(false_negatives, members, alpha).high
    fpr = clopper_pearson(false_positives, nonmembers, alpha).high
    return max(0.0, float(ndtri(1 - fpr) - ndtri(fnr)))


def threshold_at_fpr(nonmember_scores: np.ndarray, fpr: float) -> float:
    """The score below which at most a share `fpr` of these non-members fall; small scores mean member.

    To be used on other records than these, or the rates are optimistic. -inf where there are too few records for so small an fpr.
    """
    _check_fraction("fpr", fpr)
    scores = np.sort(np.asarray(nonmember_scores, dtype=np.float64))
    allowed = math.floor(fpr * len(scores) + 1e-9)
    return float(np.nextafter(scores[allowed], -np.inf)) if allowed < len(scores) and allowed > 0 else -math.inf


def rates_at_threshold(member_scores: np.ndarray, nonmember_scores: np.ndarray, threshold: float, alpha: float = 0.05) -> tuple[Rate, Rate]:
    """True- and false-positive rate of "member if score <= threshold", each with its Clopper-Pearson interval."""
    members, nonmembers = np.asarray(member_scores), np.asarray(nonmember_scores)
    true_positives, false_positives = int((members <= threshold).sum()), int((nonmembers <= threshold).sum())
    return clopper_pearson(true_positives, len(members), alpha), clopper_pearson(false_positives, len(nonmembers), alpha)


def _largest_rejected(rejected: Callable[[float], bool]) -> float:
    """The end of the range that begins at 0 in which `rejected` holds, to 1e-12 from below; 0 if it fails at once."""
    low, high = 0.0, 1.0
    if not rejected(low):
        return 0.0
    while rejected(high):
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if rejected(middle) else (low, middle)
    return low


def _check_guesses(num_canaries: int, num_guesses: int, num_correct: int) -> None:
    if not 0 <= num_correct <= num_guesses <= num_canaries or num_guesses == 0:
        raise WorkbenchError(
            f"Expected 0 <= correct <= guesses <= canaries with at least one guess, got {num_correct}, {num_guesses}, {num_canaries}."
        )


def _check_fraction(name: str, value: float) -> None:
    if not 0.0 < value < 1.0:
        raise WorkbenchError(f"Expected {name} in (0, 1), got {value}.")
