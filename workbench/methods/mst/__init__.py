"""MST: noisy marginals of single columns and of the pairs that make a tree, which rows are drawn along. No network."""

from workbench.methods.mst.config import MSTConfig
from workbench.methods.mst.method import MST
from workbench.methods.mst.stages import CHOICE, ONE_WAY, TWO_WAY

__all__ = ["CHOICE", "MST", "ONE_WAY", "TWO_WAY", "MSTConfig"]
