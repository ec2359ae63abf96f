"""What a plan is: what will be released and what it costs, fixed before any record is touched."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError, choose, first_complaint
from workbench.privacy.accounting.planned_stage import PlannedStage
from workbench.privacy.accounting.stages import Stage, difference
from workbench.privacy.accounting.values import PrivacyValue, Target
from workbench.request import Request

if TYPE_CHECKING:
    from workbench.datasets.reference import DatasetRef
    from workbench.methods.base import Method, MethodConfig


STALE = "The plan was changed, or another version made it: plan again and start a new run."
MOST_SAMPLES = 10_000
ROUNDING = 1e-9  # relative, between two computations of one epsilon


class SamplingPlan(BaseModel):
    """What drawing samples `start` to `stop` of a set costs, before anything is drawn: nothing where all of it is post-processing.

    `releases` are what the sampler spends on private records, `bound` is that of the run with them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    start: int
    stop: int
    releases: tuple[PlannedStage, ...]
    bound: PrivacyValue

    @property
    def stages(self) -> list[Stage]:
        """What the sampler spends."""
        return [planned.stage for planned in self.releases]


class Plan(BaseModel):
    """What was asked for, what will be released in order, and what it costs. Plain values only.

    `config` is the method's configuration after calibration. `replace_one` stands beside the bound where one record may be replaced
    by another. `sampling` is what the run's own samples cost beyond training, None where they cost nothing; `bound` is without them.
    `public` names the files of one's own that it takes to be public, with a digest of what was in them; empty where it takes none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")

    request: Request
    facts: DatasetFacts
    config: dict[str, Any]
    delta: float
    releases: tuple[PlannedStage, ...]
    claim: PrivacyValue
    bound: PrivacyValue
    replace_one: PrivacyValue | None = None
    sampling: SamplingPlan | None = None
    accountants: dict[str, Any]
    public: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def method(self) -> str:
        """The method's name."""
        return self.request.method

    @property
    def preset(self) -> str:
        """The name of the preset that the settings were laid over."""
        return self.request.preset

    @property
    def target(self) -> Target:
        """Which number meets the epsilon asked for."""
        return self.request.target

    @property
    def target_epsilon(self) -> float | None:
        """The epsilon asked for; None where none was."""
        return self.request.epsilon

    @property
    def num_records(self) -> int:
        """Training records."""
        return self.facts.num_records

    @property
    def stages(self) -> list[Stage]:
        """All releases in order, free ones included, as they were when the plan was made."""
        return [planned.stage for planned in self.releases]

    @property
    def sampled(self) -> tuple[PlannedStage, ...]:
        """What drawing the run's own samples spends, as plain values."""
        return () if self.sampling is None else self.sampling.releases

    @property
    def sampling_stages(self) -> list[Stage]:
        """What drawing the run's own samples spends."""
        return [planned.stage for planned in self.sampled]

    @property
    def num_samples(self) -> int:
        """How many samples are the run's own, where no other number is asked for."""
        return own_num_samples(self.facts)

    @property
    def steps(self) -> int:
        """Steps of all stages together."""
        return sum(planned.steps for planned in self.releases)

    @property
    def claim_only(self) -> bool:
        """Whether the run rests on the paper's word alone: a finite claim without a finite bound."""
        return self.claim.is_finite and not self.bound.is_finite

    def build(self) -> Method:
        """The configured method, which carries out the plan's releases and no others: what is spent is what is done.

        Refused where they differ, as in a plan that was changed since or that means something else in this version.
        """
        from workbench.methods import METHODS  # takes a second, which reading a plan need not wait for

        method_class = choose(self.method, METHODS, "method")
        try:
            method = method_class(method_class.Config.model_validate(self.config))
        except ValidationError as error:
            raise WorkbenchError(f"Expected a configuration of {self.method} in the plan, got {first_complaint(error)} {STALE}") from None
        training, sampling = method.releases(self.facts), sampling_stages(method, self.facts)
        if other := difference(self.stages, training) or difference(self.sampling_stages, sampling):
            raise WorkbenchError(f"Expected a plan whose releases are those of its configuration, got {other}. {STALE}")
        return method

    def check(self) -> None:
        """Refuse a plan that cannot be carried out as it stands, or that shows a smaller number than its releases come to."""
        from workbench.privacy.accounting.bounds import proved_bound, replace_one_bound

        stages, method = self.stages, self.build()
        _check_shown("bound", self.bound, proved_bound(stages, self.delta))
        _check_shown("claim", self.claim, method.claim(self.facts, self.delta))
        if self.sampling is not None:
            _check_shown("bound with its samples", self.sampling.bound, proved_bound([*stages, *self.sampling_stages], self.delta))
        if self.replace_one is not None:
            nothing = PrivacyValue(epsilon=math.inf, delta=self.delta, status="not_proved")
            _check_shown("bound where one record is replaced", self.replace_one, replace_one_bound(stages, self.delta) or nothing)

    def at(self, method: Method, facts: DatasetFacts) -> Self:
        """The plan with what another configuration releases of a dataset of other facts; the numbers stay: to rehearse, not to train."""
        releases = tuple(PlannedStage.of(stage) for stage in method.releases(facts))
        sampling = tuple(PlannedStage.of(stage) for stage in sampling_stages(method, facts))
        priced = None if self.sampling is None else self.sampling.model_copy(update={"releases": sampling})
        changed = {"facts": facts, "config": method.config.model_dump(mode="json"), "releases": releases, "sampling": priced}
        return self.model_copy(update=changed)

    def on(self, dataset: DatasetRef) -> Self:
        """The plan with the dataset named that its facts are of."""
        return self.model_copy(update={"request": self.request.model_copy(update={"dataset": dataset})})

    def does_the_same_as(self, other: Plan) -> bool:
        """Whether both train the same at the same cost, however they were asked for."""
        apart = {"request", "warnings", "config"}
        if self.method != other.method or self.model_dump(exclude=apart) != other.model_dump(exclude=apart):
            return False
        return self.config == other.config or (self.configuration is not None and self.configuration == other.configuration)

    @property
    def public_images(self) -> str:
        """The images that it takes to be public: a registered name, or the name and digest of one's own files; else empty."""
        from workbench.methods import METHODS

        configuration = self.configuration
        return self.public or (configuration and METHODS[self.method](configuration).public_dataset) or ""

    @property
    def configuration(self) -> MethodConfig | None:
        """`config` as the method reads it: a field that came later has its default. None where the method knows it no more."""
        from workbench.methods import METHODS

        try:
            return METHODS[self.method].Config.model_validate(self.config)
        except ValidationError:
            return None


