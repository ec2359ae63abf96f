"""DP-MEPF (Harder et al. 2023): noisy moments of a public network's features by class, and a generator fitted to them.

The paper states the second moment, whose features are squares, to move by 1/n where a record is replaced; it moves by up to sqrt(2)/n.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from workbench import datasets
from workbench.datasets.base import DatasetFacts
from workbench.methods.base import Method, Preset, Reading
from workbench.methods.embedding import NETWORK, EmbeddingConfig, EmbeddingMethod
from workbench.models.embeddings.config import GENERATOR, REASON, embedding_stage
from workbench.privacy.accounting.formulas import gaussian_releases, inverse_square
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.training.ordinary import PublicTraining

FEATURES, FIRST, SECOND = "public features", "first moment", "second moment"  # the stages
SECOND_REASON = (
    "Of the squares each record adds a vector of norm 1/num_records without negative numbers: making it null moves their mean by "
    "1/num_records, replacing it by up to sqrt(2)/num_records."
)
PUBLISHED_REASON = (
    "The published code takes the mean of squares to move by 1/num_records where a record is replaced, and it moves by up to "
    "sqrt(2)/num_records, as no entry is negative: epsilon 1 of both moments at delta 1e-5 is then 1.25 for a replaced record, and what is "
    "shown for a record made null."
)


class FeatureTraining(PublicTraining):
    """The network of features, which public images teach; without them it stays as it was drawn."""

    steps: int = Field(default=600, ge=0, description="Steps on public images, which cost no privacy; 0 leaves the network as drawn.")
    batch_size: int = Field(default=64, ge=1, description="Public images in a step.")
    learning_rate: float = Field(default=2e-3, ge=1e-9, le=1e3, description="Adam's learning rate on public images.")
    width: int = Field(default=16, ge=1, description="Channels of its first convolution.")


class DPMEPFConfig(EmbeddingConfig):
    """Hyper-parameters of DP-MEPF."""

    moments: Literal["first", "both", "published"] = Field(
        default="first",
        description="What is released of the features: their means; means of their squares too, whose noise is over sqrt(2)/num_records; "
        "or over 1/num_records, as published.",
    )
    balanced: bool = Field(
        default=True,
        description="Whether the image and every layer of features have one norm; else layers alone count, by their size, as published.",
    )
    features: FeatureTraining = FeatureTraining()

    @property
    def second_distance(self) -> float:
        """What the noise of the second moment is scaled to, over 1/num_records; 0 where it is not released."""
        return {"first": 0.0, "both": math.sqrt(2.0), "published": 1.0}[self.moments]


def claimed(*, noise_multiplier: float, releases: int, delta: float, counts_noise: float = math.inf) -> PrivacyValue:
    """An analytic Gaussian mechanism for each moment, noise over its stated replace-one sensitivity, and one for counts if released."""
    if math.isfinite(counts_noise):
        noise_multiplier = (inverse_square(noise_multiplier) + 2.0 / counts_noise**2 / releases) ** -0.5
    return gaussian_releases(noise_multiplier, releases, delta, "Harder et al. 2023 (DP-MEPF), analytic Gaussian mechanism")


FORMULA = "analytic Gaussian mechanism at the replace-one sensitivity 2/n"
READINGS = {
    "dp-mepf": Reading("DP-MEPF, first moments", "claim-1", FORMULA, {"num_records": "n", "noise_multiplier": ""}),
    "dp-mepf-both": Reading(
        "DP-MEPF, first and second moments",
        "published",
        f"{FORMULA}, and one for the second moment, whose sensitivity is taken to be 1/n",
        {"num_records": "n", "noise_multiplier": ""},
    ),
}
PRESETS = Method.presets | {
    "claim-1": Preset(
        "First moments with the noise whose claim is epsilon 1 at delta 1e-5, by the paper's formula; everything else suits the dataset.",
        lambda _facts: {"noise_multiplier": 3.7306},
        lambda _facts: 1e-5,
    ),
    "published": Preset(
        "Both moments with the published code's noise, whose claim is epsilon 1 at delta 1e-5; where one record is replaced it is 1.25.",
        lambda _facts: {"noise_multiplier": 5.2759, "moments": "published", "balanced": False},
        lambda _facts: 1e-5,
    ),
}


class DPMEPF(EmbeddingMethod[DPMEPFConfig]):
    """One or two releases of mean features by class, of a network that public images taught; all after it is post-processing."""

    name = "dp-mepf"
    title = "DP-MEPF"
    source = "Harder et al. 2023"
    Config = DPMEPFConfig
    implementation = "workbench.methods.dp_mepf.training"
    released: ClassVar[tuple[str, ...]] = (GENERATOR, FIRST)
    presets: ClassVar[dict[str, Preset]] = PRESETS
    readings: ClassVar[Mapping[str, Reading]] = READINGS
    shapes: ClassVar[tuple[str, ...] | None] = ("features.width", "moments", "balanced", *NETWORK)

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """Features of drawn glyphs for digits, of drawn processes for anything else; fewer steps where images have hundreds of pixels."""
        public = "glyphs" if facts.classes == datasets.facts("glyphs").classes else "processes"
        values = {"features.dataset": public, "training.batch_size": 200, "training.learning_rate": 3e-3}
        return values | ({"training.steps": 600} if facts.dimensions > 300 else {})

    @property
    def public_dataset(self) -> str | None:
        """The images that teach the network of features, or None."""
        return self.config.features.dataset if self.config.features.takes_place else None

    @property
    def public_records(self) -> int | None:
        """How many of its records are used."""
        return self.config.features.records

    def embeddings(self, facts: DatasetFacts) -> list[Stage]:
        """The network's training (free), the first moment, and the second if it is released."""
        config, noise = self.config, self.config.noise_multiplier
        learned = [config.features.free_stage(FEATURES)] if config.features.takes_place else []
        stages = [*learned, embedding_stage(FIRST, noise, reason=REASON)]
        if config.second_distance:
            assert noise is not None
            reason = PUBLISHED_REASON if config.moments == "published" else SECOND_REASON
            over_root = noise * config.second_distance / math.sqrt(2.0)
            stages.append(embedding_stage(SECOND, over_root, zero_out_ratio=math.sqrt(0.5), reason=reason))
        return stages

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """The paper's analytic Gaussian mechanisms, with that of the counts, if these are released."""
        assert self.config.noise_multiplier is not None
        releases = 2 if self.config.second_distance else 1
        value = claimed(noise_multiplier=self.config.noise_multiplier, releases=releases, delta=delta, counts_noise=self.counts_noise)
        if self.config.moments == "published":
            return value.model_copy(update={"status": "not_proved", "reason": PUBLISHED_REASON})
        return value
