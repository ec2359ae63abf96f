"""The method contract: a frozen Config and a class that names its releases, fits, and samples."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.fields import trainings, value_at, with_batches, with_values
from workbench.methods.implementation import Implementation, implementation_of
from workbench.models.sample_request import SampleRequest
from workbench.privacy.accounting import calibration
from workbench.privacy.accounting.persons import of_persons
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue, Target
from workbench.records import Records
from workbench.training.state import State, Step


class MethodConfig(BaseModel):
    """Hyper-parameters of a method: all that its guarantee depends on, and nothing that only changes speed."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def of_size(self, rows: float, least: int) -> Self:
        """The same with about `rows` rows in every step, and `least` or more records in a batch: to measure how its time grows with them.

        Batches of `OrdinaryTraining` and `DPSGD` are found by themselves; a method whose time grows with more says so here.
        """
        own_trainings = list(trainings(self))
        count = max(least, round(rows / max([1.0, *(training.rows / training.batch_size for training in own_trainings)])))
        return with_batches(self, count)


def no_values(_facts: DatasetFacts) -> dict[str, Any]:
    """A preset that changes nothing."""
    return {}


def usual_delta(facts: DatasetFacts) -> float:
    """1 / (n ln n) of n records, or of n persons with several, as DPImageBench has it; 1 / (2 n) of 7 or fewer, where that is smaller."""
    return 1.0 / (facts.num_protected * max(2.0, math.log(facts.num_protected)))


def strict_delta(facts: DatasetFacts) -> float:
    """1 / n^2 of n records: the chance that any record at all is published is then at most 1 / n."""
    return 1.0 / facts.num_protected**2


def protecting(facts: DatasetFacts, stages: list[Stage]) -> list[Stage]:
    """Stages that say what they cost a row, as they protect whom the facts name."""
    return stages if facts.persons is None else of_persons(stages, facts.persons.most_rows, facts.persons.column)


def no_note(_facts: DatasetFacts) -> str:
    """A preset that needs no word."""
    return ""


@dataclass(frozen=True)
class Preset:
    """A named configuration: values over the defaults for a dataset, the delta that belongs to it, and what a plan says of it.

    `values` may refuse a dataset with a WorkbenchError; `delta` and `note` may not.
    """

    description: str
    values: Callable[[DatasetFacts], dict[str, Any]] = no_values
    delta: Callable[[DatasetFacts], float] = usual_delta
    note: Callable[[DatasetFacts], str] = no_note


@dataclass(frozen=True)
class Reading:
    """A line of the claims table: the method's plan for a dataset at one of its presets, none of whose numbers is written again.

    `formula`: the paper's own, in its symbols. `notation`: the symbols there by field of the configuration (dotted where nested)
    or of DatasetFacts, "" for a field that the formula names in words; their values make the setting that is shown.
    """

    title: str
    preset: str
    formula: str
    notation: Mapping[str, str]
    dataset: str = "mnist"


@dataclass(frozen=True)
class CalibratedField:
    """A field of the configuration that may be left empty, to be found from a target epsilon between `low` and `high`.

    `name` is dotted where it is nested. The bound falls in the value, or rises if `increasing` (steps, a batch size).
    """

    name: str
    low: float = 0.05
    high: float = 1e5
    increasing: bool = False
    whole: bool = False  # integers alone


