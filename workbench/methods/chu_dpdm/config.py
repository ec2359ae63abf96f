"""Hyper-parameters of Chu et al.'s DPDM."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from workbench.diffusion import DiffusionConfig, SamplerConfig
from workbench.errors import WorkbenchError
from workbench.methods.base import MethodConfig
from workbench.methods.chu_dpdm.learning_rates import LearningRateDecay
from workbench.networks import UNetConfig
from workbench.training.dp_sgd import DPSGD


class Training(DPSGD):
    """Noisy steps on clipped gradients; None of `steps` stands for what planning finds."""

    clipping: Literal["record", "batch"] = Field(
        default="record", description="What is clipped: each record's gradient (the proof), or the batch's (Algorithm 1; a useless bound)."
    )
    threshold: Literal["public", "private"] = Field(
        default="public",
        description="Whose mean gradient norm is the threshold: a public batch's (text) or the private one's (no bound).",
    )
    groups: Literal["all", "weights and biases", "layers"] = Field(
        default="all", description="Which parameters share a threshold: all, the weights and the biases apart, or those of each layer."
    )
    max_grad_norm: float = Field(default=1.0, ge=1e-6, le=1e6, description="Clipping norm, in units of the threshold.")
    steps: int | None = Field(  # pyright: ignore[reportIncompatibleVariableOverride]  # None only before a plan is made
        default=150, ge=1, description="Noisy steps; empty plans the most whose bound (or claim) meets epsilon with the noise given."
    )

    def known_steps(self) -> int:
        """The steps; refused while there are none."""
        if self.steps is None:
            raise WorkbenchError("Expected steps of training, got none: give them, or an epsilon and a noise multiplier to plan them by.")
        return self.steps


class PublicBatches(BaseModel):
    """The public images that thresholds come from; they are used for nothing else."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    dataset: str = Field(default="glyphs", min_length=1, description="Public images whose gradients set the threshold.")
    records: int = Field(default=2_000, ge=1, description="Public images used.")
    batch_size: int = Field(default=16, ge=1, description="Public images in the batch of a step.")


class ChuDPDMConfig(MethodConfig):
    """Hyper-parameters of Chu et al.'s DPDM."""

    training: Training = Training()
    decay: LearningRateDecay = LearningRateDecay()
    public: PublicBatches = PublicBatches()
    least_threshold: float = Field(default=1e-3, ge=1e-6, le=1e6, description="Floor of every threshold, so that the noise never vanishes.")
    vlb_weight: float = Field(default=1e-3, ge=0, le=1e6, description="Weight lambda of the variational bound in the hybrid loss.")
    ema_decay: float = Field(default=0.99, ge=0, lt=1, description="Decay of the moving average that samples come from.")
    network: UNetConfig = UNetConfig()
    diffusion: DiffusionConfig = DiffusionConfig(schedule="cosine", prediction="v")
    sampler: SamplerConfig = SamplerConfig(name="ddpm")

    @property
    def is_proved(self) -> bool:
        """Whether this is the mechanism that the paper's proof is about: clipped by record, at a public threshold."""
        return self.training.clipping == "record" and self.training.threshold == "public"
