"""Where the labels come from that teacher, student and discriminator are told, and what finding them releases. No torch."""

from __future__ import annotations

import math
from typing import ClassVar, Literal

from dp_accounting import dp_event
from pydantic import BaseModel, ConfigDict, Field

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.privacy.accounting.events import ReplaceOneGaussianDpEvent
from workbench.privacy.accounting.stages import Stage
from workbench.training.norms import NormOrNone
from workbench.training.ordinary import OrdinaryTraining
from workbench.training.switches import Switches

FEATURES, CENTROIDS, SUMS = "self-supervised features", "centroids", "cluster sums"  # the stages
NORM = "norm of pixels"  # a tensor of the state: what an image is clipped to in DP k-means
Source = Literal["given", "public", "dp-k-means", "self-supervised"]


class SelfSupervision(OrdinaryTraining):
    """The network that learns without labels, in the paper's modes from private records, without protection."""

    steps: int = Field(default=200, ge=1, description="Contrastive steps on private records, without protection.")
    batch_size: int = Field(default=128, ge=2, description="Private records in a contrastive step, each in two variations.")
    temperature: float = Field(default=0.5, ge=1e-3, le=1e3, description="Temperature of the contrastive loss.")


class Labels(BaseModel):
    """Labels: the dataset's own, or the nearest of k centroids."""

    switches: ClassVar[Switches] = {"rounds": (1, 2), "max_norm": (0.0, 3.0)}

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    source: Source = Field(
        default="given",
        description="given: the dataset's own, if any. Else the nearest centroid: public: of k-means on public images; dp-k-means: of "
        "private sums and counts; self-supervised (eq15 and eq17): of k-means on features learned from private records, unprotected.",
    )
    clusters: int = Field(default=10, ge=1, le=1_000, description="Centroids k, and so labels.")
    rounds: int = Field(default=4, ge=1, le=1_000, description="Rounds of DP k-means; each releases all sums and counts once.")
    noise_multiplier: float | None = Field(
        default=None, ge=1e-3, le=1e6, description="Noise of a round of DP k-means, over what a record adds; empty takes its share."
    )
    share: float = Field(
        default=0.2, ge=1e-4, le=0.9999, description="Part of the target's mu^2 (Gaussian differential privacy) that DP k-means takes."
    )
    max_norm: NormOrNone = Field(
        default=0.0,
        description="Norm that an image with pixels in [0, 1] is clipped to in DP k-means; 0 takes a quantile of public images' norms, or "
        "the norm of a white image where there are no public ones.",
    )
    quantile: float = Field(default=0.99, gt=0, le=1, description="Which quantile of the norms of public images.")
    self_supervision: SelfSupervision = SelfSupervision()

    @property
    def are_given(self) -> bool:
        """Whether the dataset's own labels are told, if it has any."""
        return self.source == "given"

    @property
    def are_paid_for(self) -> bool:
        """Whether private records are released anything of to find them."""
        return self.source == "dp-k-means"

    def known_noise_multiplier(self) -> float:
        """The noise multiplier of a round of DP k-means; refused while there is none."""
        if self.noise_multiplier is None:
            raise WorkbenchError("Expected a labels.noise_multiplier of DP k-means, got none: give one, or an epsilon to calibrate it to.")
        return self.noise_multiplier

    def clustered_facts(self, facts: DatasetFacts) -> DatasetFacts:
        """The facts with the clusters as classes, as the networks know them."""
        if self.are_given:
            return facts
        return facts.model_copy(update={"classes": tuple(f"cluster {number}" for number in range(1, self.clusters + 1))})

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """DP k-means is paid for; public centroids are free, as is what stays in the room with all that the paper's modes keep there."""
        unreleased = dp_event.NoOpDpEvent()
        if self.source == "public":
            return [Stage(CENTROIDS, None, "free")]
        if self.source == "dp-k-means":
            return [Stage(CENTROIDS, None, "free", self.rounds + 1), self.round_stage(facts)]
        if self.source == "self-supervised":
            learned = Stage(FEATURES, unreleased, "per_step", self.self_supervision.steps, reason="", rows=self.self_supervision.rows)
            return [learned, Stage(CENTROIDS, unreleased, "once", reason="")]
        return []

    def round_stage(self, facts: DatasetFacts) -> Stage:
        """Each round's sums and counts of all clusters are one release (the noisy Lloyd iterations of Blum et al. 2005, Gaussian)."""
        return Stage(
            name=SUMS,
            event=ReplaceOneGaussianDpEvent(self.known_noise_multiplier() / math.sqrt(2), zero_out_ratio=math.sqrt(0.5)),
            spent="per_step",
            steps=self.rounds,
            relations=("REPLACE_SPECIAL", "REPLACE_ONE"),
            sampling="all records in every round",
            reason="In a round every record adds a vector of norm at most 1 without negative numbers, its clipped pixels and a one, to the "
            "sums of the centroid nearest to it, so making it null moves the sums by at most 1, and replacing it by at most sqrt(2).",
        )
