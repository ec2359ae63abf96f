"""Annealed Langevin sampling by a score at falling noise levels (Song and Ermon 2019, 2020)."""

from workbench.diffusion.langevin.config import LangevinConfig
from workbench.diffusion.langevin.levels import largest_level, level_ratio, noise_levels, step_share
from workbench.diffusion.langevin.samplers import Displacement, Score, ancestral, annealed_langevin

__all__ = [
    "Displacement",
    "LangevinConfig",
    "Score",
    "ancestral",
    "annealed_langevin",
    "largest_level",
    "level_ratio",
    "noise_levels",
    "step_share",
]
