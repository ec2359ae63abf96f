"""Discrete diffusion on tables after Wei et al. 2024: a value for each record, or the same model by DP-SGD with a proved bound."""

from workbench.methods.ddm.method import DDM, DP_SGD, TRAINING, DDMConfig

__all__ = ["DDM", "DP_SGD", "TRAINING", "DDMConfig"]
