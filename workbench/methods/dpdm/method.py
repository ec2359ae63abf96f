"""DPDM (Dockhorn et al. 2023): a diffusion model in EDM's form, trained by DP-SGD with many noise samples a record."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from pydantic import Field

from workbench.datasets.base import DatasetFacts
from workbench.diffusion.edm import EDMConfig, EDMSamplerConfig
from workbench.methods.base import Preset, Reading
from workbench.methods.pretrained import FineTuned, GuidedModel, Pretrained, TunedStart
from workbench.models.settings import DP_SGD, default_network
from workbench.privacy.accounting.formulas import poisson_gaussian_rdp
from workbench.privacy.accounting.values import PrivacyValue
from workbench.training.dp_sgd import DPSGD
from workbench.training.ordinary import PublicTraining


class Pretraining(PublicTraining):
    """Ordinary training on public images; the paper has none."""

    dataset: str = Field(default="", description="Public images for pre-training; empty (in a form: none) for none, as in the paper.")


class Training(DPSGD):
    """DP-SGD on all noise levels."""

    max_grad_norm: float = Field(default=0.01, ge=1e-6, le=1e6, description="Clipping norm C of a record's gradient.")
    noise_multiplicity: int = Field(default=4, ge=1, description="Noise samples K, each at its own level, that a loss is averaged over.")


class DPDMConfig(GuidedModel, TunedStart):
    """Hyper-parameters of DPDM; None stands for what calibration finds."""

    pretraining: Pretraining = Pretraining()  # pyright: ignore[reportIncompatibleVariableOverride]  # frozen
    training: Training = Training()  # pyright: ignore[reportIncompatibleVariableOverride]  # frozen
    label_dropout: float = Field(default=0.1, ge=0, le=1, description="Share of records trained without their label, in all K samples.")
    ema_decay: float = Field(default=0.95, ge=0, lt=1, description="Decay of the moving average that samples come from.")
    diffusion: EDMConfig = EDMConfig()
    sampler: EDMSamplerConfig = EDMSamplerConfig()


SOURCE = "Dockhorn et al. 2023 (DPDM)"
FORMULA = "RDP of the Poisson-sampled Gaussian over all steps: rate m/n, noise multiplier sigma, N steps"
NOTATION = {"num_records": "n", "training.batch_size": "m", "training.noise_multiplier": "sigma", "training.steps": "N"}
READINGS = {"dpdm": Reading("DPDM: DP-SGD on a diffusion model", "published", FORMULA, NOTATION)}


def claimed(*, noise_multiplier: float, sample_rate: float, steps: int, delta: float) -> PrivacyValue:
    """Epsilon of `steps` Poisson batches at `sample_rate` by RDP, an upper bound; K noise samples a record cost nothing."""
    return poisson_gaussian_rdp(noise_multiplier=noise_multiplier, sample_rate=sample_rate, steps=steps, delta=delta, source=SOURCE)


SMALL: dict[str, Any] = {"training.steps": 150, "training.batch_size": 300}  # 8x8 and the like, on two cores in minutes
LARGE: dict[str, Any] = {  # 28x28 and more, in some two hours
    "training.steps": 300,
    "training.batch_size": 1000,
    "training.noise_multiplicity": 1,
    "training.learning_rate": 6e-4,
    "pretraining.steps": 600,
    "pretraining.learning_rate": 6e-4,
    "ema_decay": 0.99,
}
# After public pre-training: fewer steps of more records each.
SMALL_PUBLIC: dict[str, Any] = {"training.steps": 60, "training.batch_size": 450, "training.noise_multiplicity": 2, "ema_decay": 0.9}
# Calibrated by RDP to the published epsilons at the rate 1/15 and 4 500 steps; infinity clips, with next to no noise.
NOISE_MULTIPLIERS = {10: 2.487, 5: 4.342, 1: 18.13, 0.2: 80.19, math.inf: 1e-3}
ENDINGS = {"": 10, "-5": 5, "-1": 1, "-0.2": 0.2, "-infinity": math.inf}
NUM_RECORDS, BATCH_SIZE, EPOCHS = 60_000, 4096, 300

DISTANCE: dict[str, Any] = {  # 1000 steps with fresh noise; S_noise is EDM's
    "name": "heun",
    "num_inference_steps": 1000,
    "churn": 100.0,
    "churn_sigma_min": 0.05,
    "churn_sigma_max": 50.0,
    "clip_x_start": False,
}
ACCURACY: dict[str, Any] = {"name": "ddim", "num_inference_steps": 50, "clip_x_start": False}
PUBLIC: dict[str, Any] = {"pretraining.dataset": "glyphs"}


def public(facts: DatasetFacts) -> dict[str, Any]:
    """Public pre-training first; small images then need fewer steps of DP-SGD."""
    return PUBLIC | with_fitting_batch({} if facts.dimensions > 300 else SMALL_PUBLIC, facts)


def with_fitting_batch(values: dict[str, Any], facts: DatasetFacts) -> dict[str, Any]:
    """`values` with no batch above the records."""
    name = "training.batch_size"
    return values | ({name: min(values[name], facts.num_records)} if name in values else {})


def published(facts: DatasetFacts, epsilon: float, sampler: Mapping[str, Any], public: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """MNIST's settings: 300 epochs of ceil(n/4096) batches each, at the rate 1/ceil(n/4096), with K = 32."""
    batches = math.ceil(facts.num_records / BATCH_SIZE)
    return {
        "training.noise_multiplier": NOISE_MULTIPLIERS[epsilon],
        "training.batch_size": facts.num_records / batches,
        "training.steps": EPOCHS * batches,
        "training.max_grad_norm": 1.0,
        "training.noise_multiplicity": 32,
        "training.learning_rate": 3e-4,
        "training.schedule": "constant",
        "label_dropout": 0.1,
        "ema_decay": 0.999,
        "diffusion": {"sigma_data": math.sqrt(1 / 3), "log_sigma_mean": -1.2, "log_sigma_std": 1.2, "embedding_scale": 1.0},
        "sampler": dict(sampler),
        **(public or {}),
    }


