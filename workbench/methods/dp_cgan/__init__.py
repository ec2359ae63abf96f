"""DP-CGAN (Torkzadehmahani, Kairouz and Paten 2019): a conditional GAN whose discriminator is trained by DP-SGD."""

from workbench.methods.dp_cgan.method import DPCGAN, DPCGANConfig

__all__ = ["DPCGAN", "DPCGANConfig"]
