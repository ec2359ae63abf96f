"""Hyper-parameters of P3DM."""

from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from workbench.diffusion.langevin import LangevinConfig
from workbench.methods.base import MethodConfig
from workbench.models.recovery.config import Responses, ScoreTraining
from workbench.networks import UNetConfig
from workbench.training.dp_sgd import DPSGD
from workbench.training.ordinary import OrdinaryTraining
from workbench.training.switches import Switches


class Classifying(OrdinaryTraining):
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
    unprotected: Classifying = Classifying()
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
