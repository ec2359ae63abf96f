"""DP-Diffusion (Ghalebikesabi et al. 2023): DP-SGD fine-tuning of a whole diffusion model that was trained on public images before.

A record's gradient is the mean over K draws of flip, crop, time step and noise, clipped once (augmentation multiplicity), and time
steps come from a mixture of uniform distributions. Both are inside the clipping and cost no privacy.
"""

from workbench.methods.dp_diffusion.config import DPDiffusionConfig
from workbench.methods.dp_diffusion.method import DPDiffusion
from workbench.methods.dp_diffusion.stages import FINE_TUNING

__all__ = ["FINE_TUNING", "DPDiffusion", "DPDiffusionConfig"]
