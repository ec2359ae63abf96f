"""The method: what it needs to be planned; what releases and samples is loaded when it starts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import ClassVar

from workbench.datasets.base import DatasetFacts
from workbench.methods.class_moments import ClassMoments
from workbench.methods.prior_moments.config import PriorMomentsConfig
from workbench.models.sample_request import SampleRequest
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import Records
from workbench.training.state import State, Step

PRIOR = "public prior"


class PriorMoments(ClassMoments):
    """Class moments, released as differences from those of public images and believed as far as their noise allows."""

    name = "prior-moments"
    title = "Class moments with a public prior"
    source = "the workbench's own: empirical Bayes (Morris 1983) on three Gaussian releases"
    Config = PriorMomentsConfig
    released: ClassVar[tuple[str, ...]] = ("norm", "public_means", "public_covariance", *ClassMoments.released)

    @property
    def public_dataset(self) -> str | None:
        """The images that the prior is taken from."""
        return self.config.dataset

    @property
    def has_public_model(self) -> bool:
        """The prior itself."""
        return True

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """The prior (free) and the three releases."""
        return [Stage(PRIOR, None, "free"), *super().stages(facts)]

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """No paper."""
        reason = "It is the workbench's own: no paper claims anything for it."
        return PrivacyValue(epsilon=math.inf, delta=delta, status="not_evaluated", reason=reason, source=self.source)

    def initial_state(self, facts: DatasetFacts, state: State) -> State:
        """Room for the prior and the releases."""
        from workbench.methods.prior_moments import prior

        return prior.add_to(self.config, facts, super().initial_state(facts, state))

    def fit(self, data: Records, public: Records | None, state: State) -> Iterator[Step]:
        """Take the prior from public images; release how the records differ from it."""
        from workbench.methods.class_moments import releases
        from workbench.methods.prior_moments import prior

        if state.steps.get(PRIOR, 0) == 0:
            prior.learn(self.config, public, state)
            state.steps[PRIOR] = 1
            yield Step(PRIOR, 1, 1, private=False)
        yield from releases.fit(self.config, data, prior.reading(self.config, state), state)

    def noise_share(self, state: State) -> float:
        """Of the posterior's covariance."""
        from workbench.methods.class_moments import sampling
        from workbench.methods.prior_moments import posterior

        return sampling.noise_share(posterior.gaussians(self.config, state)[1])

    def sample(self, state: State, request: SampleRequest) -> Records:
        """Images of the Gaussian of their class; source 'public' takes the prior's."""
        from workbench.methods.class_moments import sampling
        from workbench.methods.prior_moments import posterior, prior

        means, covariance = prior.gaussians(state) if request.source == "public" else posterior.gaussians(self.config, state)
        return sampling.drawn(self.config, means, sampling.root(covariance), state, request)
