"""Class moments with a public prior: Gaussian releases, read as what public images lead to expect, moved as far as the noise allows.

Public images give every class a mean, and all of them a covariance. Released is how the private records differ from that, with the
noise of `class_moments`; how much of it is believed is empirical Bayes: the prior's width is what makes the noisy release likeliest.
"""

from workbench.methods.prior_moments.config import PriorMomentsConfig
from workbench.methods.prior_moments.method import PriorMoments

__all__ = ["PriorMoments", "PriorMomentsConfig"]
