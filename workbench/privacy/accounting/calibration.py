"""Calibrate one field of a method so that the bound of the whole composed event meets a target epsilon."""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

from workbench.errors import RefusedError, WorkbenchError, check_delta
from workbench.privacy.accounting.accountants import pld, rdp
from workbench.privacy.accounting.accountants.reading import mechanisms
from workbench.privacy.accounting.bounds import proved_bound, shared_relation
from workbench.privacy.accounting.sampler import check_affordable, sampler_distance, sampler_epsilon
from workbench.privacy.accounting.stages import Stage, compose

StagesOf = Callable[[float], list[Stage]]
IntegerStagesOf = Callable[[int], list[Stage]]
Evaluate = Callable[[float], float]

TOLERANCE = 0.005  # a calibrated real value returns an epsilon in [1 - TOLERANCE, 1] times the target
SEARCH_INFLATION = 0.0015  # of the coarser grid inside a search
MOST_EVALUATIONS = 120


def calibrate_real(
    stages_of: StagesOf,
    epsilon: float,
    delta: float,
    low: float = 0.02,
    high: float = 1e5,
    increasing: bool = False,
    evaluate: Evaluate | None = None,
    field: str = "",
) -> float:
    """The value in [low, high], both positive, whose bound is within 0.5 % below `epsilon`.

    `stages_of(value)` gives the whole composition; its bound must fall in the value, or rise if `increasing`. `evaluate`
    replaces the bound (for example by a paper's formula): value -> epsilon. RDP brackets the value, the search uses a
    coarser PLD grid, an upper bound too, and the result is checked with the reported bound. Where the whole range stays
    below the target, its least private end is returned. Raises WorkbenchError when no value in the range meets the target,
    naming the stage that alone exceeds it, and the `field` that was searched; RefusedError where the noise is drawn too far
    from its law for any bound at `epsilon`.
    """
    _check(epsilon, delta, low, high)
    private, spent = (low, high) if increasing else (high, low)
    if evaluate is None:
        check_affordable(epsilon, delta, sampler_distance(stages_of(private)))
    exact = evaluate or (lambda value: proved_bound(stages_of(value), delta).epsilon)
    quick = lru_cache(maxsize=None)(evaluate or (lambda value: _quick_bound(stages_of(value), epsilon, delta)))
    if quick(private) > epsilon and exact(private) > epsilon:
        raise WorkbenchError(_cannot_meet(stages_of, private, epsilon, delta, evaluate, field))
    if evaluate is None:
        private, spent = _bracket(lambda value: _rough_bound(stages_of(value), delta), quick, private, spent, epsilon)
    if quick(spent) <= epsilon:
        return spent
    value = _search(quick, private, spent, epsilon)
    if not (1 - TOLERANCE) * epsilon <= exact(value) <= epsilon:
        value = _search(exact, private, spent, epsilon)
    return value


