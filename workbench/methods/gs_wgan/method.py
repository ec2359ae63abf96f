"""GS-WGAN (Chen, Orekondy and Fritz 2020): a generator that learns by noisy gradients of its images, from one of many critics a step.

Each critic learns from a part of the records of its own, without any noise: it is never released. In a step of the generator one critic
is drawn; its gradient with respect to each generated image is clipped, gets noise, and goes on through the generator. Here the critics
learn by a public schedule and the draw is secret, so that a record is behind a step with a chance of one in as many as there are parts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field
from scipy.special import gammaln

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.base import CalibratedField, Method, MethodConfig, Preset, Reading
from workbench.networks import CriticConfig
from workbench.privacy.accounting.events import DrawnPartGaussianDpEvent
from workbench.privacy.accounting.formulas import OLDER_ORDERS
from workbench.privacy.accounting.stages import Stage, quiet_stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.training.ordinary import SCHEDULES, Schedule
from workbench.training.parts import check_parts
from workbench.training.switches import Switches


class Generator(BaseModel):
    """Dense layers from a normal input and a class to an image, normalised within each row."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    latent_size: int = Field(default=10, ge=1, le=10_000, description="Inputs of the generator beside the class.")
    hidden_layers: int = Field(default=1, ge=1, le=10, description="Hidden layers of the generator.")
    hidden_size: int = Field(default=64, ge=1, le=10_000, description="Units of each.")


class Critics(BaseModel):
    """The discriminators, one a part of the records; they learn as in WGAN-GP (Gulrajani et al. 2017), and none is released."""

    switches: ClassVar[Switches] = {"warm_up": (0, 1)}

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    parts: int = Field(default=15, ge=1, le=100_000, description="Disjoint parts K of the records, each with a critic of its own.")
    network: CriticConfig = CriticConfig(blocks=0, hidden_layers=2, hidden_size=64, label="projected")
    turns: int = Field(
        default=3,
        ge=1,
        le=100_000,
        description="Critics that learn before each step of the generator, all in turn; without effect where the one drawn is trained.",
    )
    updates: int = Field(default=5, ge=1, le=10_000, description="Steps of such a critic.")
    warm_up: int = Field(
        default=0,
        ge=0,
        le=100_000,
        description="Steps of a throw-away generator, each after the critic's own, that every critic begins with; 0 leaves that out.",
    )
    batch_size: int = Field(default=20, ge=1, le=1_000_000, description="Records of its part, and generated images, in a critic's step.")
    penalty: float = Field(default=10.0, ge=1e-6, le=1e6, description="Weight of the squared distance of gradients' norms from 1.")
    learning_rate: float = Field(default=1e-3, ge=1e-9, le=1e3, description="Adam's learning rate of the critics.")

    @property
    def rows(self) -> float:
        """Records and generated images that the critics of one step look at."""
        return 2 * min(self.turns, self.parts) * self.updates * self.batch_size


