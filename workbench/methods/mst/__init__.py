"""MST: noisy marginals of single columns and of the pairs that make a tree, which rows are drawn along. No network."""

from workbench.methods.mst.method import CHOICE, MST, ONE_WAY, TWO_WAY, MSTConfig

__all__ = ["CHOICE", "MST", "ONE_WAY", "TWO_WAY", "MSTConfig"]
