"""DP-HP (Vinaroz et al. 2022): noisy means of Hermite features by class, and a generator fitted to them.

Features of Mehler's kernel, in order of what they matter: of every pixel by itself, released once, and of random pairs of pixels
together, another pair in every release. Their norm, which is at most 1, is stretched to 1 by a public constant.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import Method, Preset, Reading
from workbench.methods.embedding import NETWORK, EmbeddingConfig, EmbeddingMethod
from workbench.models.embeddings.config import GENERATOR, embedding_stage
from workbench.privacy.accounting.formulas import gaussian_releases
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.training.switches import Switches

SUM, PRODUCT = "features of pixels", "features of pairs"  # the stages


class DPHPConfig(EmbeddingConfig):
    """Hyper-parameters of DP-HP."""

    switches: ClassVar[Switches] = {"rounds": (0, 2)}

    order: int = Field(default=20, ge=1, description="Highest order of the features of single pixels.")
    product_order: int = Field(default=10, ge=1, description="Highest order of the features of pairs.")
    variance: float = Field(default=0.1, ge=1e-6, le=1e6, description="Of the kernel, the squared length scale on pixels in [0, 1].")
    rounds: int = Field(default=10, ge=0, le=1000, description="Releases of pairs, each of another one; 0 leaves them out.")
    pairs_noise: float = Field(
        default=10.0, ge=1e-3, le=1e6, description="Noise of each release of pairs over that of pixels, which noise_multiplier is."
    )
    weight: float = Field(
        default=20.0, ge=0, le=1e6, description="Of the distance of pixels' features in the loss, that of pairs' being 1."
    )

    @property
    def pixels_multiplier(self) -> float:
        """Noise of the release of pixels' features over its replace-one distance."""
        assert self.noise_multiplier is not None
        return self.noise_multiplier

    @property
    def pairs_multiplier(self) -> float:
        """Noise of each release of pairs' features over its replace-one distance."""
        return self.pixels_multiplier * self.pairs_noise


def claimed(config: DPHPConfig, delta: float) -> PrivacyValue:
    """Two analytic Gaussian mechanisms, of pixels and of all pairs, each at half of delta, whose epsilons are added."""
    source = "Vinaroz et al. 2022 (DP-HP), analytic Gaussian mechanism"
    if not config.rounds:
        return gaussian_releases(config.pixels_multiplier, 1, delta, source)
    pixels = gaussian_releases(config.pixels_multiplier, 1, delta / 2, source)
    pairs = gaussian_releases(config.pairs_multiplier, config.rounds, delta / 2, source)
    return pixels.model_copy(update={"epsilon": pixels.epsilon + pairs.epsilon, "delta": delta, "accountant": "GDP, and basic composition"})


PUBLISHED = Preset(
    "The published orders, kernel and split of epsilon 1 on MNIST; both releases composed exactly cost 0.80 at delta 1e-5.",
    lambda _facts: {
        "noise_multiplier": 4.7672, "pairs_noise": 11.37083, "rounds": 10, "order": 100, "product_order": 20, "variance": 0.005,
    },
    lambda _facts: 1e-5,
)  # fmt: skip


class DPHP(EmbeddingMethod[DPHPConfig]):
    """A release of Hermite features of all pixels and several of pairs, by class; everything after them is post-processing."""

    name = "dp-hp"
    title = "DP-HP"
    source = "Vinaroz et al. 2022"
    Config = DPHPConfig
    implementation = "workbench.methods.dp_hp.training"
    released: ClassVar[tuple[str, ...]] = (GENERATOR, SUM)
    presets: ClassVar[dict[str, Preset]] = Method.presets | {"published": PUBLISHED}
    readings: ClassVar[Mapping[str, Reading]] = {
        "dp-hp": Reading(
            "DP-HP",
            "published",
            "analytic Gaussian mechanisms at the replace-one sensitivity 2/n, of pixels at sigma and of K pairs at "
            "r sigma each, whose epsilons at delta / 2 are added",
            {"num_records": "n", "noise_multiplier": "sigma", "pairs_noise": "r", "rounds": "K"},
        )
    }
    shapes: ClassVar[tuple[str, ...] | None] = ("order", "product_order", *NETWORK)

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """A smaller learning rate where images have hundreds of pixels, as for DP-MERF."""
        return {"training.steps": 600, "training.learning_rate": 3e-3} if facts.dimensions > 300 else {}

    def embeddings(self, facts: DatasetFacts) -> list[Stage]:
        """The release of pixels' features, and those of pairs'."""
        stages = [embedding_stage(SUM, self.config.pixels_multiplier)]
        return [*stages, *[embedding_stage(PRODUCT, self.config.pairs_multiplier, steps=self.config.rounds)] * (self.config.rounds > 0)]

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """The paper's two mechanisms; nothing where counts of labels are released beside them."""
        if not self.config.labels.are_released:
            return claimed(self.config, delta)
        reason = "The paper claims nothing for noisy counts of labels beside its releases: only the bound counts."
        return PrivacyValue(epsilon=math.inf, delta=delta, status="not_evaluated", reason=reason, source=self.source)