class Release(BaseModel):
    """The generator's steps: noisy gradients of generated images."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    noise_multiplier: float | None = Field(
        default=None,
        ge=1e-3,
        le=1e6,
        description="Noise over 2 C, the farthest that two clipped gradients of one image are apart; empty calibrates it.",
    )
    max_grad_norm: float = Field(default=1.0, ge=1e-6, le=1e6, description="Clipping norm C of the gradient of each image.")
    batch_size: int = Field(default=8, ge=1, le=100_000, description="Generated images B in a step.")
    steps: int = Field(default=300, ge=1, le=10**9, description="Steps of the generator.")
    drawn: Literal["secret", "trained"] = Field(
        default="secret",
        description="Which critic a step asks: one drawn in secret while the critics learn by a public schedule, or, as published, the one "
        "that was drawn to learn, which later steps tell of.",
    )
    learning_rate: float = Field(default=1e-3, ge=1e-9, le=1e3, description="Adam's learning rate of the generator.")
    schedule: Schedule = Field(default="cosine", description="How that learning rate falls over the steps.")
    ema_decay: float = Field(default=0.99, ge=0, le=1, description="Decay of the moving average of the generator that samples come from.")

    def known_noise_multiplier(self) -> float:
        """The noise over 2 C; refused while there is none."""
        if self.noise_multiplier is None:
            raise WorkbenchError("Expected a noise_multiplier of the gradients, got none: give one, or an epsilon to calibrate it to.")
        return self.noise_multiplier

    def learning_rate_at(self, step: int) -> float:
        """The learning rate of step 1..steps."""
        return self.learning_rate * SCHEDULES[self.schedule]((step - 1) / self.steps)


class GSWGANConfig(MethodConfig):
    """Hyper-parameters of GS-WGAN; None stands for what calibration finds."""

    critics: Critics = Critics()
    generator: Generator = Generator()
    release: Release = Release()

    def of_size(self, rows: float, least: int) -> Self:
        """With so many images in a step of the generator, and records in one of all the critics that learn before it."""
        beside = max(1, round(rows / (self.critics.rows / self.critics.batch_size)))
        few = {"batch_size": beside, "parts": min(self.critics.parts, max(least, round(rows)))}
        release = self.release.model_copy(update={"batch_size": max(1, round(rows))})
        return self.model_copy(update={"critics": self.critics.model_copy(update=few), "release": release})


WARM_UP, CRITICS, GRADIENTS = "warm-up of the critics", "critics", "image gradients"
GENERATOR, AVERAGE = "generator", "ema"
QUIET = (
    "Every critic looks at its own part of the records and at generated images, and nothing follows from it but the gradients of a critic "
    "that is drawn, which get noise and are paid for."
)
SECRET = (
    "The B clipped gradients of a step are one release, which any two critics move by at most 2 C sqrt(B). A record is in one part, and "
    "the critics learn by a public schedule, so only a secret draw of one in K brings its critic in (docs/proofs.md, section 12)."
)
TRAINED = (
    "The images of a step share one draw, which at the published settings gives about 347 where it stays secret; but the critic drawn "
    "is the one that learns, so later gradients tell of earlier draws, and proved is what holds with the draws public (docs/proofs.md, "
    "section 12)."
)
RELATIONS = ("REPLACE_SPECIAL", "REPLACE_ONE")


def release_stage(config: GSWGANConfig) -> Stage:
    """Noisy gradients of B images at once: noise of 2 C s against a distance of 2 C sqrt(B)."""
    release, visible = config.release, config.release.drawn == "trained"
    noise_multiplier = release.known_noise_multiplier() / math.sqrt(release.batch_size)
    return Stage(
        GRADIENTS,
        DrawnPartGaussianDpEvent(config.critics.parts, noise_multiplier, visible),
        "per_step",
        release.steps,
        relations=RELATIONS,
        sampling="one critic in as many as there are parts, drawn afresh at every step"
        + (", the draws taken as public" if visible else ""),
        reason=TRAINED if visible else SECRET,
        rows=release.batch_size + (config.critics.rows / min(config.critics.turns, config.critics.parts) if visible else 0.0),
    )


SOURCE = "Chen, Orekondy and Fritz 2020 (GS-WGAN)"
FORMULA = (
    "RDP of a Gaussian of noise s subsampled without replacement at rate 1/K (Wang, Balle and Kasiviswanathan 2019, Theorem 9), B T times, "
    "epsilon = min over a of B T rdp(a) + log(1/delta)/(a - 1)"
)
NOTATION = {
    "critics.parts": "K",
    "release.noise_multiplier": "s",
    "release.batch_size": "B",
    "release.steps": "T",
}
READINGS = {"gs-wgan": Reading("GS-WGAN: B T independent draws of a critic, as claimed", "published", FORMULA, NOTATION)}


def claimed(*, noise_multiplier: float, parts: int, releases: int, delta: float) -> PrivacyValue:
    """The paper's number: every image a subsampled Gaussian of its own. The images of a step share their draw, so it is no bound."""
    orders = [int(order) for order in OLDER_ORDERS if order == int(order) and order >= 2]
    epsilons = [releases * without_replacement(1 / parts, noise_multiplier, order) + math.log(1 / delta) / (order - 1) for order in orders]
    return PrivacyValue(
        epsilon=min(epsilons),
        delta=delta,
        status="approximation",
        accountant="RDP, sampling without replacement",
        neighboring_relation="REPLACE_ONE",
        sampling="a critic for every image",
        reason="Counts a draw for every image. All images of a step share one, so they are one release with noise of s/sqrt(B).",
        source=SOURCE,
    )


