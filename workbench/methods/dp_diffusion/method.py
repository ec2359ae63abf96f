"""DP-Diffusion (Ghalebikesabi et al. 2023): DP-SGD fine-tuning of a whole diffusion model that was trained on public images before.

A record's gradient is the mean over K draws of flip, crop, time step and noise, clipped once (augmentation multiplicity), and time
steps come from a mixture of uniform distributions. Both are inside the clipping and cost no privacy.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.base import CalibratedField, Preset, Reading
from workbench.methods.pretrained import SHAPES, GuidedDiffusion, Pretrained, PublicStart
from workbench.models.settings import check_model, default_network, pretraining_stages
from workbench.privacy.accounting.formulas import poisson_gaussian_rdp
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.training.dp_sgd import DPSGD
from workbench.training.switches import Switches


class TimestepMixture(BaseModel):
    """Intervals of time steps and how much of training each gets (Ghalebikesabi et al. 2023, section 3.2)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ends: tuple[float, ...] = Field(
        default=(0.03, 0.6, 1.0), min_length=1, description="Where each interval of time steps ends, as a share of all of them."
    )
    weights: tuple[float, ...] = Field(
        default=(0.015, 0.785, 0.2), min_length=1, description="Share of draws from each interval; all of them come to 1."
    )

    @model_validator(mode="after")
    def _is_a_distribution(self) -> Self:
        if len(self.weights) != len(self.ends):
            raise ValueError(f"Expected a weight for each of {len(self.ends)} intervals of time steps, got {len(self.weights)}.")
        if min(self.weights) < 0 or abs(sum(self.weights) - 1) > 1e-9:
            raise ValueError(f"Expected weights of at least 0 that come to 1, got {self.weights}.")
        if self.ends[-1] != 1 or any(end <= start for start, end in pairwise((0.0, *self.ends))):
            raise ValueError(f"Expected rising ends of intervals in (0, 1], the last of them 1, got {self.ends}.")
        return self

    def probabilities(self, timesteps: int) -> np.ndarray:
        """The probability of each time step 1..T, float64 (T,): weight w_i spread evenly over its interval (l_i, l_{i+1}].

        Refuses an interval that holds no time step.
        """
        bounds = [0, *(round(end * timesteps) for end in self.ends)]
        if any(end <= start for start, end in pairwise(bounds)):
            raise WorkbenchError(f"Expected a time step in every interval, but {self.ends} of {timesteps} time steps leave one empty.")
        lengths = np.diff(bounds)
        return np.repeat(np.array(self.weights) / lengths, lengths)


class FineTuning(DPSGD):
    """DP-SGD on all weights."""

    max_grad_norm: float = Field(default=1e-3, ge=1e-6, le=1e6, description="Clipping norm C of a record's gradient.")
    noise_multiplicity: int = Field(
        default=4,
        ge=1,
        description="Augmentation multiplicity K: draws of flip, crop, time step and noise in a gradient.",
    )


class Augmentation(BaseModel):
    """How a record is changed anew in each of its K draws."""

    switches: ClassVar[Switches] = {"crop": (0, 1)}

    model_config = ConfigDict(frozen=True, extra="forbid")

    flips: bool = Field(default=False, description="Mirror half of the draws left to right; not for images that read one way.")
    crop: int = Field(default=0, ge=0, le=32, description="Most pixels by which a draw is cropped; the edge is repeated on the other side.")


class AugmentedTuning(PublicStart):
    """DP-SGD on changed records, at time steps of a mixture, after whatever is public."""

    fine_tuning: FineTuning = FineTuning()
    augmentation: Augmentation = Augmentation()
    timestep_mixture: TimestepMixture = TimestepMixture()


class DPDiffusionConfig(GuidedDiffusion, AugmentedTuning):
    """Hyper-parameters of DP-Diffusion."""


FINE_TUNING = "fine-tuning"
REASON = (
    "A record's gradient is averaged over its K draws before it is clipped, so K costs nothing. "
    "The noisy sum is divided by the expected batch size, a constant."
)


