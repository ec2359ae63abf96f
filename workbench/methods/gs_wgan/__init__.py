"""GS-WGAN (Chen, Orekondy and Fritz 2020): a generator that learns by noisy gradients of its images, from one of many critics a step."""

from workbench.methods.gs_wgan.method import GSWGAN, GSWGANConfig

__all__ = ["GSWGAN", "GSWGANConfig"]
