"""DP-MEPF (Harder et al. 2023): noisy moments of a public network's features by class, and a generator fitted to them."""

from workbench.methods.dp_mepf.method import DPMEPF, DPMEPFConfig

__all__ = ["DPMEPF", "DPMEPFConfig"]
