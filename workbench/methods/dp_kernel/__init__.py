"""DP-Kernel (Jiang et al. 2023): a generator that comes near to private records by a sum of Gaussian kernels."""

from workbench.methods.dp_kernel.method import DPKernel, DPKernelConfig

__all__ = ["DPKernel", "DPKernelConfig"]
