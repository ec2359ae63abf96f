"""Discrete diffusion on tables after Wei et al. 2024: a value for each record, or the same model by DP-SGD with a proved bound."""

from workbench.methods.ddm.config import DDMConfig
from workbench.methods.ddm.method import DDM
from workbench.methods.ddm.stages import DP_SGD, TRAINING

__all__ = ["DDM", "DP_SGD", "TRAINING", "DDMConfig"]