def without_replacement(sample_rate: float, noise_multiplier: float, order: int) -> float:
    """RDP of whole order a >= 2 of a Gaussian on a sample without replacement, by Theorem 9 of Wang, Balle and Kasiviswanathan 2019.

    log(1 + q^2 C(a,2) min(4 (e^rho(2) - 1), 2 e^rho(2)) + sum over j = 3..a of 2 q^j C(a,j) e^((j-1) rho(j))) / (a - 1), where rho(j) is
    j/(2 s^2).
    """
    terms = np.arange(2, order + 1)
    logs = (terms - 1) * terms / (2 * noise_multiplier**2) + math.log(2)
    square = 1 / noise_multiplier**2
    if square < math.log(2):
        logs[0] = math.log(4 * math.expm1(square))
    logs += terms * math.log(sample_rate) + gammaln(order + 1) - gammaln(terms + 1) - gammaln(order - terms + 1)
    return float(np.logaddexp.reduce(np.append(logs, 0.0))) / (order - 1)


def published(facts: DatasetFacts) -> dict[str, Any]:
    """The code's settings on MNIST; at most as many parts as there are records."""
    return {
        "critics": {
            "parts": min(1_000, facts.num_records),
            "network": {"blocks": 3, "width": 64, "kernel_size": 5, "hidden_layers": 0, "label": "projected"},
            "turns": 1,
            "updates": 5,
            "warm_up": 2_000,
            "batch_size": 32,
            "penalty": 10.0,
            "learning_rate": 1e-4,
        },
        "release.noise_multiplier": 1.07,
        "release.max_grad_norm": 1.0,
        "release.batch_size": 32,
        "release.steps": 20_000,
        "release.drawn": "trained",
        "release.learning_rate": 1e-4,
        "release.schedule": "constant",
        "release.ema_decay": 0.999,
    }


PRESETS = Method.presets | {
    "published": Preset(
        "The published code's settings on MNIST, which it claims epsilon 10 for at delta 1e-5: the critic that is drawn is the one that "
        "learns. Without spectral normalisation, and with a dense generator in the place of the code's residual one.",
        published,
        lambda _facts: 1e-5,
    )
}


class GSWGAN(Method):
    """A generator by noisy gradients of its images, from critics that each know a part of the records."""

    name = "gs-wgan"
    title = "GS-WGAN"
    source = "Chen, Orekondy and Fritz 2020"
    Config = GSWGANConfig
    implementation = "workbench.methods.gs_wgan.training"
    presets: ClassVar[dict[str, Preset]] = PRESETS
    readings: ClassVar[Mapping[str, Reading]] = READINGS
    released: ClassVar[tuple[str, ...]] = (AVERAGE,)
    interruptible: ClassVar[tuple[str, ...]] = (CRITICS, GRADIENTS)
    quiet_parts: ClassVar[tuple[str, ...]] = (CRITICS,)
    shapes: ClassVar[tuple[str, ...] | None] = (
        "generator",
        *(f"critics.network.{name}" for name in CriticConfig.model_fields),
        "critics.turns",
        "critics.updates",
        "critics.warm_up",
        "release.drawn",
    )
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("release.noise_multiplier"),)
    config: GSWGANConfig

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """Parts of about 100 records or more, of which there are more where records are many; wider layers for larger images."""
        large = facts.dimensions > 300
        parts = max(1, min(1_000, facts.num_records // (100 if facts.num_records < 10_000 else 300)))
        values: dict[str, Any] = (
            {"generator.hidden_layers": 2, "generator.hidden_size": 400, "critics.network.hidden_size": 200} if large else {}
        )
        return {**values, "critics.parts": parts}

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """What the critics learn, which is quiet, and the noisy gradients; where the critic drawn is trained, that is part of a step."""
        critics, release = self.config.critics, self.config.release
        check_parts(facts.num_records, critics.parts)
        stages: list[Stage] = []
        if critics.warm_up:
            each = 2 * critics.batch_size * critics.updates * critics.warm_up
            stages.append(quiet_stage(WARM_UP, critics.parts, QUIET, rows=each))
        if release.drawn == "secret":
            stages.append(quiet_stage(CRITICS, release.steps, QUIET, rows=critics.rows))
        return [*stages, release_stage(self.config)]

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """The paper's count of subsampled Gaussians."""
        release = self.config.release
        return claimed(
            noise_multiplier=release.known_noise_multiplier(),
            parts=self.config.critics.parts,
            releases=release.batch_size * release.steps,
            delta=delta,
        )
