"""The configurations that the harness runs: every change that makes another mechanism, from types, declared switches and presets."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import combinations
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from support.drawn_faces import toy_faces
from support.mechanism.benches import few, settings_of
from support.mechanism.recording import Bench
from support.quick import asked_of, quick_dataset
from support.tables import toy_people
from workbench.datasets import Dataset
from workbench.diffusion import DiffusionConfig, SamplerConfig
from workbench.diffusion.discrete.config import DiscreteConfig
from workbench.diffusion.edm import EDMConfig, EDMSamplerConfig
from workbench.diffusion.langevin import LangevinConfig
from workbench.errors import WorkbenchError
from workbench.methods import METHODS
from workbench.methods.base import Method, MethodConfig
from workbench.methods.chu_dpdm.method import LearningRateDecay
from workbench.methods.fields import value_at
from workbench.models.selection.config import Draws
from workbench.networks import CriticConfig, UNetConfig
from workbench.networks.config import TableNetworkConfig
from workbench.plan import Plan
from workbench.planning import configure, make_plan
from workbench.training_data import check_public
from workbench.workspace import Workspace

# What a network is, how fast it learns and how it is sampled: whatever they are, a step releases the same.
SAME_MECHANISM = (
    CriticConfig,
    DiffusionConfig,
    DiscreteConfig,
    Draws,
    EDMConfig,
    EDMSamplerConfig,
    LangevinConfig,
    LearningRateDecay,
    SamplerConfig,
    TableNetworkConfig,
    UNetConfig,
)
LEARNING_RATE = "schedule"
BESIDE: dict[str, dict[str, Any]] = {  # by the beginning of a change: what it needs beside it, or would do nothing without
    "labels.source=self-supervised": {"mode": "eq15"},
    "labels.rounds": {"labels.source": "dp-k-means"},
    "labels.max_norm": {"labels.source": "dp-k-means"},
    "private.": {"classifier": "dp-sgd"},
    "private_teacher.": {"teacher": "dp-sgd"},
    "selected.selection.": {"selected.selection.rounds": 2},
    "private=False": {"unprotected.steps": 2},
}
ON: dict[str, Any] = {  # by the beginning of a field's name: other data than the method's own
    "latents.": toy_faces,
    "columns.": toy_people,
}
REFUSED = {  # what cannot be planned in small, or alone
    "dp-sad pretraining.steps=0": "a public teacher needs public images",
    "dp-sad pretraining.dataset=": "a public teacher needs public images",
    "dp-promise published-5": "the paper has no result at 5 for small grey images",
    "dp-sgd-dm published-5": "the paper has no result at 5 for small grey images",
}


@dataclass(frozen=True)
class Switch:
    """A field that makes another mechanism: its dotted name, its values, and the class of configurations that has it first."""

    name: str
    values: tuple[Any, ...]
    owner: type


@dataclass(frozen=True)
class Case:
    """A method's quick configuration with some fields changed, or at one of its presets."""

    method: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    preset: str = "default"

    @property
    def name(self) -> str:
        """In words, as a test is called."""
        return " ".join([self.method, *([self.preset] if self.preset != "default" else []), *self.changes_in_words])

    @property
    def changes_in_words(self) -> list[str]:
        """Its changes in words."""
        return [f"{name}={'+'.join(value) if isinstance(value, tuple) else value}" for name, value in self.changes.items()]

    @property
    def dataset(self) -> Dataset:
        """Few records of what it runs on."""
        other = next((make for name in self.changes for start, make in ON.items() if name.startswith(start)), None)
        return few_of(self.method) if other is None else other()

    @property
    def settings(self) -> dict[str, Any]:
        """Its changes, what they need beside them, and the quick settings that they leave."""
        beside: dict[str, Any] = {}
        for start in (start for start in BESIDE if any(change.startswith(start) for change in self.changes_in_words)):
            beside |= BESIDE[start]
        return settings_of(self.method, beside | dict(self.changes))

    @property
    def config(self) -> MethodConfig:
        """Its configuration before anything is calibrated."""
        kind, facts = METHODS[self.method], self.dataset.facts
        return configure(kind, facts, kind.presets[self.preset].values(facts), self.settings)

    def plan(self) -> Plan:
        """Planned at epsilon 10 of a bound, else of a claim, else without one; once, as what is asked of a case asks for its plan again."""
        return self._plan

    @cached_property
    def _plan(self) -> Plan:
        refused: WorkbenchError | None = None
        ways: list[dict[str, Any]] = [asked_of(self.method), {"epsilon": 10.0, "target": "claim"}, {}]
        for way in ways:
            try:
                return make_plan(self.method, self.dataset.facts, preset=self.preset, settings=self.settings, **way)
            except WorkbenchError as error:
                refused = refused or error
        assert refused is not None
        raise refused

    @property
    def can_be_planned(self) -> bool:
        """Whether its changes go together."""
        try:
            check_public(self.plan(), Workspace.default())
        except WorkbenchError:
            return False
        return True

    @property
    def has_the_usual_stages(self) -> bool:
        """Whether its stages are of the kinds of its method's quick configuration."""
        return kinds_of_stages(self.plan()) == standard_stages(self.method)

    def bench(self) -> Bench:
        """A bench of it, which knows the stages that the method has without its changes, and votes."""
        plan = self.plan()
        known = (standard_stages(self.method) | standard_stages("private-evolution")) & kinds_of_stages(plan)
        return Bench(plan, self.dataset, {name for name, _ in known})