def own_num_samples(facts: DatasetFacts) -> int:
    """As many samples as training records, at most 10 000."""
    return min(facts.num_records, MOST_SAMPLES)


def sampling_stages(method: Method, facts: DatasetFacts) -> list[Stage]:
    """What `method` spends to draw a run's own samples as configured; nothing where that is post-processing."""
    from workbench.methods.base import protecting
    from workbench.models.sample_request import SampleRequest

    own = SampleRequest.part(facts, 0, own_num_samples(facts))
    return [stage for stage in protecting(facts, method.sampling_stages(facts, own)) if stage.spent != "free"]


def _check_shown(what: str, shown: PrivacyValue, proved: PrivacyValue) -> None:
    """Refuse a number that a plan shows and that is less, or said of something else, than what its releases come to."""
    named = ("status", "neighboring_relation", "delta")
    differs = [name for name in named if getattr(shown, name) != getattr(proved, name)]
    if shown.epsilon < proved.epsilon * (1 - ROUNDING) or differs:
        was, now = (
            ", ".join([f"epsilon {value.epsilon:.6g}", *(f"{getattr(value, name)}" for name in differs)]) for value in (shown, proved)
        )
        raise WorkbenchError(f"Expected a plan whose {what} is what its releases come to ({now}), got {was}. {STALE}")


def check_trainable(plan: Plan) -> None:
    """Refuse a plan that does not hold, and one without a finite bound unless it asks for the claim or the method claims nothing."""
    plan.check()
    if plan.target == "bound" and plan.claim_only:
        raise WorkbenchError(
            f"This configuration has no finite bound: {plan.bound.reason} Train it with the target 'claim' to rest on the paper's word."
        )
