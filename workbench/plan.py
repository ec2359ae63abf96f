"""Step 2: a plan, which says what will be released and at what epsilon before any record is touched, and how it is made."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from workbench.datasets import DatasetFacts
from workbench.errors import WorkbenchError, check_delta, choose, first_complaint
from workbench.methods import METHODS
from workbench.methods.base import Method, MethodConfig, Target
from workbench.privacy import accountant_values, event_to_json, proved_bound
from workbench.privacy.accounting.bounds import replace_one_bound
from workbench.privacy.accounting.stages import compose
from workbench.privacy.accounting.values import PrivacyValue
from workbench.serialization import jsonable

DEFAULT_EPSILON = 10.0


class Plan(BaseModel):
    """What will be released and what it costs, fixed before any record is touched. Plain values only."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")

    method: str
    preset: str
    facts: DatasetFacts
    overrides: dict[str, Any] = {}
    config: dict[str, Any]
    num_records: int
    delta: float
    target: Target
    target_epsilon: float | None
    event: dict[str, Any]
    claim: PrivacyValue
    bound: PrivacyValue
    replace_one: PrivacyValue | None = None  # beside the bound, where one record may be replaced by another; None in plans of before
    accountants: dict[str, Any]
    warnings: tuple[str, ...] = ()

    @property
    def claim_only(self) -> bool:
        """Whether the run rests on the paper's word alone: a finite claim without a finite bound."""
        return self.claim.is_finite and not self.bound.is_finite

    def build(self) -> Method:
        """The configured method."""
        kind = METHODS[self.method]
        return kind(kind.Config.model_validate(self.config))


def make_plan(
    method: str,
    facts: DatasetFacts,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    preset: str = "default",
    overrides: Mapping[str, Any] | None = None,
    target: Target = "bound",
) -> Plan:
    """Step 2: configure a method for a dataset's public facts and calibrate it to `epsilon`, with claim and bound.

    `overrides` are field values by (possibly dotted) name; `delta` defaults to the preset's, else 1/(2 num_records).
    Raises WorkbenchError for values out of range, and where no setting reaches `epsilon`.
    """
    kind = choose(method, METHODS, "method")
    if facts.kind not in kind.kinds:
        raise WorkbenchError(f"{method} works on {' and '.join(sorted(kind.kinds))} data, and {facts.name} is of kind {facts.kind}.")
    chosen = choose(preset, kind.presets, f"preset of {method}")
    if delta is None:
        delta = default_delta(kind, facts, preset)
    check_delta(delta)
    presets, overrides = chosen.values(facts), overrides or {}
    config = configure(kind, facts, presets, overrides)
    wanted = epsilon_to_meet(config, epsilon, overrides)
    notes = [chosen.note(facts)]
    if wanted is None:
        configured = kind(config)
    else:
        given = {name.split(".")[0] for name in (*presets, *overrides)}
        config, note = kind.adapted(config, facts, wanted, delta, target, given)
        configured, notes = kind.calibrated(config, facts, wanted, delta, target), [*notes, note]
    return describe(configured, facts, preset, delta, target, epsilon, overrides, notes)


def default_delta(kind: type[Method], facts: DatasetFacts, preset: str = "default") -> float:
    """The delta of a plan that names none: the preset's, which is 1/(2 num_records) unless it belongs to a paper."""
    return kind.presets[preset].delta(facts)


def configure(kind: type[Method], facts: DatasetFacts, *layers: Mapping[str, Any]) -> MethodConfig:
    """The method's Config from its defaults for the dataset and `layers` of values over them, later ones winning."""
    values: dict[str, Any] = {}
    for layer in (kind.defaults(facts), *layers):
        for name, value in layer.items():
            set_field(kind.Config, values, name.split("."), value)
    try:
        return kind.Config.model_validate(values)
    except ValidationError as error:
        raise WorkbenchError(f"{kind.name}: {first_complaint(error)}") from None


def set_field(model: type[BaseModel], values: dict[str, Any], path: list[str], value: Any) -> None:
    """Put `value` at a dotted field path of `values`; an unknown name lists the choices."""
    name, *rest = path
    field = choose(name, model.model_fields, f"field of {model.__name__}")
    inner = field.annotation
    if isinstance(inner, type) and issubclass(inner, BaseModel):
        if not rest and not isinstance(value, Mapping):
            raise WorkbenchError(f"Expected fields of {name}, as {name}.{next(iter(inner.model_fields))}, got {value!r}.")
        nested = values.setdefault(name, {})
        for key, item in {".".join(rest): value}.items() if rest else dict(value).items():
            set_field(inner, nested, key.split("."), item)
    elif rest:
        raise WorkbenchError(f"{name} has no fields of its own, so {'.'.join(path)!r} names nothing.")
    else:
        values[name] = value


def epsilon_to_meet(config: MethodConfig, epsilon: float | None, overrides: Mapping[str, Any]) -> float | None:
    """The epsilon to calibrate to: the one given, else 10 where the noise is to be found, else None."""
    fixed = getattr(config, "noise_multiplier", 0.0) is not None
    if epsilon is None:
        return None if fixed else DEFAULT_EPSILON
    if not (epsilon > 0 and math.isfinite(epsilon)):
        raise WorkbenchError(f"Expected a finite epsilon above 0, got {epsilon}.")
    if overrides.get("noise_multiplier") is not None:
        raise WorkbenchError("Give epsilon or noise_multiplier, not both: epsilon is met by choosing the noise multiplier.")
    return epsilon


def describe(
    method: Method,
    facts: DatasetFacts,
    preset: str,
    delta: float,
    target: Target,
    epsilon: float | None,
    overrides: Mapping[str, Any],
    notes: Sequence[str] = (),
) -> Plan:
    """The plan of a configured method: its event, its claim, its bound, what each accountant says; `notes` join its warnings."""
    stages = method.stages(facts)
    warnings = [note for note in notes if note]
    if delta >= 1.0 / facts.num_records:
        warnings.append(
            f"delta {delta:g} is at least 1/num_records = {1 / facts.num_records:.3g}: publishing one record at random would satisfy it."
        )
    return Plan(
        method=method.name,
        preset=preset,
        facts=facts,
        overrides=jsonable(dict(overrides)),
        config=method.config.model_dump(mode="json"),
        num_records=facts.num_records,
        delta=delta,
        target=target,
        target_epsilon=epsilon,
        event=event_to_json(compose(stages)),
        claim=method.claim(facts, delta),
        bound=proved_bound(stages, delta),
        replace_one=replace_one_bound(stages, delta),
        accountants=jsonable(accountant_values(stages, delta)),
        warnings=tuple(warnings),
    )


def check_trainable(plan: Plan) -> None:
    """Refuse a run without a finite bound, unless the claim was asked for by name or the method claims nothing."""
    if plan.target == "bound" and plan.claim_only:
        raise WorkbenchError(
            f"This configuration has no finite bound: {plan.bound.reason} Train it with the target 'claim' to rest on the paper's word."
        )
