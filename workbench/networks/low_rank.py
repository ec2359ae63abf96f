"""Low-rank adapters (Hu et al. 2022, LoRA): beside a frozen layer W a map B A of small rank, which alone is trained."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from workbench.networks.unet import AttentionBlock, ResBlock, UNet

QUERY_KEY_VALUE = 3  # maps that an attention block keeps in one layer


class LowRank(nn.Module):
    """A convolution and `parts` maps of rank `rank` beside it, each onto its share of the outputs: x -> W x + B A x.

    A has the convolution's kernel, B is pointwise. B is zero at first, so that the layer begins as it was. All are plain convolutions
    without a bias: their per-record gradients are known.
    """

    def __init__(self, layer: nn.Conv2d, rank: int, parts: int = 1) -> None:
        super().__init__()
        height, width = layer.kernel_size
        keeps_size = layer.padding == (height // 2, width // 2) and {*layer.stride, *layer.dilation, layer.groups} == {1}
        if not keeps_size or layer.out_channels % parts:
            raise ValueError(f"Expected a plain convolution that keeps the size of images, with {parts} equal parts, got {layer}.")
        self.layer, self.parts = layer, parts
        self.down = nn.Conv2d(layer.in_channels, parts * rank, (height, width), padding=(height // 2, width // 2), bias=False)
        nn.init.normal_(self.down.weight, std=(layer.in_channels * height * width) ** -0.5)
        self.up = nn.ModuleList(nn.Conv2d(rank, layer.out_channels // parts, 1, bias=False) for _ in range(parts))
        for up in self.up:
            assert isinstance(up, nn.Conv2d)
            nn.init.zeros_(up.weight)

    def forward(self, x: Tensor) -> Tensor:
        """(B, in, H, W) -> (B, out, H', W')."""
        halves = self.down(x).chunk(self.parts, dim=1)
        return self.layer(x) + torch.cat([up(half) for up, half in zip(self.up, halves, strict=True)], dim=1)

    def adapter_parameters(self) -> Iterator[nn.Parameter]:
        """A and B, without the layer's own."""
        yield from self.down.parameters()
        yield from self.up.parameters()


def add_adapters(network: UNet, rank: int, *, convolutions: bool) -> None:
    """Put adapters on query, key, value and output of every attention block, and on the convolutions of the residual blocks if asked.

    They stay frozen until somebody trains them.
    """
    for block in list(network.modules()):
        if isinstance(block, AttentionBlock):
            block.add_module("query_key_value", LowRank(block.query_key_value, rank, QUERY_KEY_VALUE))
            block.add_module("projection", LowRank(block.projection, rank))
        elif convolutions and isinstance(block, ResBlock):
            block.add_module("conv_in", LowRank(block.conv_in, rank))
            block.add_module("conv_out", LowRank(block.conv_out, rank))
    for parameter in adapter_parameters(network):
        parameter.requires_grad_(False)


def adapter_parameters(network: UNet) -> list[nn.Parameter]:
    """Those of all adapters, in order."""
    return [p for module in network.modules() if isinstance(module, LowRank) for p in module.adapter_parameters()]
