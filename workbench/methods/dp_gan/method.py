"""DP-GAN (Xie et al. 2018): a Wasserstein GAN whose critic sees records through noisy gradients, in the sound form of Bie et al. (2023).

The paper adds noise to gradients that it takes to be bounded, as weights are cut off, and counts the critic's steps between two of the
generator's. Bie et al. clip each record's gradient and count all of the critic's steps, of which many before each of the generator's are
what matters most. The paper trains one network for each digit; here one is told the class, where records have classes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal

from pydantic import Field

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError, check_delta
from workbench.methods.adversarial import AdversarialConfig, AdversarialMethod
from workbench.methods.base import Method, Preset, Reading
from workbench.models.adversarial.config import AdversarialLoss, CriticTraining
from workbench.models.settings import DP_SGD
from workbench.privacy.accounting.formulas import poisson_gaussian_rdp
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.training.dp_sgd import REASON
from workbench.training.private_steps import PrivateSteps

UNLIMITED = 1e3  # a clipping norm far above any gradient of a critic whose weights are cut off


class Training(CriticTraining):
    """The critic's noisy steps: clipped, or as the paper has them."""

    form: Literal["clipped", "printed", "coded"] = Field(
        default="clipped",
        description="Gradients clipped to C and all steps counted; the same claimed by the paper's formula, whose c_g is C; or as coded: "
        "not clipped, and the noise divided by the batch size once more, for study.",
    )

    def thresholds_at(self, step: int) -> tuple[float, ...]:
        """C; as coded, so much that nothing is clipped."""
        return (UNLIMITED,) if self.form == "coded" else super().thresholds_at(step)

    def private_steps(self, name: str, num_records: int) -> PrivateSteps:
        """Those of DP-SGD; as coded, with noise of C times the multiplier over B, which nothing bounds."""
        steps = super().private_steps(name, num_records)
        if self.form != "coded":
            return steps
        return replace(steps, dilution=self.batch_size * UNLIMITED / self.max_grad_norm, unproved=CODED)

    def stage(self, name: str, num_records: int, reason: str = REASON) -> Stage:
        """The stage; as coded, with the reason why nothing bounds it."""
        return super().stage(name, num_records, CODED if self.form == "coded" else reason)


class DPGANConfig(AdversarialConfig):
    """Hyper-parameters of DP-GAN; None stands for what calibration finds."""

    loss: AdversarialLoss = Field(default="wasserstein", description="What critic and generator make small.")
    weight_limit: float = Field(
        default=1e3, ge=1e-6, le=1e3, description="Where the critic's weights are cut off after each step; the largest cuts none."
    )
    training: Training = Training()  # pyright: ignore[reportIncompatibleVariableOverride]  # frozen


SOURCE, SOUND_SOURCE = "Xie et al. 2018 (DP-GAN)", "Bie, Kamath and Zhang 2023"
REFUTED = (
    "The formula counts the critic's steps before one step of the generator, and leaves out that more follow. Where a record's gradient is "
    "as long as c_g, which is assumed to bound it, the noise for 9.6 on MNIST costs 65.9 in these five steps and 296 in a thousand."
)
CODED = (
    "The published code clips no gradient, so that nothing bounds what a record moves, and divides the noise by the batch size once more. "
    "If c_g did bound it, one release with the noise for 9.6 would cost 178 418 where the batch is known."
)
FORMULA = "s_n = 2 q sqrt(n_d log(1/delta)) / epsilon, of the n_d critic steps before one generator step"
SOUND_FORMULA = "RDP of the Poisson-sampled Gaussian over T steps"
TERMS = {"num_records": "n", "training.batch_size": "B"}
NOTATION = TERMS | {"training.noise_multiplier": "B*s_n", "generator.critic_steps": "n_d"}
SOUND_NOTATION = TERMS | {"training.noise_multiplier": "sigma", "training.steps": "T"}
READINGS = {
    "dp-gan": Reading("DP-GAN as printed, gradients clipped to c_g, 1000 critic steps", "published", FORMULA, NOTATION),
    "dp-gan-coded": Reading("DP-GAN as coded", "published-coded", FORMULA, NOTATION),
    "dp-gan-many-steps": Reading("DP-GAN with clipping and 50 critic steps (Bie et al.)", "published-many", SOUND_FORMULA, SOUND_NOTATION),
}


