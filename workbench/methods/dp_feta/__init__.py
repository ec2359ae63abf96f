"""DP-FETA (Li, Gong et al. 2025): noisy mean images of the classes warm a diffusion model up, DP-SGD trains it."""

from workbench.methods.dp_feta.method import CENTRAL, DPFETA, WARM_UP, DPFETAConfig

__all__ = ["CENTRAL", "DPFETA", "WARM_UP", "DPFETAConfig"]
