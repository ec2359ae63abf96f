"""Tab-PE: rows that private records vote for, round by round, each for the nearest; varied, and voted on again. No network."""

from workbench.methods.tab_pe.config import TabPEConfig
from workbench.methods.tab_pe.method import TabPE
from workbench.methods.tab_pe.stages import CANDIDATES, VOTES

__all__ = ["CANDIDATES", "VOTES", "TabPE", "TabPEConfig"]
