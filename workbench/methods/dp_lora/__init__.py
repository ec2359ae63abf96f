"""DP-LoRA (Tsai et al. 2025): DP-SGD on low-rank adapters of a diffusion model that was trained on public images before."""

from workbench.methods.dp_lora.method import DPLoRA, DPLoRAConfig

__all__ = ["DPLoRA", "DPLoRAConfig"]
