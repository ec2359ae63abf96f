"""DP-NTK (Yang et al. 2024): noisy means of a random network's gradients by class, and a generator fitted to them.

What stands for an image is the gradient of a network's output in its weights as they were drawn: the finite features of its neural
tangent kernel. The network has one hidden layer and sees no image before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import Method, Preset, Reading
from workbench.methods.embedding import NETWORK, EmbeddingConfig, EmbeddingMethod
from workbench.models.embeddings.config import embedding_stage
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue

RELEASE = "tangent features"
LARGE = 16  # hidden units where images have hundreds of pixels: each brings as many numbers as there are pixels


class DPNTKConfig(EmbeddingConfig):
    """Hyper-parameters of DP-NTK."""

    width: int = Field(
        default=100, ge=1, description="Hidden units of the network whose gradients are released; each has a number a pixel."
    )

    def size(self, facts: DatasetFacts) -> int:
        """Numbers of an image: the network's weights."""
        return self.width * (facts.dimensions + 1)


SOURCE = "Yang et al. 2024 (DP-NTK), Gaussian mechanism"
CLAIMED = Preset(
    "The noise multiplier whose claim is epsilon 1 at delta 1e-5, by the analytic Gaussian mechanism; everything else suits the dataset.",
    lambda _facts: {"noise_multiplier": 3.7306},
    lambda _facts: 1e-5,
)


class DPNTK(EmbeddingMethod[DPNTKConfig]):
    """One release of the label-wise mean of normed gradients of a random network; everything after it is post-processing."""

    name = "dp-ntk"
    title = "DP-NTK"
    source = "Yang et al. 2024"
    Config = DPNTKConfig
    implementation = "workbench.methods.dp_ntk.training"
    presets: ClassVar[dict[str, Preset]] = Method.presets | {"claim-1": CLAIMED}
    readings: ClassVar[Mapping[str, Reading]] = {
        "dp-ntk": Reading(
            "DP-NTK",
            "claim-1",
            "Gaussian mechanism at the replace-one sensitivity 2/n, evaluated exactly",
            {"num_records": "n", "noise_multiplier": ""},
        )
    }
    shapes: ClassVar[tuple[str, ...] | None] = ("width", *NETWORK)

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """A rate at which no generator was seen to collapse (docs/tried.md); fewer hidden units where images have hundreds of pixels."""
        return {"training.learning_rate": 3e-3} | ({"width": LARGE, "training.steps": 600} if facts.dimensions > 300 else {})

    def embeddings(self, facts: DatasetFacts) -> list[Stage]:
        """The one release."""
        return [embedding_stage(RELEASE, self.config.noise_multiplier)]

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """The Gaussian mechanism of the embedding, and of counts if these are released."""
        return self.gaussian_claim([self.config.noise_multiplier], delta, SOURCE)
