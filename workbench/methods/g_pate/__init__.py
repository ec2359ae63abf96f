"""G-PATE (Long et al. 2021)."""

from workbench.methods.g_pate.method import GPATE, GPATEConfig

__all__ = ["GPATE", "GPATEConfig"]
