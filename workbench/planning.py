"""Step 2: how a plan is made from a request: configure, calibrate, describe. No record is touched."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, overload

from pydantic import BaseModel, ValidationError

from workbench import datasets
from workbench.datasets import DatasetFacts
from workbench.datasets.reference import DatasetRef
from workbench.datasets.whose import check_public_apart, told_of
from workbench.errors import WorkbenchError, first_complaint
from workbench.methods import METHODS
from workbench.methods.base import Method, MethodConfig, strict_delta
from workbench.methods.fields import dotted, value_at, with_values
from workbench.plan import Plan, SamplingPlan, own_num_samples, sampling_stages
from workbench.privacy import accountant_values, proved_bound
from workbench.privacy.accounting.bounds import replace_one_bound
from workbench.privacy.accounting.planned_stage import PlannedStage
from workbench.privacy.accounting.values import PrivacyValue, Target
from workbench.request import Request, public_fields, read_settings
from workbench.serialization import jsonable

DEFAULT_EPSILON = 10.0
DECLARED_PUBLIC = (
    "Declaring images public is your word that they need no protection: they are used without noise, no bound covers them or the people "
    "in them, and samples may repeat them."
)


@overload
def make_plan(request_or_method: Request, facts: DatasetFacts | None = None) -> Plan: ...


@overload
def make_plan(
    request_or_method: str,
    facts: DatasetFacts | DatasetRef | str,
    *,
    preset: str = "default",
    epsilon: float | None = None,
    delta: float | None = None,
    target: Target = "bound",
    settings: Mapping[str, Any] | None = None,
) -> Plan: ...


def make_plan(request_or_method: Request | str, facts: DatasetFacts | DatasetRef | str | None = None, **fields: Any) -> Plan:
    """Step 2: configure a method for a dataset's public facts and calibrate it to the epsilon asked for, with claim and bound.

    Takes a `Request`, with its dataset's facts where they are known already; or a method's name, a dataset or its facts, and what a
    `Request` has by name. Raises WorkbenchError for values out of range, and where no setting reaches the epsilon.
    """
    if isinstance(request_or_method, Request):
        request = request_or_method.edited()
        return _plan_of(request, facts if isinstance(facts, DatasetFacts) else request.facts())
    if facts is None:
        raise WorkbenchError("Expected a dataset or its facts beside the method's name, got none.")
    request = Request.of(request_or_method, facts, **fields)
    return _plan_of(request, request.facts())


def _plan_of(request: Request, facts: DatasetFacts) -> Plan:
    method_class, kind = METHODS[request.method], facts.kind.name
    if kind not in method_class.kinds:
        taken = " and ".join(sorted(method_class.kinds))
        raise WorkbenchError(f"{method_class.name} works on {taken} data, and {facts.name} is of kind {kind}.")
    chosen = method_class.presets[request.preset]
    delta = default_delta(method_class, facts, request.preset) if request.delta is None else request.delta
    presets, settings = chosen.values(facts), request.settings
    config = configure(method_class, facts, presets, settings)
    wanted = epsilon_to_meet(method_class, config, request.epsilon)
    notes = [chosen.note(facts)]
    if wanted is None:
        configured = method_class(config)
    else:
        by_hand = {name for name, value in settings.items() if value is not None}
        config = with_values(config, {method_class.field_to_calibrate(config, by_hand).name: None})
        config, note = method_class.adapted(config, facts, wanted, delta, request.target, {*dotted(presets), *settings})
        configured, notes = method_class.calibrated(config, facts, wanted, delta, request.target), [*notes, note]
    made = describe(configured, facts, delta, request, notes)
    if (public := configured.public_dataset) is None:
        return made
    check_public_apart(public, request.dataset, facts)
    datasets.check_known(public)
    return _with_declarations(made, public)


def _with_declarations(plan: Plan, public: str) -> Plan:
    """The plan with what is in one's own files, and what it means to declare images public, as request or preset do, that are not so."""
    own = told_of(public)
    if not own and datasets.is_public(public):
        return plan
    warning = f"Public images: {own or public}. {DECLARED_PUBLIC}"
    return plan.model_copy(update={"public": own, "warnings": (*plan.warnings, warning)})


def with_public(request: Request, public: str, facts: DatasetFacts | None = None) -> Request:
    """The request with these public images, a name or a path, wherever its method takes some; what is set by hand stays.

    Where there are fewer than are taken by default, all are taken. `facts` are those of the request's dataset, where they are known.
    Refused where the method takes none, or uses none as it is configured.
    """
    method_class, facts = METHODS[request.method], facts or request.facts()
    fields = public_fields(method_class.Config)
    if not fields:
        raise WorkbenchError(f"Expected a method that takes public images, got {request.method}, which takes none. Leave them out.")
    name = datasets.absolute_name(public)
    datasets.check_known(name)
    named = request.edited(settings={**dict.fromkeys(fields, name), **request.settings})
    config = configure(method_class, facts, method_class.presets[request.preset].values(facts), named.settings)
    if method_class(config).public_dataset is None:
        raise WorkbenchError(
            f"Expected a configuration that uses public images, got one of {request.method} that uses none. Leave them out."
        )
    there = math.inf if datasets.entry_of(name).is_unlimited else datasets.facts(name, facts.shape).num_records
    counts = [f"{field.removesuffix('dataset')}records" for field in fields]
    fewer = {count: there for count in counts if count not in request.settings and _count_at(config, count) > there}
    return named.edited(settings=fewer)


