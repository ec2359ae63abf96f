"""dp-promise (Wang et al. 2024): the diffusion's own noise protects the late time steps, DP-SGD the early ones."""

from workbench.methods.dp_promise.method import DPPromise
from workbench.methods.dp_promise.phases import PHASE_ONE, PHASE_TWO, PRETRAINING, RELEASE, DPPromiseConfig

__all__ = ["PHASE_ONE", "PHASE_TWO", "PRETRAINING", "RELEASE", "DPPromise", "DPPromiseConfig"]
