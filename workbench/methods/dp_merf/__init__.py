"""DP-MERF (Harder, Adamczewski and Park 2021): one Gaussian release of a mean embedding, then a generator fitted to it."""

from workbench.methods.dp_merf.config import DPMERFConfig
from workbench.methods.dp_merf.method import DPMERF
from workbench.methods.dp_merf.stages import GENERATOR, RELEASE

__all__ = ["DPMERF", "GENERATOR", "RELEASE", "DPMERFConfig"]
