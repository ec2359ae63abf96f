"""Three families of residual networks for images, small enough for two cores: what a benchmark's classifiers are there.

Images are (B, C, H, W) in [0, 1], H and W at least 8. Each network has a convolution, three blocks that halve the image twice, a
mean over what is left of it, and a linear layer. Batches are normalised, so records of a batch mix: never for a private step.
"""

from collections.abc import Callable

from torch import Tensor, nn

HALVED = 24  # pixels a side from which on the first convolution halves the image
GROUPS = 8

Block = Callable[[int, int, int], nn.Module]


class Residual(nn.Module):
    """x -> after(body(h) + shortcut), where h = before(x) and the shortcut is x, or a convolution of h where the shape changes."""

    def __init__(self, body: nn.Module, projection: nn.Module | None, before: nn.Module, after: nn.Module) -> None:
        super().__init__()
        self.body, self.projection, self.before, self.after = body, projection, before, after

    def forward(self, x: Tensor) -> Tensor:
        """Maps (B, C, H, W) to (B, C', H', W')."""
        h = self.before(x)
        return self.after(self.body(h) + (x if self.projection is None else self.projection(h)))


def resnet(shape: tuple[int, ...], num_classes: int) -> nn.Module:
    """He et al. 2016a with one block of 16, 32 and 64 channels each."""
    return _network(shape, num_classes, 16, (16, 32, 64), _basic, _norm_and_activation(16), nn.Identity())


def wide_resnet(shape: tuple[int, ...], num_classes: int) -> nn.Module:
    """Zagoruyko and Komodakis 2016 with one block of 32, 64 and 128 channels each, activated before the convolutions."""
    return _network(shape, num_classes, 16, (32, 64, 128), _wide, nn.Identity(), _norm_and_activation(128))


def resnext(shape: tuple[int, ...], num_classes: int) -> nn.Module:
    """Xie et al. 2017 with one block of 64, 128 and 256 channels each, its middle half as wide and in 8 groups."""
    return _network(shape, num_classes, 32, (64, 128, 256), _grouped_block, _norm_and_activation(32), nn.Identity())


def _network(
    shape: tuple[int, ...], num_classes: int, stem: int, widths: tuple[int, ...], block: Block, first: nn.Module, last: nn.Module
) -> nn.Module:
    stride = 2 if min(shape[1:]) >= HALVED else 1
    layers: list[nn.Module] = [nn.Conv2d(shape[0], stem, 3, stride, 1, bias=False), first]
    for before, after in zip((stem, *widths), widths, strict=False):
        layers.append(block(before, after, 1 if before == stem else 2))
    return nn.Sequential(*layers, last, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(widths[-1], num_classes))


def _basic(before: int, after: int, stride: int) -> nn.Module:
    body = nn.Sequential(
        _convolution(before, after, stride), _norm_and_activation(after), _convolution(after, after), nn.BatchNorm2d(after)
    )
    return Residual(body, _projection(before, after, stride), nn.Identity(), nn.ReLU())


def _wide(before: int, after: int, stride: int) -> nn.Module:
    body = nn.Sequential(_convolution(before, after, stride), _norm_and_activation(after), _convolution(after, after))
    return Residual(body, nn.Conv2d(before, after, 1, stride, bias=False), _norm_and_activation(before), nn.Identity())


def _grouped_block(before: int, after: int, stride: int) -> nn.Module:
    middle = after // 2
    body = nn.Sequential(
        nn.Conv2d(before, middle, 1, bias=False),
        _norm_and_activation(middle),
        _convolution(middle, middle, stride, GROUPS),
        _norm_and_activation(middle),
        nn.Conv2d(middle, after, 1, bias=False),
        nn.BatchNorm2d(after),
    )
    return Residual(body, _projection(before, after, stride), nn.Identity(), nn.ReLU())


def _projection(before: int, after: int, stride: int) -> nn.Module | None:
    if (before, stride) == (after, 1):
        return None
    return nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))


def _convolution(before: int, after: int, stride: int = 1, groups: int = 1) -> nn.Module:
    return nn.Conv2d(before, after, 3, stride, 1, groups=groups, bias=False)


def _norm_and_activation(channels: int) -> nn.Module:
    return nn.Sequential(nn.BatchNorm2d(channels), nn.ReLU())
