"""DP-Diffusion (Ghalebikesabi et al. 2023): DP-SGD fine-tuning of a whole diffusion model that was trained on public images before."""

from workbench.methods.dp_diffusion.method import FINE_TUNING, DPDiffusion, DPDiffusionConfig

__all__ = ["FINE_TUNING", "DPDiffusion", "DPDiffusionConfig"]
