"""The method: what it needs to be planned; what releases and samples is loaded when it starts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import CalibratedField, Method, Workload
from workbench.methods.class_moments import stages
from workbench.methods.class_moments.config import MOST_DIMENSIONS, ClassMomentsConfig
from workbench.methods.class_moments.stages import COUNTS, SECOND_MOMENT, SUMS
from workbench.models.sample_request import SampleRequest
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import Records
from workbench.training.state import State, Step


class ClassMoments(Method):
    """Noisy sums and counts by class and one noisy second moment; images drawn from a Gaussian for each class."""

    name = "class-moments"
    title = "Class moments (the floor)"
    source = "the workbench's own: what three Gaussian releases give without any network"
    Config = ClassMomentsConfig
    released: ClassVar[tuple[str, ...]] = ("sums", "counts", "second_moment")
    workload: ClassVar[Workload] = Workload(dict.fromkeys((SUMS, COUNTS, SECOND_MOMENT), ("num_records",)), ("pooling",))
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("noise_multiplier"),)
    sampling_fields: ClassVar[tuple[str, ...]] = ("labels",)
    config: ClassMomentsConfig

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """Large images are averaged down, as a second moment has half as many numbers as the square of theirs."""
        return {"pooling": math.ceil(math.sqrt(max(1.0, facts.dimensions / MOST_DIMENSIONS)))}

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
        """The three releases."""
        return stages.stages(self.config, facts)

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """No paper."""
        reason = "It is the workbench's own, as the floor that a method should beat: no paper claims anything for it."
        return PrivacyValue(epsilon=math.inf, delta=delta, status="not_evaluated", reason=reason, source=self.source)

    def initial_state(self, facts: DatasetFacts, state: State) -> State:
        """Room for the releases."""
        from workbench.methods.class_moments import releases

        return releases.initial_state(self.config, facts, state)

    def fit(self, data: Records, public: Records | None, state: State) -> Iterator[Step]:
        """Release each of the three once."""
        from workbench.methods.class_moments import releases

        reading = releases.Reading(releases.clipping_norm(self.config, public), self.config.pooling)
        yield from releases.fit(self.config, data, reading, state)

    def noise_share(self, state: State) -> float:
        """Of the covariance that all classes share."""
        from workbench.methods.class_moments import sampling

        counts = sampling.counts_of(state)
        return sampling.noise_share(sampling.within(state, state.tensors["sums"].cpu().numpy() / counts[:, None], counts))

    def sample(self, state: State, request: SampleRequest) -> Records:
        """Images of the Gaussian of their class."""
        from workbench.methods.class_moments import sampling

        return sampling.sample(self.config, state, request)
