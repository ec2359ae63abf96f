"""Votes and clusters: drawings that records voted for and draws of a mixture of Gaussians, side by side under one bound.

Drawings have sharp edges and only the shapes that were drawn; Gaussians have the records' own shapes and no sharp edge.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.base import CalibratedField, Method, MethodConfig, Preset, Reading, Target
from workbench.methods.cluster_moments import method as cluster_moments
from workbench.methods.fields import with_values
from workbench.methods.private_evolution.method import Evolution, PrivateEvolution
from workbench.models.label_shares import LabelShares
from workbench.models.selection import config as selecting
from workbench.privacy.accounting.gaussian import gdp_epsilon, gdp_mu
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue


class VotesAndClustersConfig(MethodConfig):
    """Hyper-parameters of votes and clusters; the noise of either part follows from one multiplier and the share."""

    noise_multiplier: float | None = Field(
        default=None, ge=1e-3, le=1e6, description="Noise of all releases together, over the distance of one record; empty calibrates it."
    )
    share_of_votes: float = Field(default=0.5, ge=1e-4, le=0.9999, description="Part of the squared budget that the votes have.")
    share_of_drawings: float = Field(
        default=0.5, ge=0, le=1, description="Part of each class's samples that are drawings; the others are of its mixture of Gaussians."
    )
    variation_of_mixtures: float = Field(
        default=0.0, ge=0, le=1e6, description="Size of the selection's variations of what is drawn of mixtures; 0 draws it as it is."
    )
    selection: Evolution = Evolution()
    draws: selecting.Draws = selecting.Draws()
    clusters: cluster_moments.Mixtures = cluster_moments.Mixtures()
    labels: LabelShares = LabelShares()

    @model_validator(mode="after")
    def _one_multiplier(self) -> Self:
        if self.selection.noise_multiplier is not None or self.clusters.noise_multiplier is not None:
            raise ValueError("Expected one noise_multiplier for both parts: leave those of selection and clusters empty")
        return self

    @property
    def votes(self) -> Evolution:
        """The rounds of votes with their noise: all of them are one Gaussian mechanism of the share's part."""
        return with_values(self.selection, {"noise_multiplier": self._known() * math.sqrt(self.selection.rounds / self.share_of_votes)})

    @property
    def mixtures(self) -> cluster_moments.Mixtures:
        """The mixtures with the noise of what the votes leave."""
        return with_values(self.clusters, {"noise_multiplier": self._known() / math.sqrt(1 - self.share_of_votes)})

    @property
    def has_frames(self) -> bool:
        """Whether drawings are voted for in the standard frame and brought to frames of the mixtures."""
        return self.clusters.moment_normalisation and self.selection.space == "standard-frame"

    def _known(self) -> float:
        if self.noise_multiplier is None:
            raise WorkbenchError("Expected a noise_multiplier, got none: give one, or an epsilon to calibrate it to.")
        return self.noise_multiplier


IN_STANDARD_FRAME: dict[str, Any] = {"clusters.moment_normalisation": True, "selection.space": "standard-frame"}  # docs/tried.md
LITTLE_NOISE: dict[str, Any] = {"selection.rounds": 8, "selection.candidates": 2_000}
MOST_CLUSTERS, RECORDS_OF_A_CLUSTER = 200, 27  # then; variations fill what lies between them


class VotesAndClusters(PrivateEvolution):
    """Public images that private records voted for, and images of a mixture of Gaussians for each class, under one bound."""

    name = "votes-and-clusters"
    title = "Votes and clusters"
    source = "the workbench's own: the votes of Lin et al. 2024 and cluster moments, half of mu^2 each"
    Config = VotesAndClustersConfig
    implementation = "workbench.methods.votes_and_clusters.training"
    presets: ClassVar[dict[str, Preset]] = Method.presets
    readings: ClassVar[Mapping[str, Reading]] = {}
    released: ClassVar[tuple[str, ...]] = (*selecting.RELEASED, *cluster_moments.RELEASED)
    sampling_fields: ClassVar[tuple[str, ...]] = ("share_of_drawings", "variation_of_mixtures", "draws", "labels")
    shapes: ClassVar[tuple[str, ...] | None] = (
        *(PrivateEvolution.shapes or ()),
        "clusters.frequencies",
        "clusters.directions",
        "clusters.clusters",
        "clusters.groups",
        "clusters.moment_normalisation",
    )
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("noise_multiplier"),)
    config: VotesAndClustersConfig  # type: ignore[assignment]

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """Those of both; large drawings are looked at in the standard frame, and draws of mixtures are varied as drawings are."""
        values = selecting.defaults(facts) | _of_clusters(cluster_moments.defaults(facts))
        if not selecting.is_large_drawing(facts):
            return values
        return values | IN_STANDARD_FRAME | {"variation_of_mixtures": values["draws.variation_size"]}

    @classmethod
    def adapted(
        cls, config: MethodConfig, facts: DatasetFacts, epsilon: float, delta: float, target: Target, given: Set[str]
    ) -> tuple[MethodConfig, str]:
        """Clusters as they suit their share of the budget, and more rounds of more candidates where that leaves little noise."""
        assert isinstance(config, VotesAndClustersConfig)
        left = gdp_epsilon(gdp_mu(epsilon, delta) * math.sqrt(1 - config.share_of_votes), delta)
        more = _with_little_noise(facts) if cluster_moments.has_little_noise(facts, left, delta) else {}
        more = {name: value for name, value in more.items() if name not in given}
        config = with_values(config, more)
        of_clusters = {name.removeprefix("clusters.") for name in given | set(more) if name.startswith("clusters.")}
        clusters, note = cluster_moments.adapted(config.clusters, facts, left, delta, of_clusters)
        note += "".join(f" {name} {value:g} for the same reason." for name, value in more.items())
        return with_values(config, {"clusters": clusters}), note

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """Candidates (free) and votes, in turn, then the releases of the mixtures."""
        return [*self.config.votes.stages(facts), *cluster_moments.stages_of(self.config.mixtures)]

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """No paper."""
        reason = "It is the workbench's own: no paper claims anything for the two together."
        return PrivacyValue(epsilon=math.inf, delta=delta, status="not_evaluated", reason=reason, source=self.source)


def _with_little_noise(facts: DatasetFacts) -> dict[str, Any]:
    clusters = max(1, selecting.records_a_class(facts) // RECORDS_OF_A_CLUSTER)
    return LITTLE_NOISE | {"clusters.clusters": min(MOST_CLUSTERS, clusters)}


def _of_clusters(values: Mapping[str, Any]) -> dict[str, Any]:
    return {f"clusters.{name}": value for name, value in values.items()}
