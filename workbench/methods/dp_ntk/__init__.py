"""DP-NTK (Yang et al. 2024): noisy means of a random network's gradients by class, and a generator fitted to them."""

from workbench.methods.dp_ntk.method import DPNTK, DPNTKConfig

__all__ = ["DPNTK", "DPNTKConfig"]
