"""Selective pre-training: private records choose public images, a diffusion model learns those, DP-SGD refines it. One bound."""

from workbench.methods.selective_pretraining.method import SelectivePretraining, SelectivePretrainingConfig

__all__ = ["SelectivePretraining", "SelectivePretrainingConfig"]
