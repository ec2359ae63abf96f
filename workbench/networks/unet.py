"""The U-Net of improved diffusion from layers whose per-record gradients are known: Linear, Conv2d, GroupNorm, Embedding, SiLU."""

import math
from collections.abc import Iterable, Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional

from workbench.errors import WorkbenchError
from workbench.networks.config import UNetConfig

EMBEDDING_FACTOR = 4
MAX_PERIOD = 10_000.0
MAX_GROUPS = 32
MIN_CHANNELS_PER_GROUP = 4


def time_embedding(t: Tensor, dimensions: int) -> Tensor:
    """Sinusoidal features (B, dimensions) of time steps (B,): cosines, then sines, of periods up to 10 000 steps."""
    half = dimensions // 2
    frequencies = torch.exp(-math.log(MAX_PERIOD) * torch.arange(half, device=t.device, dtype=torch.float32) / half)
    angles = t.to(torch.float32)[:, None] * frequencies  # (B, half)
    return torch.cat([angles.cos(), angles.sin()], dim=1)


def to_patches(x: Tensor, size: int) -> Tensor:
    """Squares of `size` pixels as channels: (B, C, H size, W size) -> (B, C size^2, H, W)."""
    return x if size == 1 else functional.pixel_unshuffle(x, size)


def from_patches(x: Tensor, size: int) -> Tensor:
    """What `to_patches` took apart."""
    return x if size == 1 else functional.pixel_shuffle(x, size)


def _with_zero_parameters(layer: nn.Conv2d) -> nn.Conv2d:
    """The layer with all its parameters at zero, so that its block starts as the identity."""
    nn.init.zeros_(layer.weight)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
    return layer


