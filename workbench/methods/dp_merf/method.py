"""DP-MERF (Harder, Adamczewski and Park 2021): one Gaussian release of a mean embedding, then a generator fitted to it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import Method, Preset, Reading
from workbench.methods.embedding import NETWORK, EmbeddingConfig, EmbeddingMethod
from workbench.models.embeddings.config import embedding_stage
from workbench.privacy.accounting.formulas import gaussian_releases
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.training.switches import Switches


class DPMERFConfig(EmbeddingConfig):
    """Hyper-parameters of DP-MERF."""

    switches: ClassVar[Switches] = {"length_scale": (0.0, 2.0)}

    num_features: int = Field(default=2_000, ge=2, description="Random Fourier features (cosines and sines together).")
    length_scale: float = Field(
        default=0.0, ge=0, le=1e6, description="Kernel length scale on pixels in [0, 1]; 0 takes sqrt(0.134 dimensions)."
    )

    @property
    def size(self) -> int:
        """Features of an image: as many cosines as sines."""
        return self.num_features // 2 * 2


RELEASE = "release"

READINGS = {
    "dp-merf": Reading(
        title="DP-MERF",
        preset="claim-1",
        formula="analytic Gaussian mechanism at the replace-one sensitivity 2/n, noise_multiplier over it",
        notation={"num_records": "n", "noise_multiplier": ""},
    )
}


def claimed(*, noise_multiplier: float, delta: float, counts_noise: float = math.inf) -> PrivacyValue:
    """One Gaussian mechanism on the mean embedding, noise over its replace-one sensitivity 2/n; exactly GDP.

    `counts_noise` is that of each class's count, two of which a record in another's place moves by one; infinite where none are released.
    """
    if math.isfinite(counts_noise):
        noise_multiplier = (noise_multiplier**-2 + 2.0 / counts_noise**2) ** -0.5
    return gaussian_releases(noise_multiplier, 1, delta, "Harder et al. 2021 (DP-MERF), analytic Gaussian mechanism")


PRESETS = Method.presets | {
    "claim-1": Preset(
        "The noise multiplier whose claim is epsilon 1 at delta 1e-5, by the paper's formula; everything else suits the dataset.",
        lambda _facts: {"noise_multiplier": 3.7306},
        lambda _facts: 1e-5,
    )
}


class DPMERF(EmbeddingMethod[DPMERFConfig]):
    """One release of the label-wise mean of random Fourier features; everything after it is post-processing."""

    name = "dp-merf"
    title = "DP-MERF"
    source = "Harder, Adamczewski and Park 2021"
    Config = DPMERFConfig
    implementation = "workbench.methods.dp_merf.training"
    presets: ClassVar[dict[str, Preset]] = PRESETS
    readings: ClassVar[Mapping[str, Reading]] = READINGS
    shapes: ClassVar[tuple[str, ...] | None] = ("num_features", *NETWORK)

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """10 000 features where images have hundreds of pixels; small images need fewer, which add less noise.

        Mostly black images want the smaller learning rate: at 1e-2 the generator may fall to all black and stay there.
        """
        return {"num_features": 10_000, "training.steps": 600, "training.learning_rate": 3e-3} if facts.dimensions > 300 else {}

    def embeddings(self, facts: DatasetFacts) -> list[Stage]:
        """The one release."""
        return [embedding_stage(RELEASE, self.config.noise_multiplier)]

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """The paper's analytic Gaussian mechanism at sensitivity 2/num_records, with that of the counts, if these are released."""
        assert self.config.noise_multiplier is not None
        return claimed(noise_multiplier=self.config.noise_multiplier, delta=delta, counts_noise=self.counts_noise)
