"""DP-MERF (Harder, Adamczewski and Park 2021): one Gaussian release of a mean embedding, then a generator fitted to it."""

from workbench.methods.dp_merf.method import DPMERF, RELEASE, DPMERFConfig

__all__ = ["DPMERF", "RELEASE", "DPMERFConfig"]
