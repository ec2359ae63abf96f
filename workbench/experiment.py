"""The whole flow, and the first file to read: load, plan, fit, sample, evaluate.

    dataset = load("digits")
    plan = make_plan("dp-promise", dataset.facts, epsilon=10)
    state = new_state(plan)
    for step in fit(plan, dataset, state): ...
    samples = sample(plan, state, 1500)
    results = evaluate(plan, state, dataset)

The command line, the pages, the notebooks and the background worker call these functions and hold no logic of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from workbench import datasets, evaluation
from workbench.datasets import Dataset, DatasetFacts
from workbench.errors import WorkbenchError, check_delta, choose, first_complaint
from workbench.evaluation import MetricResult
from workbench.methods import METHODS
from workbench.methods.base import Method, MethodConfig, SampleRequest, Target
from workbench.privacy import accountant_values, event_to_json, proved_bound
from workbench.privacy.accounting.bounds import replace_one_bound
from workbench.privacy.accounting.stages import compose
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import Records
from workbench.serialization import jsonable
from workbench.training.randomness import Randomness
from workbench.training.state import PerformanceSettings, State, Step

if TYPE_CHECKING:
    from torch import distributed as dist

DEFAULT_EPSILON = 10.0
DEFAULT_NUM_SAMPLES = 1500


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


def load(name_or_path: str, known: DatasetFacts | None = None) -> Dataset:
    """Step 1: a dataset by registry name, or from a folder of class subfolders or an .npz file.

    `known` are facts that it was planned by: it is read under their name, with their classes and at their shape.
    """
    return datasets.load(name_or_path) if known is None else datasets.load_as(name_or_path, known)


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


def check_records(plan: Plan, dataset: Dataset) -> None:
    """Refuse records that the plan's bound does not hold for: of other facts, of another number or range than these say."""
    facts, train = plan.facts, dataset.train
    if dataset.facts != facts:
        raise WorkbenchError(f"The plan was made for {facts.name} with {facts.num_records} records, not for these records.")
    if train.records.shape != (facts.num_records, *facts.shape):
        raise WorkbenchError(f"Expected training records of shape {(facts.num_records, *facts.shape)}, got {train.records.shape}.")
    if facts.kind == "image" and train.records.dtype != np.uint8:
        raise WorkbenchError(f"Expected images of type uint8, got {train.records.dtype}. Convert them: the bound rests on their range.")
    if train.labels is not None and facts.classes and not ((train.labels >= 0) & (train.labels < facts.num_classes)).all():
        raise WorkbenchError(f"Expected labels 0 to {facts.num_classes - 1}, got {train.labels.min()} to {train.labels.max()}.")


def check_apart(train: Records, public: Records) -> None:
    """Refuse public records that are private training records too: no guarantee covers what is trained on without noise."""
    private = {record.tobytes() for record in train.records}
    shared = sum(record.tobytes() in private for record in public.records)
    if shared:
        raise WorkbenchError(
            f"Expected public records that are no private training records, got {shared} that are. Choose other public records."
        )


def new_state(
    plan: Plan,
    performance: PerformanceSettings | None = None,
    seed: int | None = None,
    spend: Callable[[str, int], None] | None = None,
    group: dist.ProcessGroup | None = None,
) -> State:
    """A freshly initialised state; without `seed` its noise key comes from the operating system.

    The ranks of `group` share each private batch, and the first one's key (see `workbench.training.distributed`).
    """
    from workbench.training.distributed import shared_randomness

    randomness = shared_randomness(Randomness.fresh() if seed is None else Randomness.from_seed(seed), group)
    state = State(plan.facts, randomness, performance or PerformanceSettings(), group=group)
    if spend is not None:
        state.spend = spend
    return plan.build().initial_state(plan.facts, state)


def public_dataset(plan: Plan) -> Dataset | None:
    """The public dataset at the records' shape: the one the method pre-trains on, else the private dataset's companion, else None.

    Measures compare in its features. Naming a dataset as public in a configuration declares it so; the private dataset
    itself is refused.
    """
    method = plan.build()
    entry = datasets.DATASETS.get(plan.facts.name)
    name = method.public_dataset or (entry.public_companion if entry else None)
    if name is None:
        return None
    if name == plan.facts.name:
        raise WorkbenchError(f"Expected a public dataset other than the private one, got {name!r} for both.")
    return datasets.public_records(name, plan.facts.shape, method.public_records, declared_public=True)


def public_records(plan: Plan) -> Records | None:
    """The public records that the method pre-trains on, without labels where their classes are others; None where it uses none."""
    if plan.build().public_dataset is None:
        return None
    public = public_dataset(plan)
    if public is None:
        return None
    same_classes = public.facts.classes == plan.facts.classes
    return public.train if same_classes else Records(public.train.records)


def fit(plan: Plan, dataset: Dataset, state: State) -> Iterator[Step]:
    """Step 3: train on the dataset's training records, changing `state` in place; stop, save and plot as you like."""
    check_trainable(plan)
    check_records(plan, dataset)
    public = public_records(plan)
    if public is not None:
        check_apart(dataset.train, public)
    yield from plan.build().fit(dataset.train, public, state)


def sample(plan: Plan, state: State, num_samples: int, **request: Any) -> Records:
    """Step 4: generate records from a fitted state; further fields of `SampleRequest` by name."""
    if num_samples < 1:
        raise WorkbenchError(f"Expected at least 1 sample, got {num_samples}.")
    return plan.build().sample(state, SampleRequest(num_samples, **request))


def evaluate(
    plan: Plan, state: State, dataset: Dataset, num_samples: int = DEFAULT_NUM_SAMPLES, seed: int = 0, **options: Any
) -> list[MetricResult]:
    """Step 5: sample and measure, with the real-data ceiling and the epsilon-0 row beside every value."""
    samples = sample(plan, state, num_samples)
    pretrained = plan.build().public_dataset is not None
    public = sample(plan, state, num_samples, source="public", purpose="public samples") if pretrained else None
    results = evaluation.evaluate(samples, dataset, public_samples=public, public=public_dataset(plan), seed=seed, **options)
    releasable = plan.bound.is_finite and state.randomness.releasable
    return [result.of_run(releasable) for result in results]
