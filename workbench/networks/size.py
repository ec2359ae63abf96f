"""How many weights a U-Net has, by arithmetic: for formulas that need the number before there is a network. No torch."""

from workbench.networks.config import UNetConfig


def num_parameters(config: UNetConfig, shape: tuple[int, ...], num_classes: int) -> int:
    """The weights of `workbench.networks.UNet` for images of `shape` (C, H, W) and so many classes."""
    base, pixels = config.base_channels, shape[0] * config.patch_size**2
    heights = [-(-shape[1] // config.patch_size // 2**level) for level in range(len(config.channel_multipliers))]
    levels = [
        (base * multiplier, height in config.attention_resolutions)
        for multiplier, height in zip(config.channel_multipliers, heights, strict=True)
    ]
    total = convolution(base, 4 * base, 1) + convolution(4 * base, 4 * base, 1) + 4 * base * (num_classes + 1) * bool(num_classes)
    total += convolution(pixels, base)
    channels, skips = base, [base]
    for level, (width, attends) in enumerate(levels):  # down
        if level:
            total, skips = total + convolution(channels, channels), [*skips, channels]
        for _ in range(config.num_res_blocks):
            total, channels = total + layer(channels, width, attends, base), width
            skips.append(width)
    total += layer(channels, channels, True, base) + layer(channels, channels, False, base)
    for level, (width, attends) in reversed(list(enumerate(levels))):  # up
        for _ in range(config.num_res_blocks + 1):
            total, channels = total + layer(channels + skips.pop(), width, attends, base), width
        total += convolution(channels, channels) if level else 0
    return total + 2 * channels + convolution(channels, pixels)


def convolution(inside: int, outside: int, side: int = 3) -> int:
    """Weights and biases of a convolution between so many channels; of a linear map with side 1."""
    return (inside * side**2 + 1) * outside


def layer(inside: int, outside: int, attends: bool, base: int) -> int:
    """A residual block with its two norms, its shift and its skip, and attention where there is any."""
    block = 2 * inside + convolution(inside, outside) + convolution(4 * base, outside, 1) + 2 * outside + convolution(outside, outside)
    skip = convolution(inside, outside, 1) if inside != outside else 0
    return block + skip + (2 * outside + convolution(outside, 4 * outside, 1) if attends else 0)