def _norm(channels: int) -> nn.GroupNorm:
    """GroupNorm of at most 32 groups with at least 4 channels in each.

    A group of a single channel would subtract the very shift by which a block learns its time step and label.
    """
    most = min(MAX_GROUPS, channels // MIN_CHANNELS_PER_GROUP)
    groups = next(groups for groups in range(most, 0, -1) if channels % groups == 0)
    return nn.GroupNorm(groups, channels)


class ResBlock(nn.Module):
    """Two 3x3 convolutions around a shift by the embedding, beside a skip: (B, in, H, W) -> (B, out, H, W)."""

    def __init__(self, in_channels: int, out_channels: int, embedding_channels: int) -> None:
        super().__init__()
        self.norm_in = _norm(in_channels)
        self.conv_in = nn.Conv2d(in_channels, out_channels, 3, padding=1)
        self.shift = nn.Linear(embedding_channels, out_channels)
        self.norm_out = _norm(out_channels)
        self.conv_out = _with_zero_parameters(nn.Conv2d(out_channels, out_channels, 3, padding=1))
        self.skip = nn.Identity() if in_channels == out_channels else nn.Conv2d(in_channels, out_channels, 1)

    def forward(self, x: Tensor, embedding: Tensor) -> Tensor:
        """Apply the block; `embedding` (B, E) has passed its SiLU."""
        hidden = self.conv_in(functional.silu(self.norm_in(x)))
        hidden = hidden + self.shift(embedding)[:, :, None, None]
        hidden = self.conv_out(functional.silu(self.norm_out(hidden)))
        return self.skip(x) + hidden


class AttentionBlock(nn.Module):
    """Self-attention over the pixels beside a skip: (B, C, H, W) -> (B, C, H, W)."""

    def __init__(self, channels: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.norm = _norm(channels)
        self.query_key_value = nn.Conv2d(channels, 3 * channels, 1)
        self.projection = _with_zero_parameters(nn.Conv2d(channels, channels, 1))

    def forward(self, x: Tensor) -> Tensor:
        """Apply the block."""
        batch, channels, height, width = x.shape
        heads = self.query_key_value(self.norm(x)).reshape(batch, 3, self.num_heads, channels // self.num_heads, height * width)
        query, key, value = heads.unbind(dim=1)  # (B, heads, C / heads, H W)
        scores = (query.transpose(-1, -2) @ key) * (channels // self.num_heads) ** -0.5  # (B, heads, H W, H W)
        attended = value @ scores.softmax(dim=-1).transpose(-1, -2)
        return x + self.projection(attended.reshape(batch, channels, height, width))


class UNetLayer(nn.Module):
    """A residual block and, where the resolution asks for it, attention."""

    def __init__(self, config: UNetConfig, in_channels: int, out_channels: int, attends: bool) -> None:
        super().__init__()
        self.residual = ResBlock(in_channels, out_channels, EMBEDDING_FACTOR * config.base_channels)
        self.attention = AttentionBlock(out_channels, config.num_heads) if attends else nn.Identity()

    def forward(self, x: Tensor, embedding: Tensor) -> Tensor:
        """(B, in, H, W) -> (B, out, H, W)."""
        return self.attention(self.residual(x, embedding))


class UNet(nn.Module):
    """Noise (or v) predictor for images (B, C, H, W), conditioned on time steps and on labels.

    Label rows: 0 is unconditional, class c is row c + 1. A record's output depends on that record alone. Squares of
    `patch_size` pixels become channels first and pixels again last (Shi et al. 2016, eq. 4); levels halve the size, rounding
    up. `image_size` is the height, or (height, width), which patches must fill. With `outputs` above 1 the output has so many
    times the images' channels.
    """

    def __init__(self, config: UNetConfig, in_channels: int, image_size: int | tuple[int, int], num_classes: int, outputs: int = 1) -> None:
        super().__init__()
        self.config = config
        embedding_channels = EMBEDDING_FACTOR * config.base_channels
        self.time_mlp = nn.Sequential(
            nn.Linear(config.base_channels, embedding_channels), nn.SiLU(), nn.Linear(embedding_channels, embedding_channels)
        )
        self.label_embedding = nn.Embedding(num_classes + 1, embedding_channels) if num_classes else None
        height, width = (image_size, image_size) if isinstance(image_size, int) else image_size
        config.check_patches(height, width)
        patch_channels = in_channels * config.patch_size**2
        heights = [-(-height // config.patch_size // 2**level) for level in range(len(config.channel_multipliers))]
        attends = [height in config.attention_resolutions for height in heights]
        skips = self._build_down(config, patch_channels, attends)
        self._build_up(config, skips, attends)
        self.norm = _norm(config.base_channels * config.channel_multipliers[0])
        self.conv_out = _with_zero_parameters(
            nn.Conv2d(config.base_channels * config.channel_multipliers[0], outputs * patch_channels, 3, padding=1)
        )

    def _build_down(self, config: UNetConfig, in_channels: int, attends: list[bool]) -> list[int]:
        """Add the way down and the middle; return the channels of the skips in the order they are made."""
        channels = config.base_channels
        self.conv_in = nn.Conv2d(in_channels, channels, 3, padding=1)
        self.down, self.downsample = nn.ModuleList(), nn.ModuleList()
        skips = [channels]
        for level, multiplier in enumerate(config.channel_multipliers):
            if level > 0:
                self.downsample.append(nn.Conv2d(channels, channels, 3, stride=2, padding=1))
                skips.append(channels)
            for _ in range(config.num_res_blocks):
                self.down.append(UNetLayer(config, channels, config.base_channels * multiplier, attends[level]))
                channels = config.base_channels * multiplier
                skips.append(channels)
        self.middle = nn.ModuleList([UNetLayer(config, channels, channels, True), UNetLayer(config, channels, channels, False)])
        return skips

    def _build_up(self, config: UNetConfig, skips: list[int], attends: list[bool]) -> None:
        """Add the way up, which takes the skips from last to first."""
        channels = skips[-1]
        skips = list(skips)
        self.up, self.upsample = nn.ModuleList(), nn.ModuleList()
        for level, multiplier in reversed(list(enumerate(config.channel_multipliers))):
            for _ in range(config.num_res_blocks + 1):
                self.up.append(UNetLayer(config, channels + skips.pop(), config.base_channels * multiplier, attends[level]))
                channels = config.base_channels * multiplier
            if level > 0:
                self.upsample.append(nn.Conv2d(channels, channels, 3, padding=1))

    def forward(self, x: Tensor, t: Tensor, labels: Tensor | None = None) -> Tensor:
        """Output (B, outputs C, H, W) for `x` (B, C, H, W), `t` (B,) in 0..T and `labels` int64 (B,) rows; None is unconditional."""
        embedding = functional.silu(self._embed(t, labels))
        x, skips = self._go_down(self.conv_in(to_patches(x, self.config.patch_size)), embedding)
        for layer in self.middle:
            x = layer(x, embedding)
        x = self._go_up(x, skips, embedding)
        return from_patches(self.conv_out(functional.silu(self.norm(x))), self.config.patch_size)

    def _embed(self, t: Tensor, labels: Tensor | None) -> Tensor:
        """Time and label together, (B, E)."""
        dtype = self.conv_in.weight.dtype
        embedding = self.time_mlp(time_embedding(t, self.config.base_channels).to(dtype))
        if self.label_embedding is None:
            if labels is not None:
                raise WorkbenchError("Expected no labels, because this network was built without classes. Pass labels=None.")
            return embedding
        return embedding + self.label_embedding(torch.zeros_like(t, dtype=torch.int64) if labels is None else labels)

    def _go_down(self, x: Tensor, embedding: Tensor) -> tuple[Tensor, list[Tensor]]:
        """The lowest features and the skips in the order they are made."""
        skips = [x]
        for index, layer in enumerate(self.down):
            if index and index % self.config.num_res_blocks == 0:
                x = self.downsample[index // self.config.num_res_blocks - 1](x)
                skips.append(x)
            x = layer(x, embedding)
            skips.append(x)
        return x, skips

    def _go_up(self, x: Tensor, skips: list[Tensor], embedding: Tensor) -> Tensor:
        """Full-resolution features; each upsampling goes to the size of the skip that follows."""
        per_level = self.config.num_res_blocks + 1
        for index, layer in enumerate(self.up):
            if index and index % per_level == 0:
                x = functional.interpolate(x, size=skips[-1].shape[-2:], mode="nearest")
                x = self.upsample[index // per_level - 1](x)
            x = layer(torch.cat([x, skips.pop()], dim=1), embedding)
        return x

    def time_parameters(self) -> Iterator[nn.Parameter]:
        """The embedding of time, the time MLP: dp-promise freezes it after public pre-training (Wang et al. 2024, section 5.2).

        The linear maps inside the blocks also carry the label, so they stay trainable.
        """
        return self.time_mlp.parameters()

    def parameters_beside_time(self) -> list[nn.Parameter]:
        """All others, in order."""
        time = {id(parameter) for parameter in self.time_parameters()}
        return [parameter for parameter in self.parameters() if id(parameter) not in time]

    def parameters_up(self) -> list[nn.Parameter]:
        """Those of the way up and of what follows it, in order."""
        return [parameter for part in (self.up, self.upsample, self.norm, self.conv_out) for parameter in part.parameters()]

    def parameters_of_labels(self) -> list[nn.Parameter]:
        """The embedding of labels; none where there are no classes."""
        return [] if self.label_embedding is None else list(self.label_embedding.parameters())

    def parameters_of_attention(self) -> list[nn.Parameter]:
        """Those of all attention blocks, in order; the middle always has one."""
        return [p for block in self.modules() if isinstance(block, AttentionBlock) for p in block.parameters()]

    def freeze_but_up(self) -> None:
        """Leave all as it is from here on but the way up: images are drawn anew from what was learned to be seen in them."""
        self.freeze_but(self.parameters_up())

    def freeze_but(self, parameters: Iterable[nn.Parameter]) -> None:
        """Train `parameters` from here on, and leave all others as they are."""
        trained = {id(parameter) for parameter in parameters}
        for parameter in self.parameters():
            parameter.requires_grad_(id(parameter) in trained)

    def freeze_time(self) -> None:
        """Leave the embedding of time as it is from here on."""
        for parameter in self.time_parameters():
            parameter.requires_grad_(False)
