"""Private Evolution (Lin et al. 2024, 2025): private records vote for public images, which are varied and voted on again."""

from workbench.methods.private_evolution.method import PrivateEvolution, PrivateEvolutionConfig

__all__ = ["PrivateEvolution", "PrivateEvolutionConfig"]
