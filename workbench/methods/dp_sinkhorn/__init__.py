"""DP-Sinkhorn (Cao et al. 2021): a generator that comes near to private batches by entropic optimal transport."""

from workbench.methods.dp_sinkhorn.method import DPSinkhorn, DPSinkhornConfig

__all__ = ["DPSinkhorn", "DPSinkhornConfig"]
