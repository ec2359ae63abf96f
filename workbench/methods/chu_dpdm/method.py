"""DPDM after Chu et al. 2023: a diffusion model with learned variances, trained by DP-SGD under an adaptive clipping threshold.

The paper states its mechanism twice, and not alike: Algorithm 1 clips the gradient of a batch at a threshold of the private batch,
the text and the proof clip every record's gradient at a threshold of a public batch. Both are settings; only the second has a
useful bound, and it is the default.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from dp_accounting import dp_event
from pydantic import BaseModel, ConfigDict, Field

from workbench.datasets.base import DatasetFacts
from workbench.diffusion import DiffusionConfig, SamplerConfig
from workbench.errors import WorkbenchError, check_delta
from workbench.methods.base import CalibratedField, Method, MethodConfig, Preset, Reading
from workbench.models.sample_request import Source
from workbench.models.settings import check_model, default_network
from workbench.networks import UNetConfig
from workbench.privacy.accounting.formulas import inverse_square
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import Records
from workbench.training.dp_sgd import DPSGD
from workbench.training.ordinary import check_batch_size
from workbench.training.private_steps import FixedBatches, PrivateSteps
from workbench.training.state import State

if TYPE_CHECKING:
    from workbench.models.denoising import Denoiser


Decay = Literal["none", "linear", "exponential", "logarithmic"]


class LearningRateDecay(BaseModel):
    """How the learning rate falls from epoch to epoch."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Decay = Field(default="none", description="none, linear lr'/(1+dr e), exponential lr0 dr^e, or logarithmic lr'/(1+dr ln e).")
    rate: float = Field(
        default=0.3, ge=1e-9, le=1, description="Decay rate dr; the paper's are .3 (linear), .99 (exponential), .002 (log)."
    )
    printed_logarithm: bool = Field(
        default=False, description="The logarithmic form as printed, lr'/(1+ln e), which has no decay rate although the table gives one."
    )

    def factor(self, epoch: int) -> float:
        """The learning rate of `epoch` 0, 1, .. over the first one's; lr' in the formulas is the rate of the epoch before."""
        if self.kind == "none":
            return 1.0
        if self.kind == "exponential":
            return self.rate**epoch
        return math.prod(1 / (1 + self._growth(passed)) for passed in range(1, epoch + 1))

    def _growth(self, epoch: int) -> float:
        if self.kind == "linear":
            return self.rate * epoch
        return (1.0 if self.printed_logarithm else self.rate) * math.log(epoch)


TRAINING = "training"
THRESHOLD_OF_THE_BATCH = (
    "Line 5 of the algorithm takes the clipping threshold from the private batch, so the scale of the noise depends on the records. "
    "Nothing bounds what that scale tells."
)
PER_RECORD = (
    "Clipping per record, as the paper's proof has it, with Poisson batches is a Poisson-sampled Gaussian. "
    "The threshold comes from a public batch and costs nothing."
)
BATCH = (
    "One record can turn the clipped mean of a batch by 2 C against noise C sigma/m, a multiplier of sigma/(2m). "
    "The bound is true and useless."
)


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

    def private_steps(self, name: str, num_records: int) -> PrivateSteps:
        """Per record, the DP-SGD of the proof; as printed, noise C sigma/m on the clipped mean of m records, which one turns by 2 C."""
        self.known_steps()
        unproved = THRESHOLD_OF_THE_BATCH if self.threshold == "private" else ""
        if self.clipping == "record":
            return replace(super().private_steps(name, num_records), unproved=unproved)
        check_batch_size(name, self.batch_size, num_records)
        size = round(self.batch_size)
        steps, noise_multiplier, batches = self.known_steps(), self.known_noise_multiplier(name), FixedBatches(size)
        printed = PrivateSteps(name, steps, batches, noise_multiplier, divisor=1.0, clipped="batch", distance=2.0, dilution=float(size))
        return replace(printed, unproved=unproved)


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