def _count_at(config: MethodConfig, name: str) -> int:
    """How many public images a field asks for; 0 where there is no such field, as all are taken."""
    try:
        return value_at(config, name)
    except AttributeError:
        return 0


def default_epsilon(request: Request, facts: DatasetFacts) -> float | None:
    """The epsilon that a request is planned for which names none; None where its configuration decides what is spent."""
    method_class = METHODS[request.method]
    config = configure(method_class, facts, method_class.presets[request.preset].values(facts), request.settings)
    return epsilon_to_meet(method_class, config, None)


def default_delta(method_class: type[Method], facts: DatasetFacts, preset: str = "default") -> float:
    """The delta of a plan that names none: the preset's, which is 1/(n ln n) of n records unless it belongs to a paper."""
    return method_class.presets[preset].delta(facts)


def strict_bound(plan: Plan) -> PrivacyValue | None:
    """The bound of the plan's releases at delta 1/n^2; None where its own delta is no larger, or nothing is bounded."""
    delta = strict_delta(plan.facts)
    return proved_bound(plan.stages, delta) if plan.bound.is_finite and delta < plan.delta else None


def configure(method_class: type[Method], facts: DatasetFacts, *layers: Mapping[str, Any]) -> MethodConfig:
    """The method's Config from its defaults for the dataset and `layers` of values over them, later ones winning.

    A part of which one field is given keeps the method's own defaults of the others, not those of the part's class.
    """
    own = {name: field.default for name, field in method_class.Config.model_fields.items()}
    values: dict[str, Any] = {name: part.model_dump() for name, part in own.items() if isinstance(part, BaseModel)}
    for layer in (method_class.defaults(facts), *layers):
        for name, value in read_settings(method_class.Config, layer, method_class.name).items():
            *outer, last = name.split(".")
            reduce(lambda inner, part: inner.setdefault(part, {}), outer, values)[last] = value
    try:
        return method_class.Config.model_validate(values)
    except ValidationError as error:
        raise WorkbenchError(f"{method_class.name}: {first_complaint(error)}") from None


def epsilon_to_meet(method_class: type[Method], config: MethodConfig, epsilon: float | None) -> float | None:
    """The epsilon to calibrate to: the one given, else 10 where a field is left to be found, else None."""
    open_fields = [field for field in method_class.calibrated_fields if value_at(config, field.name) is None]
    if epsilon is None and open_fields and method_class.takes_epsilon(config):
        return DEFAULT_EPSILON
    return epsilon


def describe(method: Method, facts: DatasetFacts, delta: float, request: Request, notes: Sequence[str] = ()) -> Plan:
    """The plan of a configured method: its releases, its claim, its bound, what each accountant says; `notes` join its warnings."""
    stages = method.releases(facts)
    bound, sampling = proved_bound(stages, delta), price_of_samples(method, facts, delta)
    warnings = [note for note in notes if note]
    if sampling is not None:
        warnings.append(
            f"The sampler touches private records: with the run's own {sampling.stop} samples the bound is epsilon "
            f"{sampling.bound.epsilon:.4g}, without samples {bound.epsilon:.4g}. {sampling.bound.reason if bound.is_finite else ''}".strip()
        )
    if delta >= 1.0 / facts.num_protected:
        what, count = ("one record", "num_records") if facts.persons is None else ("the rows of one person", "the number of persons")
        warnings.append(
            f"delta {delta:g} is at least 1/{count} = {1 / facts.num_protected:.3g}: publishing {what} at random would satisfy it."
        )
    return Plan(
        request=request,
        facts=facts,
        config=method.config.model_dump(mode="json"),
        delta=delta,
        releases=tuple(PlannedStage.of(stage) for stage in stages),
        claim=method.claim(facts, delta),
        bound=bound,
        sampling=sampling,
        replace_one=replace_one_bound(stages, delta),
        accountants=jsonable(accountant_values(stages, delta)),
        warnings=tuple(warnings),
    )


def price_of_samples(method: Method, facts: DatasetFacts, delta: float) -> SamplingPlan | None:
    """What a run's own samples cost beyond training; None where they are post-processing."""
    spent = sampling_stages(method, facts)
    if not spent:
        return None
    releases, bound = tuple(PlannedStage.of(stage) for stage in spent), proved_bound([*method.releases(facts), *spent], delta)
    return SamplingPlan(start=0, stop=own_num_samples(facts), releases=releases, bound=bound)
