"""PrivImage (Li et al. 2024): private records choose kinds of public images, a diffusion model learns those, DP-SGD refines it.

The kinds are the labels of a public data set. Where a public set has few labels each is parted into groups of images that look alike, so
that there is something to choose between.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Literal, Self

from dp_accounting import dp_event
from pydantic import BaseModel, ConfigDict, Field

from workbench.datasets.base import DatasetFacts
from workbench.diffusion.edm import EDMConfig, EDMSamplerConfig
from workbench.errors import WorkbenchError
from workbench.methods import votes
from workbench.methods.base import CalibratedField, Method, MethodConfig, Preset, Reading, Target
from workbench.methods.pretrained import GuidedModel
from workbench.models.settings import DP_SGD, default_network
from workbench.privacy.accounting.events import ReplaceOneGaussianDpEvent, UnprovedDpEvent
from workbench.privacy.accounting.formulas import composed_rdp
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.training.dp_sgd import DPSGD
from workbench.training.ordinary import OrdinaryTraining


class ClassifierTraining(OrdinaryTraining):
    """The classifier of public images by kind, which says of a private record what kinds it is most like."""

    steps: int = Field(default=400, ge=1, description="Steps on public images, which cost no privacy.")
    batch_size: int = Field(default=64, ge=1, description="Public images in a step.")
    learning_rate: float = Field(default=2e-3, ge=1e-9, le=1e3, description="Adam's first learning rate.")


class SemanticQuery(BaseModel):
    """How often private records of each class are most like each kind of public image, with noise."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    dataset: str = Field(default="glyphs", min_length=1, description="Public images that are chosen from.")
    records: int = Field(default=20_000, ge=1, description="How many of them.")
    kinds: int = Field(
        default=50,
        ge=1,
        le=100_000,
        description="Kinds of public images: their labels, each parted into as many groups as fit.",
    )
    choices: int = Field(default=2, ge=1, description="Kinds that a record votes for: those that it is most like.")
    chosen: int = Field(default=3, ge=1, description="Kinds that are chosen for a class, none for two.")
    noise_multiplier: float | None = Field(
        default=None,
        ge=1e-3,
        le=1e6,
        description="Noise of a count over sqrt(choices), a record's norm; empty takes it from the share.",
    )
    share: float = Field(default=0.05, ge=1e-4, le=0.9, description="Part of the target's mu^2 that it takes where that noise is empty.")
    noise: Literal["secret", "seed 0"] = Field(
        default="secret", description="Whether the noise is drawn by the run's secret key, or by a seed that everybody knows, as in a port."
    )
    classifier: ClassifierTraining = ClassifierTraining()

    @property
    def rounds(self) -> int:
        """One query."""
        return 1

    def round_stage(self, facts: DatasetFacts) -> Stage:
        """The query as a release; the bound of a known seed's noise does not exist."""
        if self.noise_multiplier is None:
            raise WorkbenchError("Expected a query.noise_multiplier, got none: give one, or an epsilon that it has a share of.")
        event = ReplaceOneGaussianDpEvent(self.noise_multiplier / math.sqrt(2), zero_out_ratio=math.sqrt(0.5))
        known = UnprovedDpEvent(KNOWN_NOISE, status="refuted")
        return Stage(
            name=QUERY,
            event=event if self.noise == "secret" else known,
            spent="once",
            relations=("REPLACE_SPECIAL", "REPLACE_ONE"),
            sampling="all records, once",
            reason=REASON if self.noise == "secret" else KNOWN_NOISE,
        )


class Pretraining(OrdinaryTraining):
    """Ordinary steps on the public images of the kinds that were chosen."""

    steps: int = Field(default=800, ge=1, description="Steps on chosen public images.")
    batch_size: int = Field(default=128, ge=1, description="Images in a step.")


class Training(DPSGD):
    """DP-SGD on all noise levels."""

    max_grad_norm: float = Field(default=0.01, ge=1e-6, le=1e6, description="Clipping norm C of a record's gradient.")
    noise_multiplicity: int = Field(default=2, ge=1, description="Noise samples K, each at its own level, that a loss is averaged over.")


class PrivImageConfig(GuidedModel):
    """Hyper-parameters of PrivImage; None stands for what calibration finds."""

    query: SemanticQuery = SemanticQuery()
    pretraining: Pretraining = Pretraining()
    training: Training = Training()
    diffusion: EDMConfig = EDMConfig()
    sampler: EDMSamplerConfig = EDMSamplerConfig()


KINDS, QUERY, CHOSEN = "public classifier of kinds", "semantic query", "pre-training on chosen public images"
REASON = (
    "A record adds one to the counts of the k kinds that it votes for, in the row of its class: making it null moves them by sqrt(k), "
    "replacing it by at most sqrt(2 k)."
)
KNOWN_NOISE = (
    "The noise of the query is drawn by a seed that every reader of the code knows, who subtracts it. What is left are exact counts, which "
    "no finite epsilon covers."
)


SOURCE = "Li et al. 2024 (PrivImage)"
FORMULA = "RDP together: one Gaussian release of noise s over sqrt(k), DP-SGD of noise sigma at the rate m/n over N steps"
NOTATION = {
    "num_records": "n",
    "query.noise_multiplier": "s",
    "training.batch_size": "m",
    "training.noise_multiplier": "sigma",
    "training.steps": "N",
}
READINGS = {
    "privimage": Reading("PrivImage: a semantic query, pre-training on what it chose, DP-SGD", "published", FORMULA, NOTATION),
    "privimage-known-noise": Reading("PrivImage as a port has it, the query's noise drawn by seed 0", "known-noise", FORMULA, NOTATION),
}