SOURCE = "Chu et al. 2023 (DPDM), Algorithm 1 and section IV.C"
FORMULA = "min over a of T a/(2 sigma^2) + log(1/delta)/(a - 1)"
NOTATION = {"training.noise_multiplier": "sigma", "training.steps": "T"}
READINGS = {
    "chu-dpdm": Reading("Chu et al. with gradients clipped per record and Poisson batches", "published", FORMULA, NOTATION),
    "chu-dpdm-printed": Reading(
        "Chu et al. with the threshold from the private batch, as line 5 of Algorithm 1 has it", "printed-threshold", FORMULA, NOTATION
    ),
    "chu-dpdm-batch": Reading(
        "Chu et al. with the batch's gradient clipped, as Algorithm 1 has it, and a public threshold",
        "printed-clipping",
        FORMULA,
        NOTATION,
    ),
}
BATCH_CLIPPED = "The algorithm clips the mean gradient of a batch, the proof each record's. The claim is the proof's."
PRIVATE_THRESHOLD = "The algorithm's threshold comes from the private batch, which the proof leaves out. The claim is the proof's."


def claimed(*, noise_multiplier: float, steps: int, delta: float, unproved: str = "") -> PrivacyValue:
    """(a, a/(2 sigma^2))-RDP a step over T steps, no amplification, and log(1/delta)/(a-1) to convert.

    The best order is 1 + sigma sqrt(2 log(1/delta)/T), which gives T/(2 sigma^2) + sqrt(2 T log(1/delta))/sigma. A bound
    where gradients are clipped by record at a public threshold, as in the paper's proof; else `unproved` says why it is none.
    """
    check_delta(delta)
    square = steps * inverse_square(noise_multiplier)
    return PrivacyValue(
        epsilon=square / 2 + math.sqrt(2 * square * math.log(1 / delta)),
        delta=delta,
        status="not_proved" if unproved else "proved",
        accountant="RDP",
        neighboring_relation="ADD_OR_REMOVE_ONE",
        sampling="none claimed",
        reason=unproved,
        source=SOURCE,
    )


ITERATIONS, BATCH_SIZE, NOISE_MULTIPLIER = 100, 64, 174.0  # the noise claims epsilon 9.995 after 100 epochs of MNIST
PAPER = "The paper's batch, learning rate and process (section V.A), and noise that claims epsilon 9.995 after 100 epochs of MNIST"
Values = Callable[[DatasetFacts], dict[str, Any]]
# Large batches, because the noise is shared by all that is in one.
SMALL: dict[str, Any] = {"training.batch_size": 300, "training.noise_multiplicity": 2, "ema_decay": 0.95}  # 8x8, in two minutes
LARGE: dict[str, Any] = {"training.batch_size": 1000, "training.learning_rate": 6e-4}  # 28x28 and more


def published(facts: DatasetFacts, steps_an_iteration: int = 0, **training: str) -> dict[str, Any]:
    """100 epochs of batches of 64, or 100 iterations of `steps_an_iteration` steps each; `training` names the reading."""
    batch_size = min(BATCH_SIZE, facts.num_records)
    return {
        "training.noise_multiplier": NOISE_MULTIPLIER,
        "training.batch_size": batch_size,
        "training.steps": ITERATIONS * (steps_an_iteration or math.ceil(facts.num_records / batch_size)),
        "training.noise_multiplicity": 1,
        "training.learning_rate": 1e-3,
        "decay.kind": "logarithmic",
        "decay.rate": 0.002,
        "diffusion.schedule": "cosine",
        "diffusion.timesteps": 1000,
        "diffusion.prediction": "epsilon",
        "sampler.num_inference_steps": 1000,
        "ema_decay": 0.9999,
        **{f"training.{name}": value for name, value in training.items()},
    }


def preset(description: str, values: Values) -> Preset:
    """A preset at the paper's delta."""
    return Preset(description, values, lambda _facts: 1e-5)


