"""PATE-GAN (Jordon, Yoon and van der Schaar 2019)."""

from workbench.methods.pate_gan.method import PATEGAN, PATEGANConfig

__all__ = ["PATEGAN", "PATEGANConfig"]
