"""Privacy that is no differential privacy: PAC, per-instance values of discrete diffusion."""
