"""A diffusion model trained without any privacy: what the private methods are measured against."""

from workbench.methods.nonprivate.method import NonPrivate, NonPrivateConfig

__all__ = ["NonPrivate", "NonPrivateConfig"]
