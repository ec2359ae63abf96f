"""Class moments with a public prior: Gaussian releases, read as what public images lead to expect, moved as far as the noise allows."""

from workbench.methods.prior_moments.method import PriorMoments, PriorMomentsConfig

__all__ = ["PriorMoments", "PriorMomentsConfig"]