def claimed_epsilon(noise_over_mean: float, sample_rate: float, critic_steps: int, delta: float) -> float:
    """2 q sqrt(n_d log(1/delta)) / s_n (Xie et al. 2018, Theorem 1); s_n is the noise on the batch's mean gradient, over c_g."""
    check_delta(delta)
    if noise_over_mean <= 0:
        raise WorkbenchError(f"Expected noise above 0, got {noise_over_mean}.")
    return 2.0 * sample_rate * math.sqrt(critic_steps * math.log(1.0 / delta)) / noise_over_mean


def published(facts: DatasetFacts, form: str) -> dict[str, Any]:
    """The settings of the paper on MNIST for 9.6 (s_n and epsilon change places), its networks by the nearest shapes of ours."""
    size = min(64.0, facts.num_records)
    return {
        "latent_size": 100,
        "hidden_size": 1_024,
        "channels": 128,
        "loss": "wasserstein",
        "weight_limit": 0.01 if form == "printed" else 0.02,
        "critic": {"blocks": 2, "width": 64, "hidden_size": 1_024},
        "training.form": form,
        "training.batch_size": size,
        "training.noise_multiplier": round(
            size * claimed_epsilon(9.6, size / facts.num_records, 5, 1e-5), 8
        ),  # s_n and epsilon change places
        "training.steps": 1_000,
        "training.max_grad_norm": 1.0,
        "training.optimizer": "rmsprop",
        "training.learning_rate": 5e-5,
        "generator": {"critic_steps": 5, "batch_size": 64, "learning_rate": 5e-5},
    }


def many_steps(facts: DatasetFacts) -> dict[str, Any]:
    """Bie et al.'s settings on MNIST, their networks by the nearest shapes of ours."""
    return {
        "latent_size": 100,
        "hidden_size": 1_024,
        "channels": 128,
        "loss": "bce",
        "critic": {"blocks": 2, "width": 128, "kernel_size": 5, "hidden_layers": 0},
        "training.batch_size": min(128.0, facts.num_records),
        "training.noise_multiplier": 1.0,
        "training.steps": 450_000,
        "training.max_grad_norm": 1.0,
        "training.learning_rate": 2e-4,
        "generator": {"critic_steps": 50, "batch_size": 128, "learning_rate": 2e-4},
    }


def fixed_delta(_facts: DatasetFacts) -> float:
    """The papers' delta."""
    return 1e-5


PRESETS = Method.presets | {
    "published": Preset(
        "The paper's noise for its epsilon 9.6 on MNIST, gradients clipped to the c_g that it assumes, for a thousand critic steps.",
        partial(published, form="printed"),
        fixed_delta,
    ),
    "published-coded": Preset(
        "The same as coded: nothing is clipped and the noise divided by the batch size once more, which no bound covers; for study.",
        partial(published, form="coded"),
        fixed_delta,
    ),
    "published-many": Preset(
        "Bie, Kamath and Zhang's settings on MNIST for epsilon 10: 50 critic steps before each of the generator's.", many_steps, fixed_delta
    ),
}


class DPGAN(AdversarialMethod[DPGANConfig]):
    """A critic that is trained by DP-SGD for many steps before each of the generator that follows it."""

    name = "dp-gan"
    title = "DP-GAN"
    source = "Xie et al. 2018; Bie et al. 2023"
    Config = DPGANConfig
    implementation = "workbench.methods.dp_gan.training"
    presets: ClassVar[dict[str, Preset]] = PRESETS
    readings: ClassVar[Mapping[str, Reading]] = READINGS
    config: DPGANConfig

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """Xie et al.'s formula of their forms, which their own composition refutes; else the RDP of all steps."""
        training = self.config.training
        terms = training.terms(DP_SGD, facts.num_records)
        if training.form == "clipped":
            return poisson_gaussian_rdp(**terms, delta=delta, source=SOUND_SOURCE)
        on_mean = terms["noise_multiplier"] / training.batch_size
        epsilon = claimed_epsilon(on_mean, terms["sample_rate"], self.config.generator.critic_steps, delta)
        reason = REFUTED if training.form == "printed" else CODED
        return PrivacyValue(epsilon=epsilon, delta=delta, status="refuted", reason=reason, source=SOURCE)
