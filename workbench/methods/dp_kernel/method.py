"""DP-Kernel (Jiang et al. 2023): a generator that comes near to private records by a sum of Gaussian kernels.

The paper adds a Gaussian process to the mean of kernels at the records of a batch, and trains on what that is at generated images. Its code
draws the process as numbers that are not differentiated, so that the gradient is that of the batch without noise. The sound form
releases the mean of the kernels' random features once, for which any number of steps is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.base import Method, Preset, Reading
from workbench.methods.embedding import NETWORK, EmbeddingConfig, EmbeddingMethod
from workbench.models.embeddings.config import GENERATOR, embedding_stage
from workbench.privacy.accounting.events import UnprovedDpEvent
from workbench.privacy.accounting.formulas import poisson_gaussian_rdp
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.training.ordinary import check_batch_size

RELEASE = "kernel features"
LENGTH_SCALES = (1.0, 2.0, 4.0, 8.0, 16.0)  # of the kernels that are summed
SOURCE = "Jiang et al. 2023 (DP-Kernel), functional Renyi differential privacy"
REASON = (
    "The published code draws its Gaussian process as numbers, which the gradient leaves out: it is that of the batch's squared mean "
    "discrepancy without noise, times 2 (m + xi), so noise decides how far a step goes and not where. A batch with the record "
    "goes where no batch without it does, which refutes every epsilon at a delta below the sampling rate 1/1000, where 9.72 is claimed."
)


class DPKernelConfig(EmbeddingConfig):
    """Hyper-parameters of DP-Kernel."""

    mode: Literal["features", "published"] = Field(
        default="features",
        description="A noisy mean of random features of the kernels, released once; or as the published code, steps on Poisson batches "
        "with noise that is not differentiated: for study.",
    )
    num_features: int = Field(default=2_000, ge=10, description="Random Fourier features (cosines and sines), shared by five kernels.")

    @property
    def size(self) -> int:
        """Features of an image: as many cosines as sines."""
        return self.num_features // 2 * 2

    @property
    def is_published(self) -> bool:
        """Whether it takes the published code's steps."""
        return self.mode == "published"

    def sample_rate(self, facts: DatasetFacts) -> float:
        """Of the published form's Poisson batches, as large as those of generated images."""
        check_batch_size(GENERATOR, self.training.batch_size, facts.num_records)
        return self.training.batch_size / facts.num_records


def published_values(noise_multiplier: float) -> dict[str, Any]:
    """The published code's settings for MNIST."""
    training = {"training.batch_size": 60, "training.steps": 200_000, "training.learning_rate": 5e-5, "training.schedule": "constant"}
    return {"mode": "published", "noise_multiplier": noise_multiplier, **training}


PRESETS = Method.presets | {
    "published": Preset(
        "The published code's steps and noise for epsilon 10 on MNIST, which no bound covers; for study.",
        lambda _facts: published_values(0.6),
        lambda _facts: 1e-5,
    )
}


class DPKernel(EmbeddingMethod[DPKernelConfig]):
    """One release of the label-wise mean of random features of five kernels; as published, steps whose noise hides nothing."""

    name = "dp-kernel"
    title = "DP-Kernel"
    source = "Jiang et al. 2023"
    Config = DPKernelConfig
    implementation = "workbench.methods.dp_kernel.training"
    presets: ClassVar[dict[str, Preset]] = PRESETS
    readings: ClassVar[Mapping[str, Reading]] = {
        "dp-kernel": Reading(
            "DP-Kernel",
            "published",
            "RDP of the Poisson-sampled Gaussian over all steps, as of a Gaussian process on a function",
            {"noise_multiplier": "sigma", "training.batch_size": "B", "num_records": "n", "training.steps": "T"},
        )
    }
    shapes: ClassVar[tuple[str, ...] | None] = ("num_features", "mode", *NETWORK)

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """More features and a smaller learning rate where images have hundreds of pixels, as for DP-MERF."""
        return {"num_features": 10_000, "training.steps": 600, "training.learning_rate": 3e-3} if facts.dimensions > 300 else {}

    def embeddings(self, facts: DatasetFacts) -> list[Stage]:
        """The one release; none as published."""
        return [] if self.config.is_published else [embedding_stage(RELEASE, self.config.noise_multiplier)]

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """The release and what follows from it; as published, counts of labels if asked for and the generator's private steps."""
        if not self.config.is_published:
            return super().stages(facts)
        self.config.sample_rate(facts)
        training = self.config.training
        event = UnprovedDpEvent(REASON, "refuted")
        steps = Stage(GENERATOR, event, "per_step", training.steps, ("REPLACE_SPECIAL",), "Poisson batches", rows=2.0 * training.rows)
        return [*self.config.labels.stages(facts), steps]

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """The paper's Poisson-sampled Gaussian; nothing for the form that releases features."""
        if self.config.is_published and not self.config.labels.are_released:
            if self.config.noise_multiplier is None:
                raise WorkbenchError("Expected a noise_multiplier, got none: give one, or an epsilon to calibrate it to.")
            rate, steps = self.config.sample_rate(facts), self.config.training.steps
            value = poisson_gaussian_rdp(
                noise_multiplier=self.config.noise_multiplier, sample_rate=rate, steps=steps, delta=delta, source=SOURCE
            )
            return value.model_copy(update={"status": "refuted", "reason": REASON})
        reason = "No paper claims anything for one release of the kernels' random features, or for counts of labels: only the bound counts."
        return PrivacyValue(epsilon=math.inf, delta=delta, status="not_evaluated", reason=reason, source=self.source)
