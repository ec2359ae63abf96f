"""DPGEN (Chen et al. 2022): a score model that learns to recover noised records to others, which randomised response chooses."""

from workbench.methods.dpgen.method import DPGEN, DPGENConfig

__all__ = ["DPGEN", "DPGENConfig"]
