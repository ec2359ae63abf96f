"""DPDM after Chu et al. 2023: a diffusion model with learned variances, trained by DP-SGD under an adaptive clipping threshold."""

from workbench.methods.chu_dpdm.method import TRAINING, ChuDPDM, ChuDPDMConfig

__all__ = ["TRAINING", "ChuDPDM", "ChuDPDMConfig"]
