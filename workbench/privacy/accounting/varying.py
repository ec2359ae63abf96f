"""One quantity of a plan's releases at other values, everything else as it is: what curves of epsilon are drawn over."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from dp_accounting import dp_event

from workbench.privacy.accounting.events import (
    DrawnPartGaussianDpEvent,
    PartOfGaussianDpEvent,
    RealisedBatchSizeDpEvent,
    ReplaceOneGaussianDpEvent,
)
from workbench.privacy.accounting.stages import Stage

AXES = ("noise_multiplier", "steps", "sample_rate", "response_epsilon")


def setting_of(stages: Sequence[Stage], axis: str) -> float | None:
    """The stages' own value of a quantity of AXES, that of the first which has it; None where none has."""
    return next((value for stage in stages if (value := settings(stage).get(axis)) is not None), None)


def settings(stage: Stage) -> dict[str, float]:
    """The quantities of one release by axis; nothing of a free one, nor of an event that has none of them."""
    read = SETTINGS.get(type(stage.event))
    return {} if read is None or stage.spent == "free" else read(stage.event, stage.steps)


def varied_stages(stages: Sequence[Stage], axis: str, value: float) -> list[Stage]:
    """The stages where their own setting is `value`: in every release that has the quantity it changes by the same factor, so that
    releases with shares of one budget keep them."""
    factor = value / (setting_of(stages, axis) or value)
    return [_varied_stage(stage, axis, factor) if axis in settings(stage) else stage for stage in stages]


def response_epsilon(event: dp_event.RandomizedResponseDpEvent) -> float:
    """log((1 - f + f/k) / (f/k)) of a response that is uniform over k buckets with probability f."""
    kept = 1 - event.noise_parameter
    return math.log1p(event.num_buckets * kept / event.noise_parameter) if event.noise_parameter > 0 else math.inf


def randomized_response(epsilon: float, num_buckets: int) -> dp_event.RandomizedResponseDpEvent:
    """The k-ary response whose `response_epsilon` is `epsilon`: uniform with probability k / (k - 1 + e^epsilon)."""
    return dp_event.RandomizedResponseDpEvent(num_buckets / (num_buckets + math.expm1(epsilon)), num_buckets)


def _varied_stage(stage: Stage, axis: str, factor: float) -> Stage:
    if axis == "steps":
        return replace(stage, steps=max(1, round(factor * stage.steps)))
    return replace(stage, event=VARIED[type(stage.event)](stage.event, axis, factor))


def _of_sampled(event: Any, steps: int) -> dict[str, float]:
    if not isinstance(event.event, dp_event.GaussianDpEvent):
        return {}
    return {"noise_multiplier": event.event.noise_multiplier, "steps": steps, "sample_rate": event.sampling_probability}


def _of_realised(event: Any, steps: int) -> dict[str, float]:
    return {"noise_multiplier": event.noise_multiplier, "steps": steps, "sample_rate": event.sampling_probability}


def _of_gaussian(event: Any, steps: int) -> dict[str, float]:
    return {"noise_multiplier": event.noise_multiplier, "steps": steps}


def _of_one_release(event: Any, _steps: int) -> dict[str, float]:
    return {"noise_multiplier": event.noise_multiplier}


def _of_response(event: Any, _steps: int) -> dict[str, float]:
    return {"response_epsilon": response_epsilon(event)}


def _sampled(event: Any, axis: str, factor: float) -> dp_event.DpEvent:
    rate, noise = event.sampling_probability, event.event.noise_multiplier
    if axis == "noise_multiplier":
        return dp_event.PoissonSampledDpEvent(rate, dp_event.GaussianDpEvent(factor * noise))
    return dp_event.PoissonSampledDpEvent(min(1.0, factor * rate), event.event)


def _realised(event: Any, axis: str, factor: float) -> dp_event.DpEvent:
    if axis == "noise_multiplier":
        return RealisedBatchSizeDpEvent(event.sampling_probability, factor * event.noise_multiplier)
    return RealisedBatchSizeDpEvent(min(1.0, factor * event.sampling_probability), event.noise_multiplier)


def _gaussian(event: Any, _axis: str, factor: float) -> dp_event.DpEvent:
    return dp_event.GaussianDpEvent(factor * event.noise_multiplier)


def _one_release(event: Any, _axis: str, factor: float) -> dp_event.DpEvent:
    """Of a part of a joint release too: read by itself, it costs what a release alone costs."""
    return ReplaceOneGaussianDpEvent(factor * event.noise_multiplier, event.zero_out_ratio)


def _drawn_part(event: Any, _axis: str, factor: float) -> dp_event.DpEvent:
    return DrawnPartGaussianDpEvent(event.num_parts, factor * event.noise_multiplier, event.visible)


def _response(event: Any, _axis: str, factor: float) -> dp_event.DpEvent:
    return randomized_response(factor * response_epsilon(event), event.num_buckets)


SETTINGS: dict[type, Callable[[Any, int], dict[str, float]]] = {
    dp_event.PoissonSampledDpEvent: _of_sampled,
    RealisedBatchSizeDpEvent: _of_realised,
    dp_event.GaussianDpEvent: _of_gaussian,
    ReplaceOneGaussianDpEvent: _of_one_release,
    PartOfGaussianDpEvent: _of_one_release,
    DrawnPartGaussianDpEvent: _of_gaussian,
    dp_event.RandomizedResponseDpEvent: _of_response,
}
VARIED: dict[type, Callable[[Any, str, float], dp_event.DpEvent]] = {
    dp_event.PoissonSampledDpEvent: _sampled,
    RealisedBatchSizeDpEvent: _realised,
    dp_event.GaussianDpEvent: _gaussian,
    ReplaceOneGaussianDpEvent: _one_release,
    PartOfGaussianDpEvent: _one_release,
    DrawnPartGaussianDpEvent: _drawn_part,
    dp_event.RandomizedResponseDpEvent: _response,
}
