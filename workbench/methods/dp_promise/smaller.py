"""A phase one that fits its share of epsilon: where the defaults ask too much of a dataset, smaller ones are found and told."""

import math
from bisect import bisect_left
from collections.abc import Set
from dataclasses import dataclass
from typing import Any

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.base import Target
from workbench.methods.dp_promise import phases
from workbench.methods.dp_promise.phases import DPPromiseConfig
from workbench.methods.fields import value_at, with_values
from workbench.privacy.accounting import calibration

LATEST_BOUNDARY = 0.95  # of the time steps: behind a later one phase one has next to nothing to train
ADAPTED = ("phase_one.batch_size", "phase_one.steps", "phase_one.share")
CHOSEN = frozenset({*ADAPTED, "boundary"})  # whoever gives one of these wants a phase one
# Divisors of batch and steps, and the factor of the share. Small batches cost less privacy a record seen, so they come first.
SMALLER: tuple[tuple[int, int, float], ...] = ((2, 1, 1), (4, 1, 1), (4, 4, 1), (8, 8, 1), (8, 8, 2))
LARGER_SHARE: tuple[tuple[int, int, float], ...] = ((1, 1, 2),)  # a one-shot release costs the same for any batches and steps


@dataclass(frozen=True)
class Aim:
    """What a plan is calibrated to, and for which dataset."""

    facts: DatasetFacts
    epsilon: float
    delta: float
    target: Target

    def spent_epsilon(self, config: DPPromiseConfig, boundary: int) -> float:
        """Epsilon of phase one alone at `boundary`, by bound or by claim."""
        return phases.epsilon_alone(with_boundary(config, boundary), self.facts, self.delta, self.target)

    def fits(self, config: DPPromiseConfig, boundary: int) -> bool:
        """Whether phase one alone stays within its share of epsilon at `boundary`, or at the one that is given."""
        allowed = config.phase_one.share * self.epsilon
        if self.target == "claim":
            return self.spent_epsilon(config, boundary) <= allowed
        return calibration.meets([phases.stage(with_boundary(config, boundary), self.facts)], allowed, self.delta)


def with_boundary(config: DPPromiseConfig, boundary: int) -> DPPromiseConfig:
    """The configuration with a boundary: its own, or this one."""
    return with_values(config, {"boundary": config.boundary or boundary})


def adapted_config(config: DPPromiseConfig, aim: Aim, given: Set[str]) -> tuple[DPPromiseConfig, str]:
    """The configuration with a phase one that fits, and what was changed in words; fields in `given` stay as they are.

    In this order: as it is, smaller batches and fewer steps, a larger share, no phase one (only where none of its fields
    is given). A boundary that is given may cost more than the share, as long as phase one stays within epsilon.
    Raises WorkbenchError with the share and with values that would do where what is given cannot meet it.
    """
    last = max(1, config.diffusion.timesteps - 1)
    latest = min(last, math.ceil(LATEST_BOUNDARY * config.diffusion.timesteps))
    if not config.phase_one.steps or aim.fits(config, latest):
        return config, ""
    if config.boundary is not None and aim.spent_epsilon(config, last) <= aim.epsilon:
        return config, ""
    factors_of = LARGER_SHARE if config.targets == "one-shot" else SMALLER
    smaller = [reduced_config(config, given, *factors) for factors in factors_of]
    first = bisect_left(smaller, True, key=lambda candidate: aim.fits(candidate, latest))
    if first < len(smaller):
        return smaller[first], change_words(config, smaller[first], aim)
    if not CHOSEN & given:
        return with_values(config, {"phase_one.steps": 0}), left_out(config, smaller[-1], aim)
    if config.boundary is None and aim.fits(config, last):
        return config, ""
    raise WorkbenchError(refusal(config, aim, given, last))


