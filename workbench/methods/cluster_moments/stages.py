"""What cluster moments release: Gaussian mechanisms on all records, one after another."""

import math

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.cluster_moments.config import ClusterMomentsConfig
from workbench.privacy.accounting.events import ReplaceOneGaussianDpEvent
from workbench.privacy.accounting.stages import Stage

SUMS, SECOND_MOMENT, CLUSTERS, SPREADS = "class sums", "second moment", "cluster sums", "class spreads"
REASONS = {
    SUMS: "A record adds its clipped image and a one, together of norm at most 1, to the sum of its class: making it null moves the sums "
    "by at most 1. Replaced in its class the ones cancel and two images may be opposite; in another class the two parts are orthogonal.",
    SECOND_MOMENT: "A record adds the outer product of its clipped difference from its class's noisy mean with itself, of Frobenius "
    "norm at most C^2; two of them have no negative inner product, so replacing one moves the sum by at most sqrt(2) C^2.",
    CLUSTERS: "A record adds its clipped difference and a one, together of norm at most 1, to the sum of the cluster of its class that is "
    "nearest to it, by means released before: making it null moves the sums by at most 1, replacing it by as much as the sums by class.",
    SPREADS: "A record adds the squares of its clipped difference from its cluster's mean, of norm at most 1 and none negative: making it "
    "null moves the sums by at most 1, replacing it, label and all, by at most sqrt(2).",
}


def stages(config: ClusterMomentsConfig, facts: DatasetFacts) -> list[Stage]:
    """Sums by class, the second moment of all classes together, sums by cluster in each round, and spreads by class."""
    return [_stage(config, name) for name in REASONS]


def multiplier(config: ClusterMomentsConfig, name: str) -> float:
    """Noise of a release over the distance of a record made null: all of them together are one Gaussian of the configured multiplier."""
    if config.noise_multiplier is None:
        raise WorkbenchError("Expected a noise_multiplier, got none: give one, or an epsilon to calibrate it to.")
    shares = {
        SUMS: config.share_of_sums,
        SECOND_MOMENT: config.share_of_second_moment,
        CLUSTERS: config.share_of_clusters / config.rounds,
        SPREADS: config.share_of_spreads,
    }
    return config.noise_multiplier / math.sqrt(shares[name])


def replaced(config: ClusterMomentsConfig, name: str) -> float:
    """How far replacing one record moves a release, over the distance of a record made null."""
    opposite = 2 * math.sqrt(1 - config.share_of_counts) if name in (SUMS, CLUSTERS) else 0.0
    return max(math.sqrt(2), opposite)


def _stage(config: ClusterMomentsConfig, name: str) -> Stage:
    distance = replaced(config, name)
    in_rounds = name == CLUSTERS
    return Stage(
        name=name,
        event=ReplaceOneGaussianDpEvent(multiplier(config, name) / distance, zero_out_ratio=1 / distance),
        spent="per_step" if in_rounds else "once",
        steps=config.rounds if in_rounds else 1,
        relations=("REPLACE_SPECIAL", "REPLACE_ONE"),
        sampling="all records in every round" if in_rounds else "all records, once",
        reason=REASONS[name],
    )
