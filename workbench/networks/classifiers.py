"""Small classifiers of images (B, C, H, W) in [-1, 1]: downstream tasks and feature spaces."""

import math

from torch import Tensor, nn

LAST_SIZE = 7


class SmallCNN(nn.Module):
    """Convolutions and max-pooling down to at most 7x7, then one hidden layer; no batch statistics.

    For images from 8x8 to 64x64; `feature_dimensions` is the width of `features`.
    """

    def __init__(self, shape: tuple[int, int, int], num_classes: int, width: int = 32, feature_dimensions: int = 128) -> None:
        super().__init__()
        channels, height, image_width = shape
        layers: list[nn.Module] = []
        out_channels = width
        while max(height, image_width) > LAST_SIZE:
            layers += [nn.Conv2d(channels, out_channels, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2, ceil_mode=True)]
            channels, out_channels = out_channels, min(2 * out_channels, 4 * width)
            height, image_width = -(-height // 2), -(-image_width // 2)
        layers += [nn.Conv2d(channels, out_channels, 3, padding=1), nn.ReLU(), nn.Flatten()]
        self.convolutions = nn.Sequential(*layers)
        self.hidden = nn.Sequential(nn.Linear(out_channels * height * image_width, feature_dimensions), nn.ReLU())
        self.feature_dimensions = feature_dimensions
        self.head = nn.Linear(feature_dimensions, num_classes)

    def features(self, x: Tensor) -> Tensor:
        """What the last layer sees, (B, feature_dimensions)."""
        return self.hidden(self.convolutions(x))

    def forward(self, x: Tensor) -> Tensor:
        """Logits (B, num_classes)."""
        return self.head(self.features(x))


class MLP(nn.Module):
    """Two hidden layers over the flattened image; `feature_dimensions` is the width of `features`."""

    def __init__(self, shape: tuple[int, ...], num_classes: int, hidden: int = 256, feature_dimensions: int = 128) -> None:
        super().__init__()
        self.hidden = nn.Sequential(
            nn.Flatten(), nn.Linear(math.prod(shape), hidden), nn.ReLU(), nn.Linear(hidden, feature_dimensions), nn.ReLU()
        )
        self.feature_dimensions = feature_dimensions
        self.head = nn.Linear(feature_dimensions, num_classes)

    def features(self, x: Tensor) -> Tensor:
        """What the last layer sees, (B, feature_dimensions)."""
        return self.hidden(x)

    def forward(self, x: Tensor) -> Tensor:
        """Logits (B, num_classes)."""
        return self.head(self.features(x))
