"""Hyper-parameters of class moments with a public prior."""

from typing import ClassVar

from pydantic import Field

from workbench.methods.class_moments import ClassMomentsConfig
from workbench.training.norms import NormOrNone


class PriorMomentsConfig(ClassMomentsConfig):
    """Hyper-parameters of class moments with a public prior: those of class moments, with other defaults."""

    signed: ClassVar[bool] = True

    share_of_sums: float = Field(default=0.6, ge=1e-4, le=0.9999, description="Part of the squared budget that the sums by class have.")
    max_norm: NormOrNone = Field(
        default=0.0,
        description="Norm that the difference of an image, with pixels in [0, 1], from its class's public mean is clipped to; 0 takes a "
        "quantile of public images' own.",
    )
    quantile: float = Field(default=0.99, gt=0, le=1, description="Which quantile of the norms of public differences.")
    dataset: str = Field(default="glyphs", min_length=1, description="Public images that the prior, and the norm, are taken from.")
