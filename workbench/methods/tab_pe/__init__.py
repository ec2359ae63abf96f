"""Tab-PE: rows that private records vote for, round by round, each for the nearest; varied, and voted on again. No network."""

from workbench.methods.tab_pe.method import CANDIDATES, VOTES, TabPE, TabPEConfig

__all__ = ["CANDIDATES", "VOTES", "TabPE", "TabPEConfig"]
