"""P3DM (Xu et al. 2024): DPGEN's score model, steered by a private classifier towards an attribute drawn at random. For study.

Its epsilon is that of the randomised index, "a hyperparameter" as the paper says; its PAC noise comes from one model and bounds nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from workbench.datasets.base import DatasetFacts
from workbench.diffusion.langevin import LangevinConfig
from workbench.errors import WorkbenchError, choose
from workbench.methods.base import CalibratedField, Method, MethodConfig, Preset, Reading, Target
from workbench.methods.fields import with_values
from workbench.models.recovery import config as recovery
from workbench.models.recovery.claim import FORMULA, randomized_response
from workbench.models.recovery.config import Responses, ScoreTraining
from workbench.models.sample_request import SampleRequest
from workbench.networks import UNetConfig
from workbench.privacy.accounting.events import UnprovedDpEvent
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.training.dp_sgd import DPSGD
from workbench.training.ordinary import OrdinaryTraining
from workbench.training.state import State
from workbench.training.switches import Switches

if TYPE_CHECKING:
    from workbench.privacy.not_dp.pac import PacNoise


class ClassifierTraining(OrdinaryTraining):
    """Ordinary steps of the classifier on noised private records."""

    steps: int = Field(default=400, ge=1, description="Steps of the classifier on noised private records, without protection.")
    batch_size: int = Field(default=64, ge=1, description="Private records in a step of the classifier.")


class PrivateClassifying(DPSGD):
    """DP-SGD on the classifier."""

    noise_multiplier: float | None = Field(default=2.0, ge=1e-3, le=1e6, description="Its noise over its clipping norm.")
    batch_size: float = Field(default=200, ge=0.01, le=1e12, description="Expected Poisson batch; the sampling rate times num_records.")
    steps: int = Field(default=100, ge=1, description="DP-SGD steps of the classifier.")


class Guidance(BaseModel):
    """How the classifier enters the sampler."""

    switches: ClassVar[Switches] = {"scale": (0.0, 1.0)}

    model_config = ConfigDict(frozen=True, extra="forbid")

    form: Literal["paper", "code"] = Field(
        default="paper",
        description="paper: towards a value drawn at random, times the step's variance; code: away from the first value, unscaled.",
    )
    scale: float = Field(default=1.0, ge=0, le=1e3, description="Gradient scale k; 0 leaves the classifier out.")
    step: Literal["langevin", "reverse"] = Field(
        default="langevin", description="Langevin steps (Algorithm 1), or the guided reverse step of the process (section 3.2)."
    )


class P3DMConfig(MethodConfig):
    """Hyper-parameters of P3DM."""

    switches: ClassVar[Switches] = {"pac_samples": (0, 10)}

    attribute: str = Field(default="", description="The attribute that samples are steered by; empty: the classes.")
    responses: Responses = Responses()
    training: ScoreTraining = ScoreTraining()
    classifier: Literal["unprotected", "dp-sgd"] = Field(
        default="unprotected", description="How the classifier learns from private records: without protection, as printed, or by DP-SGD."
    )
    unprotected: ClassifierTraining = ClassifierTraining()
    private: PrivateClassifying = PrivateClassifying()
    guidance: Guidance = Guidance()
    pac_samples: int = Field(default=64, ge=0, le=10_000, description="Samples of the model that PAC noise is determined from; 0: none.")
    ema_decay: float = Field(default=0.99, ge=0, lt=1, description="Decay of the moving average that samples come from.")
    network: UNetConfig = UNetConfig()
    langevin: LangevinConfig = LangevinConfig()

    @property
    def is_guided(self) -> bool:
        """Whether a classifier steers."""
        return self.guidance.scale > 0


CLASSIFIER, GUIDANCE, DETERMINATION = "classifier", "guidance", "noise determination"
GUIDED = "A classifier trained on private records without protection steers every sample. Nothing bounds what they reveal."


def classifier_stage(config: P3DMConfig, facts: DatasetFacts) -> Stage:
    """The classifier's training: by DP-SGD, or bounded by nothing, as every sample shows it."""
    if config.classifier == "dp-sgd":
        return config.private.stage(CLASSIFIER, facts.num_records)
    unprotected = config.unprotected
    return Stage(CLASSIFIER, UnprovedDpEvent(GUIDED), "per_step", unprotected.steps, sampling="uniform batches", rows=unprotected.rows)


def values(config: P3DMConfig, facts: DatasetFacts) -> tuple[str, ...]:
    """The names that the classifier tells apart: an attribute's values, else the classes."""
    return facts.attributes[config.attribute] if config.attribute else facts.classes or ("",)


