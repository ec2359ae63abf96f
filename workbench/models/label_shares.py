"""In which shares classes are drawn where none is asked for: equal ones, or those that releases with noise give. No torch."""

from dataclasses import replace
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.models.sample_request import SampleRequest
from workbench.privacy.accounting.stages import Stage
from workbench.training.marginals import drawn_categories, marginals_stage, shares
from workbench.training.streams import Stream

LABEL_COUNTS = "label counts"


class LabelShares(BaseModel):
    """Whether a model draws its classes in turn, as papers do on images, or as often as noisy counts say that they occur."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    shares: Literal["balanced", "released"] = Field(
        default="balanced",
        description="Classes of samples where none is asked for: all in turn, or in the shares that noisy counts by class give them.",
    )

    @property
    def are_released(self) -> bool:
        """Whether they are drawn by noisy counts."""
        return self.shares == "released"


class PaidLabelShares(BaseModel):
    """The same for a model that releases no counts anyway: they are a release of their own, at a price."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    shares: Literal["balanced", "released"] = Field(
        default="balanced",
        description="Classes of samples where none is asked for: all in turn, or in the shares that noisy counts give them, which are a "
        "release of their own.",
    )
    noise_multiplier: float = Field(
        default=20.0, ge=1e-3, le=1e6, description="Noise of each class's count, in records; counts where shares are released."
    )

    @property
    def are_released(self) -> bool:
        """Whether they are drawn by noisy counts."""
        return self.shares == "released"

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """The counts, if they are asked for; refuses records without classes."""
        if not self.are_released:
            return []
        if not facts.classes:
            raise WorkbenchError(f"Expected classes to count, got {facts.name}, which has none. Leave labels.shares at balanced.")
        counts = marginals_stage(LABEL_COUNTS, self.noise_multiplier, facts.num_classes)
        return [replace(counts, reason="A record adds one to the count of its class: making it null moves one by 1, replacing it two.")]


def labels_by(
    config: LabelShares | PaidLabelShares, request: SampleRequest, num_classes: int, counts: np.ndarray, draw: Stream
) -> np.ndarray | None:
    """The labels that a request asks for, int64 (N,), else in turn or drawn by noisy counts (classes,); None where records carry none.

    Those of the source "public" never follow the counts, which are of private records.
    """
    requested = request.asked_labels(num_classes)
    if requested is not None or not request.labelled or not config.are_released or request.source == "public" or not num_classes:
        return request.label_array(num_classes)
    total = float(counts.sum())
    chances = shares(counts, total) if total > 0 else np.full(num_classes, 1.0 / num_classes)
    return drawn_categories(np.broadcast_to(chances, (request.num_samples, num_classes)), draw.random(request.num_samples))