FORMULA = "RDP of the Poisson-sampled Gaussian over all steps"
NOTATION = {"num_records": "", "fine_tuning.batch_size": "", "fine_tuning.noise_multiplier": "", "fine_tuning.steps": ""}
READINGS = {
    "dp-diffusion": Reading(
        "DP-Diffusion: DP-SGD fine-tuning with augmentation multiplicity and a time-step mixture", "published", FORMULA, NOTATION
    )
}


# Images of 28x28 and more.
LARGE: dict[str, Any] = {
    "pretraining.steps": 600,
    "pretraining.learning_rate": 6e-4,
    "fine_tuning.steps": 300,
    "fine_tuning.learning_rate": 6e-4,
    "fine_tuning.noise_multiplicity": 2,
    "ema_decay": 0.99,
}


def published(facts: DatasetFacts, noise_multiplier: float) -> dict[str, Any]:
    """150 epochs at a sampling rate of 1/15 with 128 draws a record; K, C and the mixture are the paper's."""
    return {
        "fine_tuning.noise_multiplier": noise_multiplier,
        "fine_tuning.batch_size": facts.num_records / 15,
        "fine_tuning.steps": 2250,
        "fine_tuning.noise_multiplicity": 128,
        "fine_tuning.max_grad_norm": 1e-3,
        "fine_tuning.learning_rate": 3e-4,
        "timestep_mixture.ends": (0.03, 0.6, 1.0),
        "timestep_mixture.weights": (0.015, 0.785, 0.2),
        "diffusion.prediction": "epsilon",
        "ema_decay": 0.9999,
    }


def published_preset(epsilon: float, noise_multiplier: float) -> Preset:
    """The setting that results at `epsilon` are compared at."""
    return Preset(
        f"The paper's clipping norm, multiplicity and time-step mixture in the protocol of DPImageBench (150 epochs of MNIST at a sampling "
        f"rate of 1/15), with the noise that claims epsilon {epsilon:g} at delta 1e-5: the paper does not print its own for these images.",
        partial(published, noise_multiplier=noise_multiplier),
        lambda _facts: 1e-5,
    )


PRESETS = Pretrained.presets | {"published": published_preset(10, 1.836), "published-1": published_preset(1, 12.851)}


class DPDiffusion(Pretrained[DPDiffusionConfig]):
    """Private fine-tuning of a whole public diffusion model, with augmentation multiplicity and a mixture of time steps."""

    name = "dp-diffusion"
    title = "DP-Diffusion"
    source = "Ghalebikesabi et al. 2023"
    Config = DPDiffusionConfig
    implementation = "workbench.methods.dp_diffusion.training"
    presets: ClassVar[dict[str, Preset]] = PRESETS
    readings: ClassVar[Mapping[str, Reading]] = READINGS
    shapes: ClassVar[tuple[str, ...] | None] = ("network", "fine_tuning.noise_multiplicity", *SHAPES)
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("fine_tuning.noise_multiplier"),)
    interruptible: ClassVar[tuple[str, ...]] = (FINE_TUNING,)

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """The U-Net of the image size, flips for colour images (photographs have no reading direction), sizes of minutes or hours."""
        large = facts.dimensions > 300
        return {
            "network": default_network(facts),
            "augmentation.flips": facts.shape[0] == 3,
            **(LARGE if large else {}),
            "fine_tuning.batch_size": min(1000 if large else 450, facts.num_records),
        }

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """Pre-training (free), then DP-SGD at all time steps."""
        check_model(self.config, facts)
        self.config.timestep_mixture.probabilities(self.config.diffusion.timesteps)
        return [*pretraining_stages(self.config, facts), self.config.fine_tuning.stage(FINE_TUNING, facts.num_records, REASON)]

    def claim_of_paper(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """The RDP of Poisson-sampled Gaussian steps, a bound."""
        return poisson_gaussian_rdp(**self.config.fine_tuning.terms(FINE_TUNING, facts.num_records), delta=delta, source=self.source)
