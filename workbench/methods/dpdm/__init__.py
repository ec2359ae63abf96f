"""DPDM (Dockhorn et al. 2023): a diffusion model in EDM's form, trained by DP-SGD with many noise samples a record."""

from workbench.methods.dpdm.method import DPDM, DPDMConfig

__all__ = ["DPDM", "DPDMConfig"]
