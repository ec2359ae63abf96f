"""P3DM (Xu et al. 2024): DPGEN's score model, steered by a private classifier towards an attribute drawn at random. For study.

Its epsilon is that of the randomised index, "a hyperparameter" as the paper says; its PAC noise comes from one model and bounds nothing.
"""

from workbench.methods.p3dm.config import P3DMConfig
from workbench.methods.p3dm.method import P3DM

__all__ = ["P3DM", "P3DMConfig"]