@cache
def standard_stages(method: str) -> set[tuple[str, str]]:
    """Name and kind of event of each stage of a method's quick configuration."""
    return kinds_of_stages(Case(method).plan())


@cache
def few_of(method: str) -> Dataset:
    """Few records of what a method's quick tests run on."""
    return few(quick_dataset(method))


def switches(kind: type[Method]) -> Iterator[Switch]:
    """What makes another mechanism of a method, of its configuration and of the parts of that.

    Of the fields that it samples by, those that are declared: such a number may leave a stage out.
    """
    for name, owner, info in fields(kind.Config):
        last = name.rpartition(".")[2]
        sampled = any(f"{name}.".startswith(f"{field}.") for field in kind.sampling_fields)
        if values := declared(owner, last) if sampled else values_of(owner, last, info):
            yield Switch(name, values, first_owner(owner, last))


def fields(config: type[BaseModel], before: str = "") -> Iterator[tuple[str, type[BaseModel], FieldInfo]]:
    """Every field of a configuration by dotted name, with the part that has it; not those of parts that leave the mechanism alone."""
    for name, info in config.model_fields.items():
        part = info.annotation
        if isinstance(part, type) and issubclass(part, BaseModel):
            if not issubclass(part, SAME_MECHANISM):
                yield from fields(part, f"{before}{name}.")
        elif name != LEARNING_RATE:
            yield before + name, config, info


def values_of(owner: type[BaseModel], name: str, info: FieldInfo) -> tuple[Any, ...]:
    """The values of a switch; none where the field is no switch."""
    if get_origin(info.annotation) is Literal:
        return get_args(info.annotation)
    return (False, True) if info.annotation is bool else declared(owner, name)


def declared(owner: type[BaseModel], name: str) -> tuple[Any, ...]:
    """The values that a part of a configuration declares for a field; none where it declares nothing."""
    return getattr(owner, "switches", {}).get(name, ())


def first_owner(owner: type[BaseModel], name: str) -> type:
    """The class that first has the field: a part that methods share is one switch."""
    having = [kind for kind in owner.__mro__ if name in getattr(kind, "__annotations__", {})]
    declaring = [kind for kind in owner.__mro__ if name in kind.__dict__.get("switches", {})]
    return (declaring or having)[-1]


@cache
def changed() -> list[Case]:
    """One change at a time: of each switch the values that no method before has had."""
    by_value: dict[tuple[type, str, Any], Case] = {}
    for method, kind in METHODS.items():
        config, cases = Case(method).config, {case.name: case for case in alone(method)}
        for switch in switches(kind):
            last = switch.name.rpartition(".")[2]
            by_value.setdefault((switch.owner, last, value_at(config, switch.name)), Case(method))
            for value in switch.values:
                if (case := cases.get(Case(method, {switch.name: value}).name)) is not None:
                    by_value.setdefault((switch.owner, last, value), case)
    return [case for case in by_value.values() if case.changes]


def alone(method: str) -> Iterator[Case]:
    """Every change of a method by itself, as far as it can be planned alone."""
    standard = Case(method).config
    for switch in switches(METHODS[method]):
        for value in switch.values:
            case = Case(method, {switch.name: value})
            if value != value_at(standard, switch.name) and case.name not in REFUSED:
                yield case


def products(method: str) -> Iterator[Case]:
    """A method's changes by themselves and each two of them together: those with a mechanism that CI does not run, once each."""
    of_ci = [case for case in (*changed(), *presets()) if case.method == method]
    seen = {mechanism(case) for case in (Case(method), *(case for case in of_ci if not case.has_the_usual_stages))}
    single = list(alone(method))
    pairs = (
        Case(method, {**one.changes, **two.changes}) for one, two in combinations(single, 2) if one.changes.keys() != two.changes.keys()
    )
    for case in (*of_ci, *single, *pairs):
        if case.can_be_planned and (what := mechanism(case)) not in seen:
            seen.add(what)
            yield case


def kinds_of_stages(plan: Plan) -> set[tuple[str, str]]:
    """Name and kind of event of each stage."""
    return {(stage.name, type(stage.event).__name__) for stage in plan.build().stages(plan.facts)}


def mechanism(case: Case) -> tuple[Any, ...]:
    """Which mechanism a case runs, numbers aside: the values of the method's switches, of those of numbers whether they are on."""
    values, config = [], case.config
    for switch in switches(METHODS[case.method]):
        value = value_at(config, switch.name)
        values.append(value if value in switch.values else bool(value))
    return tuple(values)


@cache
def presets() -> list[Case]:
    """The presets that plan in small, one of each mechanism that no other case has."""
    cases: list[Case] = []
    for method, kind in METHODS.items():
        seen = {mechanism(Case(method))} | {mechanism(case) for case in changed() if case.method == method}
        for case in (Case(method, {}, preset) for preset in kind.presets):
            if case.name not in REFUSED and (what := mechanism(case)) not in seen:
                seen.add(what)
                cases.append(case)
    return cases
