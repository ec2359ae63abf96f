"""Class means, the lowest floor: noisy sums and counts by class, and images drawn around each mean with one public spread.

`class_moments` without its second moment: what is left of an image is what it has in common with its class.
"""

from __future__ import annotations

import math
from typing import ClassVar

from pydantic import Field

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.base import CalibratedField, Method, MethodConfig
from workbench.methods.class_moments.method import COUNTS, REASONS, SUMS
from workbench.models.label_shares import LabelShares
from workbench.privacy.accounting.events import ReplaceOneGaussianDpEvent
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.training.norms import NormOrNone
from workbench.training.switches import Switches


class ClassMeansConfig(MethodConfig):
    """Hyper-parameters of class means."""

    switches: ClassVar[Switches] = {"max_norm": (0.0, 4.0)}

    noise_multiplier: float | None = Field(
        default=None, ge=1e-3, le=1e6, description="Noise of both releases together, over the norm of one record; empty calibrates it."
    )
    share_of_counts: float = Field(
        default=0.1, ge=1e-4, le=0.9999, description="Part of the squared budget that the counts by class have; the sums have the rest."
    )
    max_norm: NormOrNone = Field(
        default=0.0, description="Norm that an image with pixels in [0, 1] is clipped to; 0 takes a quantile of public images' norms."
    )
    quantile: float = Field(default=0.95, gt=0, le=1, description="Which quantile of the norms of public images.")
    dataset: str = Field(default="glyphs", description="Public images that the norm is taken from.")
    records: int = Field(default=20_000, ge=1, description="How many of them.")
    spread: float = Field(default=0.15, ge=0, le=10, description="Deviation of every pixel around its class's mean, in what is drawn.")
    labels: LabelShares = LabelShares()

    def multiplier(self, name: str) -> float:
        """Noise of a release over the distance of a record made null: together they are one Gaussian of the configured multiplier."""
        if self.noise_multiplier is None:
            raise WorkbenchError("Expected a noise_multiplier, got none: give one, or an epsilon to calibrate it to.")
        return self.noise_multiplier / math.sqrt({SUMS: 1.0 - self.share_of_counts, COUNTS: self.share_of_counts}[name])


class ClassMeans(Method):
    """Noisy sums and counts by class; images drawn around their quotients."""

    name = "class-means"
    title = "Class means (the lowest floor)"
    source = "the workbench's own: what two Gaussian releases give without any network"
    Config = ClassMeansConfig
    implementation = "workbench.methods.class_means.training"
    released: ClassVar[tuple[str, ...]] = ("norm", "sums", "counts")
    shapes: ClassVar[tuple[str, ...] | None] = ()
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("noise_multiplier"),)
    sampling_fields: ClassVar[tuple[str, ...]] = ("labels", "spread")
    config: ClassMeansConfig

    @property
    def public_dataset(self) -> str | None:
        """The images that the clipping norm is taken from; None where it is given."""
        return None if self.config.max_norm else self.config.dataset

    @property
    def public_records(self) -> int | None:
        """How many of its records are used."""
        return self.config.records

    @property
    def learns_labels(self) -> bool:
        """Where labels are drawn by the noisy counts, which are released in any case."""
        return self.config.labels.are_released

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """Sums and counts by class."""
        return [
            Stage(
                name=name,
                event=ReplaceOneGaussianDpEvent(self.config.multiplier(name) / math.sqrt(2), zero_out_ratio=math.sqrt(0.5)),
                spent="once",
                relations=("REPLACE_SPECIAL", "REPLACE_ONE"),
                sampling="all records, once",
                reason=REASONS[name],
            )
            for name in (SUMS, COUNTS)
        ]

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """No paper."""
        reason = "It is the workbench's own, as the lowest floor: no paper claims anything for it."
        return PrivacyValue(epsilon=math.inf, delta=delta, status="not_evaluated", reason=reason, source=self.source)