def delta(_facts: DatasetFacts) -> float:
    """The paper's."""
    return 1e-5


def note(facts: DatasetFacts) -> str:
    """Which published settings a dataset gets, if that needs saying."""
    if (facts.num_records, facts.shape) == (NUM_RECORDS, (1, 28, 28)):
        return ""
    return f"Settings of MNIST and Fashion-MNIST ({NUM_RECORDS} records of 28x28 grey pixels), with this dataset's own network."


def published_preset(epsilon: float, title: str, sampler: Mapping[str, Any], public: Mapping[str, Any] | None = None) -> Preset:
    """The paper's settings for a claim of `epsilon`."""
    values = partial(published, epsilon=epsilon, sampler=sampler, public=public)
    return Preset(f"The paper's settings on MNIST for epsilon {epsilon:g}, {title}", values, delta, note)


TUNED: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "": ("samples drawn for a small distance: Heun's method in 1000 steps with fresh noise.", DISTANCE, {}),
    "-accuracy": ("samples drawn for accuracy, by our reading: DDIM in 50 steps without fresh noise.", ACCURACY, {}),
    "-public": (
        "after public pre-training, as dp-promise compares with it (DPDM (Pub)).",
        DISTANCE,
        PUBLIC | {"pretraining.steps": 50 * 60_000 // 128, "pretraining.learning_rate": 2e-4, "pretraining.schedule": "constant"},
    ),
}
PRESETS = Pretrained.presets | {
    "public": Preset("Public pre-training before DP-SGD, in settings that suit the dataset's size and shape.", public),
    **{
        f"published{suffix}{ending}": published_preset(epsilon, *tuned)
        for suffix, tuned in TUNED.items()
        for ending, epsilon in ENDINGS.items()
    },
}


class DPDM(FineTuned[DPDMConfig]):
    """DP-SGD on EDM's denoiser at log-normal noise levels, with noise multiplicity."""

    name = "dpdm"
    title = "DPDM"
    source = "Dockhorn et al. 2023, Algorithm 1"
    Config = DPDMConfig
    implementation = "workbench.methods.dpdm.training"
    presets: ClassVar[dict[str, Preset]] = PRESETS
    readings: ClassVar[Mapping[str, Reading]] = READINGS

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """The U-Net of the image size, and sizes that a laptop trains in minutes (8x8) or about two hours (28x28)."""
        return {"network": default_network(facts), **with_fitting_batch(LARGE if facts.dimensions > 300 else SMALL, facts)}

    def claim_of_paper(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """The RDP of all steps."""
        return claimed(**self.config.training.terms(DP_SGD, facts.num_records), delta=delta)