class Method(ABC):
    """One paper's method, configured. `stages` and `claim` need public facts only; data come in `fit` alone.

    `initial_state`, `fit`, `sample`, `noise_share`, `class_noise_share` and `noise_by_class` are the functions of these names in the
    module that `implementation` names.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    kinds: ClassVar[frozenset[str]] = frozenset({"image"})  # of records, by their names in KINDS
    Config: ClassVar[type[MethodConfig]]
    implementation: ClassVar[str] = ""  # the module with what needs torch (`Implementation`), "" where the class has it itself
    presets: ClassVar[dict[str, Preset]] = {"default": Preset("Settings that suit the dataset's size and shape.")}
    readings: ClassVar[Mapping[str, Reading]] = {}  # lines of the claims table by name; none where no paper claims anything
    released: ClassVar[tuple[str, ...]]  # names of the state's modules and tensors that samples are made from
    shapes: ClassVar[tuple[str, ...] | None] = None  # fields that change the time of one row; None for all that calibration does not find
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = ()  # none: it takes no epsilon
    targets: ClassVar[frozenset[Target]] = frozenset({"bound", "claim"})  # what an epsilon may be asked of
    sampling_fields: ClassVar[tuple[str, ...]] = ()  # of the configuration, which only `sample` reads: a run may be sampled with others
    kept_private: ClassVar[tuple[str, ...]] = ()  # the same, for what sampling needs but may never leave the room
    interruptible: ClassVar[tuple[str, ...]] = ()  # last stages after each of whose steps the model is whole: a run may end in them
    quiet_parts: ClassVar[tuple[str, ...]] = ()  # the same, for what quiet stages write: checkpoints alone keep it, and sampling needs none

    def __init__(self, config: MethodConfig) -> None:
        if not isinstance(config, self.Config):
            raise WorkbenchError(f"Expected a {self.Config.__name__} for {self.name}, got {type(config).__name__}.")
        self.config = config

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """Values that suit a dataset's size and shape, over the Config's own defaults."""
        return {}

    @classmethod
    def adapted(
        cls, config: MethodConfig, facts: DatasetFacts, epsilon: float, delta: float, target: Target, given: Set[str]
    ) -> tuple[MethodConfig, str]:
        """The configuration with defaults that can meet `epsilon` on this dataset, and in words what was changed ("" if nothing).

        Fields named in `given` were chosen by the user or a preset: they are never changed. Refuses, with values that would do,
        where they cannot meet it.
        """
        return config, ""

    @classmethod
    def calibrated(cls, config: MethodConfig, facts: DatasetFacts, epsilon: float, delta: float, target: Target) -> Self:
        """The method whose bound (or claim) meets `epsilon` by the declared field that is empty; refuses by name where no value does."""
        field = cls.field_to_calibrate(config)

        def with_value(value: float) -> Self:
            return cls(with_values(config, {field.name: value}))

        def stages_of(value: float) -> list[Stage]:
            return with_value(value).releases(facts)

        def claimed(value: float) -> float:
            return with_value(value).claim(facts, delta).epsilon

        evaluate = claimed if target == "claim" else None
        options: dict[str, Any] = {"increasing": field.increasing, "evaluate": evaluate, "field": field.name}
        if field.whole:
            return with_value(calibration.calibrate_integer(stages_of, epsilon, delta, int(field.low), int(field.high), **options))
        return with_value(calibration.calibrate_real(stages_of, epsilon, delta, field.low, field.high, **options))

    @classmethod
    def field_to_calibrate(cls, config: MethodConfig, given: Set[str] = frozenset()) -> CalibratedField:
        """The declared field that is empty, else the first that is not among those `given`.

        Refuses a method that declares none, two that are empty, and the case that all are given.
        """
        names = [field.name for field in cls.calibrated_fields]
        if not names:
            raise WorkbenchError(f"{cls.name} takes no epsilon: it has no privacy guarantee to calibrate. Leave epsilon out.")
        empty = [field for field in cls.calibrated_fields if value_at(config, field.name) is None]
        if len(empty) > 1:
            raise WorkbenchError(f"Expected at most one of {' and '.join(names)} to be empty: give the others.")
        free = empty or [field for field in cls.calibrated_fields if field.name not in given]
        if not free:
            raise WorkbenchError(f"Give epsilon or {names[0]}, not both: epsilon is met by choosing {' or '.join(names)}.")
        return free[0]

    @classmethod
    def takes_epsilon(cls, config: MethodConfig) -> bool:
        """Whether an epsilon decides anything of this configuration."""
        return bool(cls.calibrated_fields)

    @property
    def released_parts(self) -> tuple[str, ...]:
        """What samples are made from as it is configured: `released`, and what not every configuration has."""
        return self.released

    @property
    def public_dataset(self) -> str | None:
        """Name of the public dataset that `fit` pre-trains on, or None."""
        return None

    @property
    def public_records(self) -> int | None:
        """How many of its records are used; None for all."""
        return None

    @property
    def needs_public_labels(self) -> bool:
        """Whether `fit` refuses public records of other classes than the private ones."""
        return False

    @property
    def has_public_model(self) -> bool:
        """Whether the state keeps a model from before any paid stage, which `sample` draws from for the source "public" (epsilon 0).

        Public records alone make none: they may give features or thresholds, or have been selected at a price.
        """
        return False

    @property
    def selects_public(self) -> bool:
        """Whether its images are public ones that the records chose, or of a model that learned from such first."""
        return False

    @property
    def draws_labels(self) -> bool:
        """Whether samples of records with classes carry labels, and are drawn by them."""
        return True

    @property
    def learns_labels(self) -> bool:
        """Whether the model itself draws the labels, in the shares that it learned, where no class is asked for."""
        return False

    @abstractmethod
    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """All releases in order, free ones included, as they cost one record; the names are those that `fit` yields and spends."""

    def releases(self, facts: DatasetFacts) -> list[Stage]:
        """The stages as they protect whom the facts name, a record or a person with several rows: what plans, ledgers and cards hold."""
        return protecting(facts, self.stages(facts))

    @abstractmethod
    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """The paper's own number by the paper's own formula."""

    def claimed_stages(self, facts: DatasetFacts) -> list[Stage]:
        """The releases as the paper analyses them, where that is another mechanism than `stages` has; nothing where it has no such form.

        What any accountant says of these is the paper's word, never a bound.
        """
        return []

    def sampling_stages(self, facts: DatasetFacts, request: SampleRequest) -> list[Stage]:
        """What `sample` itself still spends on private data; nothing for post-processing."""
        return []

    @property
    def implemented(self) -> Implementation:
        """The module that `implementation` names, imported when something of it is first asked for."""
        return implementation_of(self.name, self.implementation)

    def initial_state(self, facts: DatasetFacts, state: State) -> State:
        """Put freshly initialised modules and optimisers into `state` (which brings randomness and device) and return it."""
        return self.implemented.initial_state(self.config, facts, state)

    def fit(self, data: Records, public: Records | None, state: State) -> Iterator[Step]:
        """Train from wherever `state.steps` stands, changing `state` in place; one Step is yielded after each step."""
        return self.implemented.fit(self.config, data, public, state)

    def seen(self, state: State, data: Records) -> tuple[DatasetFacts, Records]:
        """The facts and records as a fitted state's model has them: as they are, unless a release of the method made columns coarser."""
        return state.facts, data

    def noise_share(self, state: State) -> float | None:
        """Which part (0..1) of what samples of a fitted state are made from is noise; None where that is not known.

        Post-processing of what was released and of public facts: it costs nothing and may leave wherever samples may.
        """
        return self._said_of(state, "noise_share")

    def class_noise_share(self, state: State) -> float | None:
        """The same (0..1) of what differs between classes in what was released; None where that is not known."""
        return self._said_of(state, "class_noise_share")

    def noise_by_class(self, state: State) -> tuple[float, ...] | None:
        """The same (0..1) of what each class's samples are made from, in the order of the facts' classes; None where that is not known."""
        return self._said_of(state, "noise_by_class")

    def _said_of(self, state: State, name: str) -> Any:
        share = getattr(self.implemented, name, None) if self.implementation else None
        return None if share is None else share(self.config, state)

    def sample(self, state: State, request: SampleRequest) -> Records:
        """Generate records in the dataset's own schema (uint8 images or table rows) with their labels."""
        return self.implemented.sample(self.config, state, request)
