"""The method: what it needs to be planned; what releases and samples is loaded when it starts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Set
from typing import Any, ClassVar

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import CalibratedField, Method, MethodConfig, Target, Workload
from workbench.methods.cluster_moments import stages
from workbench.methods.cluster_moments.config import ClusterMomentsConfig
from workbench.methods.cluster_moments.stages import CLUSTERS, SECOND_MOMENT, SPREADS, SUMS
from workbench.methods.fields import with_values
from workbench.models.sample_request import SampleRequest
from workbench.privacy.accounting.gaussian import gdp_mu
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import Records
from workbench.training.state import State, Step

RECORDS_OF_A_CLUSTER = 100
MOST_NUMBERS = 588  # of an image, however many channels it has
LITTLE_NOISE = 5_000.0  # mu times the records of a class, from which finer clusters and more directions rise above the noise
SIGNAL = 1.5  # numbers of an image to the power 3/2, over mu times the records a channel, from which noise in the second moment takes over
FINE_RECORDS_OF_A_CLUSTER, FINE_NUMBERS = 27, 1_200
FINE: dict[str, Any] = {"clusters": 200, "frequencies": 24, "directions": 250, "rounds": 2, "max_difference": 0.28, "reach": 1.15}


class ClusterMoments(Method):
    """Noisy sums by class and cluster in the directions of one noisy second moment; images drawn from a mixture for each class."""

    name = "cluster-moments"
    title = "Cluster moments"
    source = "the workbench's own: a mixture of Gaussians for each class, by noisy moments on coarse cosines"
    Config = ClusterMomentsConfig
    released: ClassVar[tuple[str, ...]] = ("class_sums", "second_moment", "cluster_sums", "spreads")
    workload: ClassVar[Workload] = Workload(
        dict.fromkeys((SUMS, SECOND_MOMENT, CLUSTERS, SPREADS), ("num_records",)), ("frequencies", "directions", "clusters")
    )
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("noise_multiplier"),)
    sampling_fields: ClassVar[tuple[str, ...]] = ("labels",)
    config: ClusterMomentsConfig

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """Fewer clusters of fewer records, and fewer frequencies of more channels."""
        usual = {name: cls.Config.model_fields[name].default for name in ("clusters", "frequencies")}
        return _within(usual, facts, RECORDS_OF_A_CLUSTER, MOST_NUMBERS)

    @classmethod
    def adapted(
        cls, config: MethodConfig, facts: DatasetFacts, epsilon: float, delta: float, target: Target, given: Set[str]
    ) -> tuple[MethodConfig, str]:
        """Finer where epsilon and the number of records leave little noise, coarser where they leave much."""
        assert isinstance(config, ClusterMomentsConfig)
        signal = gdp_mu(epsilon, delta) * facts.num_records
        if signal / max(facts.num_classes, 1) < LITTLE_NOISE:
            return _coarser(config, facts, frequencies_above_noise(facts, epsilon, delta), given)
        finer = {name: value for name, value in _within(FINE, facts, FINE_RECORDS_OF_A_CLUSTER, FINE_NUMBERS).items() if name not in given}
        told = ", ".join(f"{name} {value:g}" for name, value in finer.items())
        return with_values(config, finer), f"Finer than usual, as epsilon {epsilon:g} leaves little noise on so many records: {told}."

    @property
    def learns_labels(self) -> bool:
        """Where labels are drawn by the noisy counts, which are released in any case."""
        return self.config.labels.are_released

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """The releases."""
        return stages.stages(self.config, facts)

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """No paper."""
        reason = "It is the workbench's own, for images that nobody drew beforehand: no paper claims anything for it."
        return PrivacyValue(epsilon=math.inf, delta=delta, status="not_evaluated", reason=reason, source=self.source)

    def initial_state(self, facts: DatasetFacts, state: State) -> State:
        """Room for the releases."""
        from workbench.methods.cluster_moments import releases

        return releases.initial_state(self.config, facts, state)

    def fit(self, data: Records, public: Records | None, state: State) -> Iterator[Step]:
        """Release each in turn."""
        from workbench.methods.cluster_moments import releases

        yield from releases.fit(self.config, data, state)

    def noise_share(self, state: State) -> float:
        """Of the second moment, in as many directions as images are drawn in."""
        from workbench.methods.class_moments.sampling import noise_share
        from workbench.methods.cluster_moments import mixture

        return noise_share(mixture.second_moment(self.config, state), self.config.used_directions(state.facts))

    def sample(self, state: State, request: SampleRequest) -> Records:
        """Images of the mixture of their class."""
        from workbench.methods.cluster_moments import sampling

        return sampling.sample(self.config, state, request)


def frequencies_above_noise(facts: DatasetFacts, epsilon: float, delta: float) -> int:
    """How many of the coarsest frequencies of each side leave the variance that noise gives below that of records.

    What noise alone adds to the second moment's positive eigenvalues grows as the numbers of an image to the power 3/2. Channels say much
    the same, so that of C channels only a C-th of the records is counted on.
    """
    signal = gdp_mu(epsilon, delta) * facts.num_records
    return max(1, math.isqrt(int((SIGNAL * signal / facts.shape[0]) ** (2 / 3)) // facts.shape[0]))


def _coarser(config: ClusterMomentsConfig, facts: DatasetFacts, frequencies: int, given: Set[str]) -> tuple[ClusterMomentsConfig, str]:
    """At most so many frequencies, of the images' sides."""
    if frequencies >= min(config.frequencies, max(facts.shape[1:])) or "frequencies" in given:
        return config, ""
    changed = with_values(config, {"frequencies": frequencies})

    note = (
        f"Coarser than usual, as epsilon and so few records leave much noise: frequencies {frequencies} in place of {config.frequencies}."
    )
    return changed, note


def _within(values: dict[str, Any], facts: DatasetFacts, records: int, numbers: int) -> dict[str, Any]:
    """The values with clusters of at least so many records on average, and an image of at most so many numbers."""
    clusters = max(1, facts.num_records // (records * max(facts.num_classes, 1)))
    frequencies = max(1, math.isqrt(numbers // facts.shape[0]))
    return values | {"clusters": min(values["clusters"], clusters), "frequencies": min(values["frequencies"], frequencies)}