def published(facts: DatasetFacts) -> dict[str, Any]:
    """The published code's levels and steps for faces of 64x64, candidates by nearest neighbours as the paper has them.

    Where there is no smile the dataset's own attribute, or its classes, steers.
    """
    return {
        "responses.epsilon": 10.0,
        "responses.num_candidates": 64,
        "responses.candidates": "neighbours",
        "responses.conditional": False,
        **({"attribute": "smile"} if "smile" in facts.attributes else {}),
        "langevin.largest": 90.0,
        "langevin.smallest": 0.01,
        "langevin.levels": 500,
        "langevin.steps_per_level": 5,
        "langevin.step_share": 0.033,
    }


PRESETS = Method.presets | {
    "published": Preset("Epsilon 10, steered by the smile, with the published noise levels of 64x64 faces; no labels.", published)
}


SHAPES = ("network", "classifier", "private.noise_multiplicity")


class P3DM(Method):
    """DPGEN's score model with a classifier of noised private records that steers Langevin sampling."""

    name = "p3dm"
    title = "P3DM"
    source = "Xu et al. 2024, sections 3.2 and 4"
    Config = P3DMConfig
    implementation = "workbench.methods.p3dm.training"
    presets: ClassVar[dict[str, Preset]] = PRESETS
    readings: ClassVar[Mapping[str, Reading]] = {
        "p3dm": Reading(
            "P3DM", "published", f"{FORMULA}; PAC privacy beside it: MI(X; M(X) + B) <= v + beta", {"responses.epsilon": "eps"}, "celeba"
        )
    }
    released: ClassVar[tuple[str, ...]] = ("ema",)
    kept_private: ClassVar[tuple[str, ...]] = (CLASSIFIER,)
    sampling_fields: ClassVar[tuple[str, ...]] = ("guidance.scale", "guidance.step", "langevin.steps_per_level", "langevin.step_share")
    shapes: ClassVar[tuple[str, ...] | None] = SHAPES
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("responses.epsilon", high=1e3, increasing=True),)
    targets: ClassVar[frozenset[Target]] = frozenset({"claim"})
    config: P3DMConfig

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """What DPGEN has; steered by the first attribute where there is one and no class."""
        unlabelled = not facts.classes and facts.attributes
        few = min(200, facts.num_records)
        return recovery.defaults(facts) | {"private.batch_size": few, **({"attribute": next(iter(facts.attributes))} if unlabelled else {})}

    @classmethod
    def calibrated(cls, config: MethodConfig, facts: DatasetFacts, epsilon: float, delta: float, target: Target) -> Self:
        """The randomised response that claims `epsilon`; no bound can be met."""
        if target == "bound":
            raise WorkbenchError(f"No setting bounds this run. {recovery.REASON} Use the target 'claim'.")
        return cls(with_values(config, {"responses.epsilon": epsilon}))

    @property
    def guiding_attribute(self) -> str:
        """The attribute that samples are steered by; empty where it is their class."""
        return self.config.attribute

    @property
    def private_guides(self) -> tuple[str, ...]:
        """The classifier."""
        return (CLASSIFIER,)

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """The triples, the score network that learns from them, the classifier, and the noise determination, which is no bound."""
        self.config.network.check_patches(*facts.shape[1:])
        if self.config.attribute:
            choose(self.config.attribute, facts.attributes, f"attribute of {facts.name}")
        elif self.config.is_guided and not facts.classes:
            known = ", ".join(facts.attributes) or "none there is"
            raise WorkbenchError(f"Expected an attribute to steer by, as {facts.name} has no classes. Choose one of: {known}.")
        stages = recovery.stages(self.config)
        if self.config.is_guided:
            stages.append(classifier_stage(self.config, facts))
        return [*stages, Stage(DETERMINATION, None, "free")] if self.config.pac_samples else stages

    def sampling_stages(self, facts: DatasetFacts, request: SampleRequest) -> list[Stage]:
        """Each request asks the private classifier again; one that DP-SGD trained may be asked for nothing."""
        if not self.config.is_guided or self.config.classifier == "dp-sgd":
            return []
        return [Stage(GUIDANCE, UnprovedDpEvent(GUIDED), "once", reason=GUIDED)]

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """The randomised response's epsilon, in the paper's words a hyperparameter."""
        return randomized_response(epsilon=self.config.responses.epsilon, delta=delta, source=self.source)

    def pac_noise(self, state: State, request: SampleRequest) -> PacNoise:
        """Algorithm 3 on samples of the one model that there is, which bounds nothing; the labels say so."""
        return self.implemented.pac_noise(self.config, state, request)

    def claimed_stages(self, facts: DatasetFacts) -> list[Stage]:
        """The randomised response of an index, once."""
        return recovery.claimed_stages(self.config)
