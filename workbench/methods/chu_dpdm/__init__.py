"""DPDM after Chu et al. 2023: a diffusion model with learned variances, trained by DP-SGD under an adaptive clipping threshold.

The paper states its mechanism twice, and not alike: Algorithm 1 clips the gradient of a batch at a threshold of the private batch,
the text and the proof clip every record's gradient at a threshold of a public batch. Both are settings; only the second has a
useful bound, and it is the default.
"""

from workbench.methods.chu_dpdm.config import ChuDPDMConfig
from workbench.methods.chu_dpdm.method import ChuDPDM
from workbench.methods.chu_dpdm.stages import TRAINING

__all__ = ["TRAINING", "ChuDPDM", "ChuDPDMConfig"]
