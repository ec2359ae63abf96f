"""Selective pre-training: private records choose public images, a diffusion model learns those, DP-SGD refines it. One bound.

The selection is Private Evolution (Lin et al. 2024); to pre-train on what was selected privately and then to fine-tune privately
is the plan of Yu et al. 2023. New is what samples start from: selected images that are noised as far as a time step, so that the
network learns the early time steps alone, where detail is decided, and keeps what the selection already gave.
"""

from workbench.methods.selective_pretraining.config import SelectivePretrainingConfig
from workbench.methods.selective_pretraining.method import SelectivePretraining

__all__ = ["SelectivePretraining", "SelectivePretrainingConfig"]
