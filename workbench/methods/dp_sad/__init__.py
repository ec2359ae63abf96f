"""DP-SAD (Liu et al. 2024): a student diffusion model, distilled from a teacher beside a discriminator, by private steps."""

from workbench.methods.dp_sad.method import DPSAD, DPSADConfig

__all__ = ["DPSAD", "DPSADConfig"]