def calibrate_integer(
    stages_of: IntegerStagesOf,
    epsilon: float,
    delta: float,
    low: int,
    high: int,
    increasing: bool = False,
    evaluate: Callable[[int], float] | None = None,
    field: str = "",
) -> int:
    """The integer in [low, high] that spends most of `epsilon`: the next one misses the target.

    With `increasing` (steps, batch size) the bound rises in the value and the largest such value is returned; otherwise
    (a boundary S, a number of records) the smallest. Errors as for `calibrate_real`.
    """
    _check(epsilon, delta, low, high)
    private, spent = (int(low), int(high)) if increasing else (int(high), int(low))
    if evaluate is None:
        check_affordable(epsilon, delta, sampler_distance(stages_of(private)))
    exact = evaluate or (lambda value: proved_bound(stages_of(value), delta).epsilon)
    given = None if evaluate is None else lambda value: evaluate(int(value))
    if evaluate(private) > epsilon if evaluate else not meets(stages_of(private), epsilon, delta):
        raise WorkbenchError(_cannot_meet(lambda value: stages_of(int(value)), private, epsilon, delta, given, field))
    if evaluate is not None:
        return _bisect(evaluate, private, spent, epsilon)
    private = _bisect(lambda value: _rough_bound(stages_of(value), delta, 2), private, spent, epsilon)
    quick = _with_memory(lambda value: _quick_bound(stages_of(value), epsilon, delta, 2))
    private = _last_that_meets(quick, *_gallop(quick, private, spent, max(1, abs(private) // 30), epsilon), epsilon)
    exact = _with_memory(exact)
    return _last_that_meets(exact, *_gallop(exact, private, spent, 1, epsilon), epsilon)


def meets(stages: Sequence[Stage], epsilon: float, delta: float) -> bool:
    """Whether the bound of `stages` is at most `epsilon`; RDP alone, in milliseconds, where it says so."""
    return _rough_bound(stages, delta) <= epsilon or proved_bound(stages, delta).epsilon <= epsilon


def _check(epsilon: float, delta: float, low: float, high: float) -> None:
    check_delta(delta)
    if not 0.0 < epsilon < math.inf:
        raise WorkbenchError(f"Expected a finite target epsilon > 0, got {epsilon}.")
    if not low < high:
        raise WorkbenchError(f"Expected low < high, got [{low}, {high}].")


def _rough_bound(stages: Sequence[Stage], delta: float, blocks: int | None = None) -> float:
    """RDP alone (over the first `blocks` of orders): an upper bound in milliseconds; infinite where it has none."""
    try:
        composition = mechanisms(compose(stages), shared_relation(stages))
        return sampler_epsilon(lambda left: rdp.epsilon(composition, left, blocks), delta, sampler_distance(stages))
    except RefusedError:
        return math.inf


def _quick_bound(stages: Sequence[Stage], target: float, delta: float, blocks: int | None = None) -> float:
    """An upper bound on a PLD grid fixed by the target, so that the distributions of unchanged parts are reused."""
    rough = _rough_bound(stages, delta, None if delta < pld.SMALLEST_DELTA else blocks)
    if delta < pld.SMALLEST_DELTA or (math.isfinite(rough) and rough > 10 * target + 10):
        return rough
    try:
        composition = mechanisms(compose(stages), shared_relation(stages))
        interval = pld.search_interval(composition, delta, target, SEARCH_INFLATION)
        return min(rough, sampler_epsilon(lambda left: pld.epsilon(composition, left, interval), delta, sampler_distance(stages)))
    except RefusedError:
        return rough


def _bracket(rough: Evaluate, quick: Evaluate, private: float, spent: float, target: float) -> tuple[float, float]:
    """A narrow bracket of the target: from where RDP meets it, the first of growing steps at which PLD misses it.

    Where RDP misses the target at any value, it is lowered by what it is above PLD at `private`: only where to look, PLD decides.
    """
    excess = max(0.0, rough(private) - quick(private)) if rough(private) > target else 0.0
    start, log_step = private, math.copysign(0.1, math.log(spent / private))
    if rough(private) - excess <= target:
        limit = spent
        for _ in range(20):
            middle = _between(start, limit, 0.5)
            start, limit = (middle, limit) if rough(middle) - excess <= target else (start, middle)
    missed = spent
    while start != private and quick(start) > target:
        missed, start = start, start * math.exp(-log_step)
        start, log_step = (private, log_step) if (private - start) * log_step >= 0 else (start, 2 * log_step)
    if missed != spent:
        return start, missed
    while start != spent:
        end = start * math.exp(log_step)
        end = spent if (spent - end) * log_step <= 0 else end
        if quick(end) > target:
            return start, end
        start, log_step = end, 2 * log_step
    return start, spent


def _search(evaluate: Evaluate, private: float, spent: float, target: float) -> float:
    """False position (Illinois) on log epsilon against log value, until epsilon is within 0.3 % below the target."""
    goal, aim = math.log1p(-0.003), math.log1p(-0.0015)
    meets, misses = _log_ratio(evaluate(private), target), _log_ratio(evaluate(spent), target)
    left, right = meets - aim, misses - aim
    for _ in range(MOST_EVALUATIONS):
        if goal <= meets <= 0 or abs(math.log(spent / private)) < 1e-12:
            break
        share = left / (left - right) if left != right else 0.5
        middle = _between(private, spent, min(0.98, max(0.02, share)))
        value = _log_ratio(evaluate(middle), target)
        if value <= 0:
            private, meets, left, right = middle, value, value - aim, right / 2
        else:
            spent, left, right = middle, left / 2, value - aim
    return private


def _last_that_meets(evaluate: Callable[[int], float], private: int, limit: int, target: float) -> int:
    """The last integer from `private`, which meets the target, towards `limit`, which misses it: false position on log epsilon."""
    step = 1 if limit > private else -1
    while abs(limit - private) > 1:
        meets, misses, gap = _log_ratio(evaluate(private), target), _log_ratio(evaluate(limit), target), abs(limit - private)
        middle = private + step * min(gap - 1, max(1, int(gap * meets / (meets - misses))))
        private, limit = (middle, limit) if evaluate(middle) <= target else (private, middle)
    return private


def _gallop(evaluate: Callable[[int], float], private: int, spent: int, width: int, target: float) -> tuple[int, int]:
    """Growing steps from `private`: the last that meets the target and the first that misses it (or twice the end)."""
    step = 1 if spent > private else -1
    limit = private
    while evaluate(limit) <= target:
        if limit == spent:
            return spent, spent
        private, limit = limit, limit + step * min(width, abs(spent - limit))
        width *= 2
    return private, limit


def _with_memory(evaluate: Callable[[int], float]) -> Callable[[int], float]:
    return lru_cache(maxsize=None)(evaluate)


def _between(low: float, high: float, share: float) -> float:
    return math.exp((1 - share) * math.log(low) + share * math.log(high))


def _log_ratio(epsilon: float, target: float) -> float:
    """log(epsilon/target), kept within 3 of 0 so that infinite and zero values only give a direction."""
    if epsilon <= 0 or math.isinf(epsilon):
        return -3.0 if epsilon <= 0 else 3.0
    return min(3.0, max(-3.0, math.log(epsilon / target)))


def _bisect(evaluate: Callable[[int], float], private: int, spent: int, target: float) -> int:
    """The value nearest to `spent` that meets the target, by bisection; `private` is known to meet it."""
    if evaluate(spent) <= target:
        return spent
    while abs(spent - private) > 1:
        middle = (private + spent) // 2
        if evaluate(middle) <= target:
            private = middle
        else:
            spent = middle
    return private


def _cannot_meet(stages_of: StagesOf, value: float, epsilon: float, delta: float, evaluate: Evaluate | None, field: str) -> str:
    """Why even the most private value misses the target: the stages that alone exceed it, and what would help."""
    place = f"{field} {value:g}".strip()
    if evaluate is not None:
        return f"Expected a formula that reaches epsilon {epsilon:g}; at {place} it still gives {evaluate(value):.4g}. Widen the range."
    stages = [stage for stage in stages_of(value) if stage.spent != "free"]
    bounds = {stage.name: proved_bound([stage], delta) for stage in stages}
    whole = proved_bound(stages_of(value), delta)
    for stage in stages:
        bound = bounds[stage.name]
        if not bound.is_finite:
            return f"Expected a finite bound to calibrate; {stage.name} alone has none: {bound.reason}"
    if not whole.is_finite:
        return f"Expected a finite bound to calibrate; the composition has none: {whole.reason}"
    alone = [name for name, bound in bounds.items() if bound.epsilon > epsilon]
    listed = ", ".join(f"{name} {bound.epsilon:.4g}" for name, bound in bounds.items())
    culprit = " and ".join(alone) + " alone exceeds the target" if alone else "the parts together exceed the target"
    met = f"Expected a bound of at most {epsilon:g} at delta {delta:g}, got {whole.epsilon:.4g} even at {place}: {culprit}"
    return f"{met} (each part alone: {listed}). {' '.join(_help(stage) for stage in stages if not alone or stage.name in alone)}"


def _help(stage: Stage) -> str:
    advice = HELP.get(type(stage.event).__name__, "Fewer steps or more noise")
    return f"What would help for {stage.name}: {advice[0].lower()}{advice[1:]}."


HELP: dict[str, str] = {
    "FixedBatchGaussianDpEvent": "A larger boundary S (noisier images), fewer steps, a smaller batch or more records",
    "DrawnPartGaussianDpEvent": "A larger noise multiplier, fewer steps, fewer images a step or more parts",
    "ReplaceOneGaussianDpEvent": "A larger noise multiplier",
    "ExponentialMechanismDpEvent": "A smaller epsilon of each choice, or fewer of them",
    "PoissonSampledDpEvent": "A larger noise multiplier, fewer steps or a smaller batch",
    "RealisedBatchSizeDpEvent": "Division by the expected batch size, a larger noise multiplier or fewer steps",
    "GaussianDpEvent": "A larger noise multiplier or fewer steps",
}