def query_claim(query: SemanticQuery, delta: float, beside: Sequence[tuple[dp_event.DpEvent, int]] = ()) -> PrivacyValue:
    """The RDP of the query, whoever knows its noise, with further releases `beside` it."""

    assert query.noise_multiplier is not None
    return composed_rdp([(dp_event.GaussianDpEvent(query.noise_multiplier), 1), *beside], delta, SOURCE)


LARGE: dict[str, Any] = {  # 28x28 and more
    "pretraining.steps": 600,
    "pretraining.learning_rate": 6e-4,
    "training.steps": 300,
    "training.learning_rate": 6e-4,
    "training.noise_multiplicity": 1,
    "ema_decay": 0.99,
}
SMALL: dict[str, Any] = {"training.steps": 60, "pretraining.steps": 600}


def published(facts: DatasetFacts, noise_multiplier: float, noise: str = "secret") -> dict[str, Any]:
    """MNIST's settings: five kinds a class of a thousand, noise 50 over sqrt(5), 150 epochs at the rate 1/15, K = 32."""
    return {
        "query.kinds": 1_000,
        "query.choices": 5,
        "query.chosen": 5,
        "query.noise_multiplier": 50.0,
        "query.noise": noise,
        "training.noise_multiplier": noise_multiplier,
        "training.batch_size": facts.num_records / 15,
        "training.steps": 2250,
        "training.max_grad_norm": 1e-3,
        "training.noise_multiplicity": 32,
        "training.learning_rate": 3e-4,
        "ema_decay": 0.999,
    }


def published_preset(epsilon: float, noise_multiplier: float, noise: str = "secret") -> Preset:
    """The setting that results at `epsilon` are compared at."""
    ending = "" if noise == "secret" else ", with the query's noise by seed 0, as a port has it"
    return Preset(
        f"The paper's query on MNIST and DPImageBench's protocol (150 epochs at a sampling rate of 1/15) with the noise that claims "
        f"epsilon {epsilon:g} at delta 1e-5, on public images of the workbench's own in the place of ImageNet's{ending}.",
        partial(published, noise_multiplier=noise_multiplier, noise=noise),
        lambda _facts: 1e-5,
    )


PRESETS = Method.presets | {
    "published": published_preset(10, 1.8361),
    "published-1": published_preset(1, 12.893),
    "known-noise": published_preset(10, 1.8361, "seed 0"),
}


class PrivImage(Method):
    """A noisy query which kinds of public images the records are like, a diffusion model of these images, then DP-SGD: one bound."""

    name = "privimage"
    title = "PrivImage"
    source = "Li et al. 2024"
    Config = PrivImageConfig
    implementation = "workbench.methods.privimage.training"
    presets: ClassVar[dict[str, Preset]] = PRESETS
    readings: ClassVar[Mapping[str, Reading]] = READINGS
    released: ClassVar[tuple[str, ...]] = ("ema",)
    interruptible: ClassVar[tuple[str, ...]] = (DP_SGD,)
    sampling_fields: ClassVar[tuple[str, ...]] = ("sampler",)
    shapes: ClassVar[tuple[str, ...] | None] = ("network", "training.noise_multiplicity", "query.kinds")
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("training.noise_multiplier"),)
    config: PrivImageConfig

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """The U-Net of the image size, as many kinds as the classes choose from, sizes of minutes (8x8) or an hour (28x28)."""
        large = facts.dimensions > 300
        return {
            "network": default_network(facts),
            "query.kinds": max(50, 5 * facts.num_classes),
            **(LARGE if large else SMALL),
            "training.batch_size": min(1000 if large else 450, facts.num_records),
        }

    @classmethod
    def calibrated(cls, config: MethodConfig, facts: DatasetFacts, epsilon: float, delta: float, target: Target) -> Self:
        """The query has the noise of its share (unless given), DP-SGD what then meets `epsilon`."""
        assert isinstance(config, PrivImageConfig)
        if target == "bound" or config.query.noise_multiplier is None:
            config = votes.with_vote_noise(config, "query", config.query.share, facts, epsilon, delta)
        return super().calibrated(config, facts, epsilon, delta, target)

    @property
    def public_dataset(self) -> str:
        """The images that are chosen from."""
        return self.config.query.dataset

    @property
    def public_records(self) -> int:
        """How many of them."""
        return self.config.query.records

    @property
    def selects_public(self) -> bool:
        """All that the model learned from before DP-SGD."""
        return True

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """The classifier (free), the query, pre-training on what was chosen (free), DP-SGD."""
        config, query = self.config, self.config.query
        config.network.check_patches(*facts.shape[1:])
        if query.choices > query.kinds or query.chosen * max(facts.num_classes, 1) > query.kinds:
            raise WorkbenchError(
                f"Expected query.kinds of at least query.choices, {query.choices}, and of query.chosen for each class, "
                f"{query.chosen * max(facts.num_classes, 1)}, got {query.kinds}."
            )
        return [
            query.classifier.free_stage(KINDS),
            query.round_stage(facts),
            config.pretraining.free_stage(CHOSEN),
            config.training.stage(DP_SGD, facts.num_records),
        ]

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """The RDP of query and DP-SGD, whoever knows the noise."""
        training = self.config.training
        return query_claim(self.config.query, delta, [(training.private_steps(DP_SGD, facts.num_records).event, training.steps)])
