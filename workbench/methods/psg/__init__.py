"""PSG (Chen, Kerkouche and Fritz 2022): a few images a class that teach as the private records do, by matching noisy gradients."""

from workbench.methods.psg.method import PSG, PSGConfig

__all__ = ["PSG", "PSGConfig"]
