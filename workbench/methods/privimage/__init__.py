"""PrivImage (Li et al. 2024): private records choose kinds of public images, a diffusion model learns those, DP-SGD refines it."""

from workbench.methods.privimage.method import PrivImage, PrivImageConfig

__all__ = ["PrivImage", "PrivImageConfig"]
