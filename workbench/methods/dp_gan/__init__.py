"""DP-GAN (Xie et al. 2018): a Wasserstein GAN whose critic sees records through noisy gradients, in the sound form of Bie et al. (2023)."""

from workbench.methods.dp_gan.method import DPGAN, DPGANConfig

__all__ = ["DPGAN", "DPGANConfig"]
