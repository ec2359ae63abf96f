"""dp-promise (Wang et al. 2024): the diffusion's own noise protects the late time steps, DP-SGD the early ones.

Phase I trains the time steps after the boundary S on records that the forward process has noised, phase II the steps up to
S by DP-SGD. The paper's regression target in phase I reveals the record (docs/proofs.md, section 3); the default here regresses on a
renoised release instead, which has a proof (docs/proofs.md, section 4).
"""

from workbench.methods.dp_promise.config import DPPromiseConfig
from workbench.methods.dp_promise.method import DPPromise
from workbench.methods.dp_promise.stages import PHASE_ONE, PHASE_TWO, PRETRAINING, RELEASE

__all__ = ["PHASE_ONE", "PHASE_TWO", "PRETRAINING", "RELEASE", "DPPromise", "DPPromiseConfig"]
