"""DP-SAD (Liu et al. 2024): a student diffusion model, distilled from a teacher beside a discriminator, by private steps.

The paper's proof does not hold (see `stages`): its two modes train on its claim alone. The mode `sound` is what is left of it with a
bound.
"""

from workbench.methods.dp_sad.config import DPSADConfig
from workbench.methods.dp_sad.method import DPSAD

__all__ = ["DPSAD", "DPSADConfig"]
