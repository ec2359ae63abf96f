"""Class moments with a public prior: Gaussian releases, read as what public images lead to expect, moved as far as the noise allows.

Public images give every class a mean, and all of them a covariance. Released is how the private records differ from that, with the
noise of `class_moments`; how much of it is believed is empirical Bayes: the prior's width is what makes the noisy release likeliest.
"""

from __future__ import annotations

import math
from typing import ClassVar

from pydantic import Field

from workbench.datasets.base import DatasetFacts
from workbench.methods.class_moments import ClassMoments, ClassMomentsConfig
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.training.norms import NormOrNone
from workbench.training.switches import Switches


class PriorMomentsConfig(ClassMomentsConfig):
    """Hyper-parameters of class moments with a public prior: those of class moments, with other defaults."""

    switches: ClassVar[Switches] = {**ClassMomentsConfig.switches, "max_norm": (0.0, 0.5)}  # differences are shorter than images
    signed: ClassVar[bool] = True

    share_of_sums: float = Field(default=0.6, ge=1e-4, le=0.9999, description="Part of the squared budget that the sums by class have.")
    max_norm: NormOrNone = Field(
        default=0.0,
        description="Norm that the difference of an image, with pixels in [0, 1], from its class's public mean is clipped to; 0 takes a "
        "quantile of public images' own.",
    )
    quantile: float = Field(default=0.99, gt=0, le=1, description="Which quantile of the norms of public differences.")
    dataset: str = Field(default="glyphs", min_length=1, description="Public images that the prior, and the norm, are taken from.")


PRIOR = "public prior"


class PriorMoments(ClassMoments):
    """Class moments, released as differences from those of public images and believed as far as their noise allows."""

    name = "prior-moments"
    title = "Class moments with a public prior"
    source = "the workbench's own: empirical Bayes (Morris 1983) on three Gaussian releases"
    Config = PriorMomentsConfig
    implementation = "workbench.methods.prior_moments.training"
    released: ClassVar[tuple[str, ...]] = ("public_means", "public_covariance", *ClassMoments.released)

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
