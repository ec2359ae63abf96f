"""Networks: the U-Net, its moving average, a generator, small classifiers."""

from collections.abc import Callable
from typing import TypeVar

import torch
from torch import nn

from workbench.networks.classifiers import MLP, SmallCNN
from workbench.networks.ema import ExponentialMovingAverage
from workbench.networks.generator import ConditionalGenerator
from workbench.networks.unet import AttentionBlock, ResBlock, UNet, UNetConfig, UNetLayer

M = TypeVar("M", bound=nn.Module)

UNETS: dict[str, UNetConfig] = {
    "tiny": UNetConfig(base_channels=12, channel_multipliers=(1, 2), num_res_blocks=1, attention_resolutions=(4,)),
    "digits": UNetConfig(base_channels=16, channel_multipliers=(1, 2), num_res_blocks=1, attention_resolutions=(4,)),
    "paper-28": UNetConfig(base_channels=32, channel_multipliers=(1, 2, 2), attention_resolutions=(7,)),
    "paper-28-wide": UNetConfig(base_channels=64, channel_multipliers=(1, 2, 2), attention_resolutions=(7,)),
    "paper-32": UNetConfig(base_channels=128, channel_multipliers=(1, 2, 2, 2), attention_resolutions=(16,)),
}

ROW_BY_ROW: frozenset[type[nn.Module]] = frozenset({UNet, UNetLayer, ResBlock, AttentionBlock, SmallCNN, MLP})
"""Networks whose own forward gives each row from that row alone, if their layers do: what a private pass may share by records.

A type enters by proof from its forward, and a test changes single rows of each; no subclass is meant.
"""

__all__ = [
    "MLP",
    "ROW_BY_ROW",
    "UNETS",
    "ConditionalGenerator",
    "ExponentialMovingAverage",
    "SmallCNN",
    "UNet",
    "UNetConfig",
    "default_unet",
    "initialized",
]


def default_unet(shape: tuple[int, ...]) -> str:
    """Name in UNETS of the network that suits images of `shape` (C, H, W)."""
    channels, height = shape[0], shape[1]
    if height <= 16:
        return "digits"
    return "paper-28" if channels == 1 else "paper-32"


def initialized(build: Callable[[], M], generator: torch.Generator) -> M:
    """What `build()` returns, with parameters drawn from `generator` (on the CPU); torch's global stream is left as it was."""
    seed = int(torch.randint(2**62, (), generator=generator))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return build()
