"""DPGEN (Chen et al. 2022): a score model that learns to recover noised records to others, which randomised response chooses.

Its claim is that of the randomised index; the triples show records verbatim, so nothing is proved. For study.
"""

from workbench.methods.dpgen.config import DPGENConfig
from workbench.methods.dpgen.method import DPGEN

__all__ = ["DPGEN", "DPGENConfig"]
