"""P3GM (Takagi et al. 2021): private principal components and mixtures of Gaussians, and a decoder that DP-SGD trains between them."""

from workbench.methods.p3gm.method import P3GM, P3GMConfig

__all__ = ["P3GM", "P3GMConfig"]
