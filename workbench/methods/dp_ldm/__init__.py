"""DP-LDM (Lyu et al. 2023): DP-SGD on the attention of a latent diffusion model that was trained on public images before."""

from workbench.methods.dp_ldm.method import DPLDM, DPLDMConfig

__all__ = ["DPLDM", "DPLDMConfig"]
