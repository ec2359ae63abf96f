"""PEARL (Liew et al. 2022): a noisy characteristic function by class, and a generator fitted to it where it differs most.

The release is DP-MERF's; a critic learns by it which frequencies to weigh. The paper also pays for auxiliary statistics, the scale of the
frequencies and the share of each class: here the scale follows from the images' size, and shares are `labels`, if asked for.
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
from workbench.training.switches import Switches

RELEASE = "characteristic function"


class PEARLConfig(EmbeddingConfig):
    """Hyper-parameters of PEARL."""

    switches: ClassVar[Switches] = {"length_scale": (0.0, 129**0.5), "critic_every": (0,)}

    num_features: int = Field(default=2_000, ge=2, description="Real and imaginary parts of the characteristic function, together.")
    length_scale: float = Field(
        default=0.0, ge=0, le=1e6, description="Inverse deviation of the frequencies, of pixels in [0, 1]; 0 takes sqrt(0.134 dimensions)."
    )
    critic_every: int = Field(default=5, ge=0, description="Generator steps to a step of the critic; 0 leaves all frequencies alike.")
    critic_rate: float = Field(default=1e-3, ge=1e-9, le=1e3, description="The critic's learning rate.")

    @property
    def size(self) -> int:
        """Numbers of an image: as many real as imaginary parts."""
        return self.num_features // 2 * 2


SOURCE = "Liew et al. 2022 (PEARL), analytic Gaussian mechanism"
PUBLISHED = Preset(
    "The published code's noise for epsilon 1 and its frequencies for images of 28x28; the embedding alone costs 0.63 at delta 1e-5.",
    lambda _facts: {"noise_multiplier": 5.72, "num_features": 3000, "length_scale": 129**0.5},
    lambda _facts: 1e-5,
)


class PEARL(EmbeddingMethod[PEARLConfig]):
    """One release of the label-wise characteristic function at random frequencies; critic and generator are post-processing."""

    name = "pearl"
    title = "PEARL"
    source = "Liew et al. 2022"
    Config = PEARLConfig
    implementation = "workbench.methods.pearl.training"
    presets: ClassVar[dict[str, Preset]] = Method.presets | {"published": PUBLISHED}
    readings: ClassVar[Mapping[str, Reading]] = {
        "pearl": Reading(
            "PEARL, its embedding alone",
            "published",
            "analytic Gaussian mechanism at the replace-one sensitivity 2/n, without the paper's auxiliary statistics",
            {"num_records": "n", "noise_multiplier": ""},
        )
    }
    shapes: ClassVar[tuple[str, ...] | None] = ("num_features", *NETWORK)

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """More features and a smaller learning rate where images have hundreds of pixels, as for DP-MERF."""
        return {"num_features": 10_000, "training.steps": 600, "training.learning_rate": 3e-3} if facts.dimensions > 300 else {}

    def embeddings(self, facts: DatasetFacts) -> list[Stage]:
        """The one release."""
        return [embedding_stage(RELEASE, self.config.noise_multiplier)]

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """The analytic Gaussian mechanism of the embedding, and of counts if these are released."""
        return self.gaussian_claim([self.config.noise_multiplier], delta, SOURCE)