def reduced_config(config: DPPromiseConfig, given: Set[str], batch: int, steps: int, share: float) -> DPPromiseConfig:
    """The configuration with a smaller phase one, in the fields that are not given."""
    values: dict[str, Any] = {
        "phase_one.batch_size": max(1, config.phase_one.batch_size // batch),
        "phase_one.steps": max(1, config.phase_one.steps // steps),
        "phase_one.share": min(0.5, config.phase_one.share * share),
    }
    return with_values(config, {name: value for name, value in values.items() if name not in given})


def change_words(config: DPPromiseConfig, smaller: DPPromiseConfig, aim: Aim) -> str:
    """What was changed, and why."""
    pairs = [(name, value_at(config, name), value_at(smaller, name)) for name in ADAPTED]
    changes = ", ".join(f"{name} {after:g} in place of {before:g}" for name, before, after in pairs if before != after)
    return (
        f"Phase one is smaller than usual, so that with {aim.facts.num_records} records of {aim.facts.dimensions} values it stays within "
        f"its share ({smaller.phase_one.share:g}) of epsilon {aim.epsilon:g}: {changes}. Set these fields to override."
    )


def left_out(config: DPPromiseConfig, least: DPPromiseConfig, aim: Aim) -> str:
    """That there is no phase one, and why."""
    return (
        f"Phase one is left out (phase_one.steps 0 in place of {config.phase_one.steps}): with {aim.facts.num_records} records of "
        f"{aim.facts.dimensions} values even {least.phase_one.steps} steps of {least.phase_one.batch_size} records would take more than "
        f"{least.phase_one.share:g} of epsilon {aim.epsilon:g}. Phase two trains all time steps. More records or a larger epsilon would "
        "bring it back."
    )


def refusal(config: DPPromiseConfig, aim: Aim, given: Set[str], last: int) -> str:
    """The share, what phase one alone reaches, and values of single fields that would do."""
    share, spent = config.phase_one.share, aim.spent_epsilon(config, last)
    options = [f"{name}={value:g}" for name, value in remedies(config, aim, last, spent)]
    if config.boundary is not None and plans_without_boundary(config, aim, given):
        options.append("no boundary of your own")
    return (
        f"Expected phase one to stay within its share of epsilon: phase_one.share {share:g} of epsilon {aim.epsilon:g} is "
        f"{share * aim.epsilon:g}, and {config.phase_one.steps} steps of {config.phase_one.batch_size} records alone reach {spent:.4g} at "
        f"delta {aim.delta:.3g}{'' if config.boundary else ', even'} at boundary {config.boundary or last}. "
        f"Each of these alone would do: {', '.join([*options, 'phase_one.steps=0'])} (no phase one)."
    )


def remedies(config: DPPromiseConfig, aim: Aim, last: int, spent: float) -> list[tuple[str, float]]:
    """Values of single fields, or of epsilon, with which phase one fits its share; those that have none are left out."""
    values: list[tuple[str, float]] = []
    for name in ("phase_one.steps", "phase_one.batch_size"):
        value = largest(config, aim, last, name)
        if value is not None:
            values.append((name, value))
    if config.boundary is not None and aim.fits(with_values(config, {"boundary": last}), last):
        free = with_values(config, {"boundary": None})
        values.append(("boundary", phases.smallest_boundary(free, aim.facts, aim.epsilon, aim.delta, aim.target)))
    if spent <= 0.5 * aim.epsilon:
        values.append(("phase_one.share", rounded_up(spent / aim.epsilon)))
    if math.isfinite(spent):
        values.append(("epsilon", rounded_up(spent / config.phase_one.share)))
    return values


def plans_without_boundary(config: DPPromiseConfig, aim: Aim, given: Set[str]) -> bool:
    """Whether phase one fits, perhaps smaller, where the boundary is left to calibration."""
    try:
        return bool(adapted_config(with_values(config, {"boundary": None}), aim, given - {"boundary"})[0].phase_one.steps)
    except WorkbenchError:
        return False


def largest(config: DPPromiseConfig, aim: Aim, last: int, name: str) -> int | None:
    """The largest value of a field, below its own, with which phase one fits; None where not even 1 does."""

    def spent(value: int) -> float:
        return aim.spent_epsilon(with_values(config, {name: value}), last)

    allowed, own = config.phase_one.share * aim.epsilon, int(value_at(config, name))
    if own == 1 or spent(1) > allowed:
        return None
    return calibration.calibrate_integer(lambda _: [], allowed, aim.delta, 1, own, increasing=True, evaluate=spent, field=name)


def rounded_up(value: float) -> float:
    """Two significant digits, not below `value`."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.ceil(value / unit) * unit:.6g}")
