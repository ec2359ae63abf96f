"""A small conditional generator, trained by matching mean embeddings (DP-MERF) and never on records themselves."""

import torch
from torch import Tensor, nn
from torch.nn import functional


class ConditionalGenerator(nn.Module):
    """Noise and label to image: two dense layers to a quarter of the size, then twice upsampling and convolution.

    Batch normalisation mixes the records of a batch, which is harmless for post-processing of a release and rules the
    network out for DP-SGD. `noise` is standard normal (B, noise_dimensions); `labels` int64 (B,) classes 0..num_classes-1,
    None if there are none.
    """

    def __init__(
        self, shape: tuple[int, int, int], num_classes: int, noise_dimensions: int = 10, hidden: int = 200, width: int = 16
    ) -> None:
        super().__init__()
        self.shape = shape
        self.num_classes = num_classes
        self.noise_dimensions = noise_dimensions
        self._sizes = [tuple(-(-size // factor) for size in shape[1:]) for factor in (4, 2, 1)]
        height, image_width = self._sizes[0]
        self.dense = nn.Sequential(
            nn.Linear(noise_dimensions + num_classes, hidden),
            nn.BatchNorm1d(hidden),
            nn.ReLU(),
            nn.Linear(hidden, width * height * image_width),
            nn.BatchNorm1d(width * height * image_width),
            nn.ReLU(),
            nn.Unflatten(1, (width, height, image_width)),
        )
        self.conv_in = nn.Conv2d(width, width, 5, padding=2)
        self.conv_out = nn.Conv2d(width, shape[0], 5, padding=2)

    def forward(self, noise: Tensor, labels: Tensor | None = None) -> Tensor:
        """Images (B, C, H, W) in [-1, 1]."""
        if labels is not None:
            noise = torch.cat([noise, functional.one_hot(labels, self.num_classes).to(noise.dtype)], dim=1)
        x = functional.interpolate(self.dense(noise), size=self._sizes[1], mode="nearest")
        x = functional.interpolate(functional.relu(self.conv_in(x)), size=self._sizes[2], mode="nearest")
        return torch.tanh(self.conv_out(x))
