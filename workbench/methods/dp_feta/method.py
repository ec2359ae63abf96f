"""DP-FETA (Li, Gong et al. 2025): noisy mean images of the classes warm a diffusion model up, DP-SGD trains it.

FETA-Pro (2026) puts a second warm-up between: images of a generator that DP-MERF fits to one noisy mean embedding.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal, Self

from dp_accounting import dp_event
from pydantic import BaseModel, ConfigDict, Field

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods import votes
from workbench.methods.base import MethodConfig, Preset, Reading, Target
from workbench.methods.dp_merf import DPMERF, DPMERFConfig
from workbench.methods.dpdm import DPDMConfig
from workbench.methods.pretrained import SHAPES, FineTuned, Pretrained
from workbench.models.embeddings.config import GeneratorTraining
from workbench.models.settings import DP_SGD, default_network, pretraining_stages
from workbench.privacy.accounting.formulas import composed_rdp
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.training.dp_sgd import DPSGD
from workbench.training.ordinary import OrdinaryTraining
from workbench.training.private_steps import PoissonBatches, PrivateSteps


class CentralImages(BaseModel):
    """Mean images of the classes over Poisson batches, with noise."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    batches: int = Field(default=1, ge=1, le=10_000, description="Poisson batches, each of which gives a central image of every class.")
    sample_rate: float = Field(default=1.0, ge=1e-6, le=1, description="Chance of a record to be in one of these batches.")
    noise_multiplier: float | None = Field(
        default=None, ge=1e-3, le=1e6, description="Noise of the sums over the norm of one image; empty takes it from the share."
    )
    share: float = Field(default=0.1, ge=1e-4, le=0.9, description="Part of the target's mu^2 that they take where that noise is empty.")
    pooling: int = Field(default=1, ge=1, le=64, description="Images are averaged over squares of this side, in pixels.")
    divisor: Literal["constant", "realised"] = Field(
        default="constant",
        description="Sums are divided by the expected records of a class, or by those that were drawn of it, as in the published code.",
    )

    @property
    def rounds(self) -> int:
        """The batches, as a split of a target calls them."""
        return self.batches

    def pooled_shape(self, facts: DatasetFacts) -> tuple[int, int, int]:
        """(C, H, W) of a central image as it is released."""
        channels, height, width = facts.shape
        return channels, -(-height // self.pooling), -(-width // self.pooling)

    def norm(self, facts: DatasetFacts) -> float:
        """The norm that every image is within: that of a white one, with pixels in [0, 1]."""
        return math.sqrt(math.prod(self.pooled_shape(facts)))

    def expected_batch(self, facts: DatasetFacts) -> float:
        """Records of one class that a batch is expected to have, all classes alike: a public constant."""
        return self.sample_rate * facts.num_records / max(facts.num_classes, 1)

    def steps(self, facts: DatasetFacts) -> PrivateSteps:
        """The releases: sums over Poisson batches, or means over what was drawn, which one record may move by its whole norm."""
        if self.noise_multiplier is None:
            raise WorkbenchError("Expected a central.noise_multiplier, got none: give one, or an epsilon that it has a share of.")
        distance = max(1.0, self.expected_batch(facts)) if self.divisor == "realised" else 1.0
        batches = PoissonBatches(self.sample_rate)
        return PrivateSteps(CENTRAL, self.batches, batches, self.noise_multiplier, self.expected_batch(facts), distance=distance)

    def round_stage(self, facts: DatasetFacts) -> Stage:
        """The stage."""
        return self.steps(facts).stage(REASONS[self.divisor])


class Embedding(BaseModel):
    """FETA-Pro's second warm-up: one noisy mean embedding of all records, and images of a generator that is fitted to it."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    released: bool = Field(default=False, description="Release a mean embedding and train on the images of its generator too (FETA-Pro).")
    noise_multiplier: float | None = Field(
        default=None, ge=1e-3, le=1e6, description="Its noise over 1/num_records, what making a record null moves; empty takes its share."
    )
    share: float = Field(default=0.3, ge=1e-4, le=0.9, description="Part of the target's mu^2 that it takes where that noise is empty.")
    num_features: int = Field(default=2_000, ge=2, description="Random Fourier features (cosines and sines together).")
    images: int = Field(default=2_000, ge=1, le=1_000_000, description="Images of the generator that are trained on.")
    generator: GeneratorTraining = GeneratorTraining()

    @property
    def rounds(self) -> int:
        """One release."""
        return 1

    @property
    def merf(self) -> DPMERFConfig:
        """DP-MERF's configuration, whose noise is over 2/num_records."""
        if self.noise_multiplier is None:
            raise WorkbenchError("Expected an embedding.noise_multiplier, got none: give one, or an epsilon that it has a share of.")
        values = {"noise_multiplier": self.noise_multiplier / 2, "num_features": self.num_features, "training": self.generator}
        return DPMERFConfig.model_validate(values)

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """The release and the generator's steps, if they are asked for."""
        if not self.released:
            return []
        release, *others = DPMERF(self.merf).stages(facts)
        return [replace(release, reason=""), *others]  # `stages` says it beside that of the central images

    def round_stage(self, facts: DatasetFacts) -> Stage:
        """The release."""
        return DPMERF(self.merf).stages(facts)[0]


class WarmUp(OrdinaryTraining):
    """Ordinary steps on images that are released already."""

    steps: int = Field(default=200, ge=1, description="Steps on central images, and as many on those of the generator, if there is one.")
    batch_size: int = Field(default=50, ge=1, description="Images in a step.")
    learning_rate: float = Field(default=2e-3, ge=1e-9, le=1e3, description="Adam's learning rate on these images.")


class Training(DPSGD):
    """DP-SGD on all noise levels."""

    max_grad_norm: float = Field(default=0.01, ge=1e-6, le=1e6, description="Clipping norm C of a record's gradient.")
    noise_multiplicity: int = Field(default=2, ge=1, description="Noise samples K, each at its own level, that a loss is averaged over.")


class DPFETAConfig(DPDMConfig):
    """Hyper-parameters of DP-FETA; None stands for what calibration finds."""

    central: CentralImages = CentralImages()
    embedding: Embedding = Embedding()
    warm_up: WarmUp = WarmUp()
    training: Training = Training()  # pyright: ignore[reportIncompatibleVariableOverride]  # frozen


CENTRAL, WARM_UP, GENERATED = "central images", "warm-up on central images", "warm-up on generated images"
REASONS = {
    "constant": "A record that is drawn adds its image, no longer than a white one (C), to the sum of its class: making it null moves "
    "the sums by at most C, against noise of C times the multiplier, and what they are divided by is a constant.",
    "realised": "A mean over the records of a class that were drawn moves by a whole image where a class has one record, while its noise "
    "is that of the expected number of records: the bound is true and useless.",
}

EMBEDDED = "; the mean embedding moves by 1/num_records where a record is made null, and by twice that where it is replaced"


SOURCE = "Li, Gong et al. 2025 (DP-FETA)"
FORMULA = "RDP of Poisson-sampled Gaussians together: queries of noise s at the rate 1/10, DP-SGD of noise sigma at m/n over N steps"
NOTATION = {
    "num_records": "n",
    "central.noise_multiplier": "s",
    "central.batches": "",
    "training.batch_size": "m",
    "training.noise_multiplier": "sigma",
    "training.steps": "N",
}
PRO = NOTATION | {"embedding.noise_multiplier": ""}
READINGS = {
    "dp-feta": Reading("DP-FETA: central images by a constant divisor, then DP-SGD", "published", FORMULA, NOTATION),
    "dp-feta-realised": Reading("DP-FETA: means over the records that were drawn, as coded", "published-realised", FORMULA, NOTATION),
    "dp-feta-pro": Reading(
        "FETA-Pro: a mean embedding between the two", "published-pro", f"{FORMULA}; the embedding is one Gaussian release", PRO
    ),
}


def queries_claim(central: CentralImages, delta: float, beside: Sequence[tuple[dp_event.DpEvent, int]] = ()) -> PrivacyValue:
    """The RDP of the queries, whatever they are divided by, with further releases `beside` them."""
    assert central.noise_multiplier is not None
    query = PoissonBatches(central.sample_rate).event(central.noise_multiplier)
    return composed_rdp([(query, central.batches), *beside], delta, SOURCE)


def claimed(config: DPFETAConfig, facts: DatasetFacts, delta: float) -> PrivacyValue:
    """The RDP of queries, embedding and DP-SGD."""

    training, embedding = config.training, config.embedding
    beside = [(training.private_steps(DP_SGD, facts.num_records).event, training.steps)]
    if embedding.released:
        assert embedding.noise_multiplier is not None
        beside.append((dp_event.GaussianDpEvent(embedding.noise_multiplier), 1))
    return queries_claim(config.central, delta, beside)


SMALL: dict[str, Any] = {"training.steps": 100, "training.batch_size": 300, "ema_decay": 0.95}  # 8x8 and the like: two minutes
LARGE: dict[str, Any] = {  # 28x28 and more, in an hour on two cores
    "training.steps": 300,
    "training.batch_size": 1000,
    "training.noise_multiplicity": 1,
    "training.learning_rate": 6e-4,
    "pretraining.steps": 600,
    "pretraining.learning_rate": 6e-4,
    "warm_up.steps": 400,
    "warm_up.learning_rate": 6e-4,
    "embedding.num_features": 10_000,
    "embedding.images": 20_000,
    "embedding.generator.steps": 600,
    "embedding.generator.learning_rate": 3e-3,
    "ema_decay": 0.99,
}
# Many records: the paper's five batches of a tenth of them.
MANY, QUERY = 20_000, {"central.batches": 5, "central.sample_rate": 0.1, "central.noise_multiplier": 5.0, "central.pooling": 2}
NOISE_MULTIPLIERS = {"": (1.8365, 10), "-1": (13.083, 1)}
PRO_NOISE_MULTIPLIERS = {"": (1.8364, 10), "-1": (13.014, 1)}


def published(facts: DatasetFacts, noise_multiplier: float, changes: Mapping[str, Any]) -> dict[str, Any]:
    """MNIST's settings: queries on batches of a tenth, 150 epochs at the rate 1/15, K = 32."""
    return {
        **QUERY,
        "warm_up.steps": 2_000,
        "warm_up.batch_size": 50,
        "warm_up.learning_rate": 3e-4,
        "warm_up.schedule": "constant",
        "training.noise_multiplier": noise_multiplier,
        "training.batch_size": facts.num_records / 15,
        "training.steps": 2250,
        "training.max_grad_norm": 1e-3,
        "training.noise_multiplicity": 32,
        "training.learning_rate": 3e-4,
        "ema_decay": 0.999,
        **changes,
    }


def published_preset(epsilon: float, noise_multiplier: float, title: str, changes: Mapping[str, Any]) -> Preset:
    """The setting that results at `epsilon` are compared at."""
    return Preset(
        f"The paper's queries and DPImageBench's protocol (150 epochs of MNIST at a sampling rate of 1/15) with the noise that claims "
        f"epsilon {epsilon:g} at delta 1e-5, {title}.",
        partial(published, noise_multiplier=noise_multiplier, changes=changes),
        lambda _facts: 1e-5,
    )


TUNED: dict[str, tuple[str, dict[str, tuple[float, int]], dict[str, Any]]] = {
    "": ("sums of a class divided by a constant", NOISE_MULTIPLIERS, {}),
    "-realised": ("means over the records of a class that were drawn, as coded", NOISE_MULTIPLIERS, {"central.divisor": "realised"}),
    "-pro": (
        "with FETA-Pro's mean embedding",
        PRO_NOISE_MULTIPLIERS,
        {
            "central.noise_multiplier": 20.0,
            "embedding.released": True,
            "embedding.noise_multiplier": 26.6,
            "embedding.num_features": 10_000,
            "embedding.images": 60_000,
        },
    ),
}
PRESETS = Pretrained.presets | {
    "pro": Preset(
        "FETA-Pro: a mean embedding of all records takes a share too, and its generator's images are a second warm-up.",
        lambda _facts: {"embedding.released": True},
    ),
    **{
        f"published{suffix}{ending}": published_preset(epsilon, noise, title, changes)
        for suffix, (title, noises, changes) in TUNED.items()
        for ending, (noise, epsilon) in noises.items()
    },
}


class DPFETA(FineTuned[DPFETAConfig]):
    """Noisy mean images of the classes as a warm-up of a diffusion model in EDM's form, then DP-SGD on it: one bound."""

    name = "dp-feta"
    title = "DP-FETA"
    source = "Li, Gong et al. 2025; FETA-Pro 2026"
    Config = DPFETAConfig
    implementation = "workbench.methods.dp_feta.training"
    presets: ClassVar[dict[str, Preset]] = PRESETS
    readings: ClassVar[Mapping[str, Reading]] = READINGS
    shapes: ClassVar[tuple[str, ...] | None] = ("network", "training.noise_multiplicity", "embedding.num_features", *SHAPES)

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """The U-Net of the image size, the paper's queries where there are many records, one of all records where there are few."""
        values = LARGE if facts.dimensions > 300 else SMALL
        size = {"training.batch_size": min(values["training.batch_size"], facts.num_records)}
        return {"network": default_network(facts), **values, **size, **(QUERY if facts.num_records >= MANY else {})}

    @classmethod
    def calibrated(cls, config: MethodConfig, facts: DatasetFacts, epsilon: float, delta: float, target: Target) -> Self:
        """Central images and embedding have the noise of their shares (unless given), DP-SGD what then meets `epsilon`."""
        assert isinstance(config, DPFETAConfig)
        if target == "bound" or config.central.noise_multiplier is None:
            config = votes.with_vote_noise(config, "central", config.central.share, facts, epsilon, delta)
        if config.embedding.released and (target == "bound" or config.embedding.noise_multiplier is None):
            config = votes.with_vote_noise(config, "embedding", config.embedding.share, facts, epsilon, delta)
        return super().calibrated(config, facts, epsilon, delta, target)

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """Public images if any (free), central images, the embedding if any, what is trained on these (free), DP-SGD."""
        config = self.config
        config.network.check_patches(*facts.shape[1:])
        generated = [*config.embedding.stages(facts), config.warm_up.free_stage(GENERATED)] if config.embedding.released else []
        central = config.central.round_stage(facts)
        beside = EMBEDDED if config.embedding.released else ""
        return [
            *pretraining_stages(config, facts),
            replace(central, reason=central.reason.removesuffix(".") + beside + "."),
            config.warm_up.free_stage(WARM_UP),
            *generated,
            config.training.stage(DP_SGD, facts.num_records),
        ]

    def claim_of_paper(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """The RDP of queries, embedding and DP-SGD, whatever the queries are divided by."""
        return claimed(self.config, facts, delta)
