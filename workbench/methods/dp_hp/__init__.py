"""DP-HP (Vinaroz et al. 2022): noisy means of Hermite features by class, and a generator fitted to them."""

from workbench.methods.dp_hp.method import DPHP, DPHPConfig

__all__ = ["DPHP", "DPHPConfig"]