PRESETS = Method.presets | {
    "published": preset(f"{PAPER}; clipped by record at a public threshold.", published),
    "published-steps": preset(
        f"{PAPER}, with '100 iterations' read as steps in place of epochs.", partial(published, steps_an_iteration=1)
    ),
    "printed-threshold": preset(
        f"{PAPER}; the private batch's threshold, as line 5 of Algorithm 1 has it: no bound.",
        partial(published, threshold="private"),
    ),
    "printed-clipping": preset(
        f"{PAPER}; the batch's gradient clipped, as line 6 of Algorithm 1 has it: a useless bound.", partial(published, clipping="batch")
    ),
    "printed": preset(
        f"{PAPER}; threshold and clipping as Algorithm 1 prints them: no bound.", partial(published, threshold="private", clipping="batch")
    ),
}


class ChuDPDM(Method):
    """A model with learned variances from scratch, under a clipping threshold that public batches set anew at every step."""

    name = "chu-dpdm"
    title = "DPDM (Chu et al.)"
    source = "Chu et al. 2023, Algorithm 1"
    Config = ChuDPDMConfig
    implementation = "workbench.methods.chu_dpdm.training"
    presets: ClassVar[dict[str, Preset]] = PRESETS
    readings: ClassVar[Mapping[str, Reading]] = READINGS
    released: ClassVar[tuple[str, ...]] = ("ema",)
    interruptible: ClassVar[tuple[str, ...]] = (TRAINING,)
    sampling_fields: ClassVar[tuple[str, ...]] = ("sampler",)
    shapes: ClassVar[tuple[str, ...] | None] = (
        "network",
        "training.noise_multiplicity",
        "training.clipping",
        "training.threshold",
        "training.groups",
    )
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (
        CalibratedField("training.noise_multiplier"),
        CalibratedField("training.steps", low=1, high=10**7, increasing=True, whole=True),
    )
    config: ChuDPDMConfig

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """The U-Net of the image size and sizes that a laptop trains, with no batch above the records."""
        values = LARGE if facts.dimensions > 300 else SMALL
        fitting = {"training.batch_size": min(values["training.batch_size"], facts.num_records)}
        return {"network": default_network(facts), **values, **fitting}

    @property
    def public_dataset(self) -> str | None:
        """The dataset whose gradients set the threshold, or None."""
        return self.config.public.dataset if self.config.training.threshold == "public" else None

    @property
    def public_records(self) -> int | None:
        """How many of its records are used."""
        return self.config.public.records

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """The noisy steps: a Poisson-sampled Gaussian, a Gaussian of little noise, or a release that nothing bounds."""
        check_model(self.config, facts)
        training = self.config.training
        reason = THRESHOLD_OF_THE_BATCH if training.threshold == "private" else BATCH if training.clipping == "batch" else PER_RECORD
        return [training.stage(TRAINING, facts.num_records, reason)]

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """The paper's RDP of all steps, without amplification; a bound where its proof is about the mechanism that runs."""
        training = self.config.training
        why = BATCH_CLIPPED if training.clipping == "batch" else PRIVATE_THRESHOLD
        return claimed(
            noise_multiplier=training.known_noise_multiplier(TRAINING),
            steps=training.known_steps(),
            delta=delta,
            unproved="" if self.config.is_proved else why,
        )

    def claimed_stages(self, facts: DatasetFacts) -> list[Stage]:
        """Gaussian steps on all records, as the paper's proof counts them."""
        training = self.config.training
        event = dp_event.GaussianDpEvent(training.known_noise_multiplier(TRAINING))
        return [Stage(TRAINING, event, "per_step", training.known_steps(), sampling="none claimed")]

    def bits_per_dimension(self, state: State, data: Records, seed: int = 0) -> np.ndarray:
        """L_vlb of every record under the moving average of the weights, in bits per dimension (N,)."""
        return self.implemented.bits_per_dimension(self.config, state, data, seed)

    def denoiser(self, state: State, source: Source = "model") -> Denoiser:
        """The moving average of the weights."""
        return self.implemented.denoiser(self.config, state, source)
