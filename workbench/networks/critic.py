"""A critic of images, told their class: the discriminator of a GAN, made of layers that keep records apart, as DP-SGD needs it."""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from workbench.networks.config import CriticConfig

SLOPE = 0.2  # of the leaky ReLU below zero, as DCGAN has it
LEAST_IN_GROUP = 8  # channels that are normalised together


class Critic(nn.Module):
    """Scores (B,) of images (B, C, H, W) in [-1, 1] of any size, with classes int64 (B,), None if there are none; no batch statistics.

    Convolutions of stride 2, then dense layers, then one number. A class enters as constant channels beside the image (beside
    the pixels of a critic without convolutions), or its embedding's product with the last features is added to the score
    (Miyato and Koyama 2018).
    """

    def __init__(self, config: CriticConfig, shape: tuple[int, int, int], num_classes: int = 0) -> None:
        super().__init__()
        self.num_classes, self.blocks = num_classes, config.blocks
        self.joined = num_classes if config.label == "joined" else 0
        channels, height, width = shape
        self.convolutions = nn.Sequential()
        before = channels + (self.joined if config.blocks else 0)
        for block in range(config.blocks):
            after = config.width * 2**block
            self.convolutions.append(nn.Conv2d(before, after, config.kernel_size, stride=2, padding=config.kernel_size // 2))
            if block and config.normalization == "group":
                self.convolutions.append(nn.GroupNorm(math.gcd(after, max(1, after // LEAST_IN_GROUP)), after))
            self.convolutions.append(nn.LeakyReLU(SLOPE))
            before, height, width = after, -(-height // 2), -(-width // 2)
        self.convolutions.append(nn.Flatten())
        self.dense = nn.Sequential()
        size = before * height * width + (0 if config.blocks else self.joined)
        for _ in range(config.hidden_layers):
            self.dense.append(nn.Linear(size, config.hidden_size)).append(nn.LeakyReLU(SLOPE))
            size = config.hidden_size
        self.score = nn.Linear(size, 1)
        self.projection = nn.Embedding(num_classes, size) if num_classes and not self.joined else None

    def features(self, x: Tensor, labels: Tensor | None = None) -> Tensor:
        """What the score is made of, (B, features)."""
        beside = functional.one_hot(labels, self.joined).to(x.dtype) if self.joined and labels is not None else None
        if beside is not None and self.blocks:
            x = torch.cat([x, beside[:, :, None, None].expand(-1, -1, *x.shape[2:])], dim=1)
        x = self.convolutions(x)
        return self.dense(x if beside is None or self.blocks else torch.cat([x, beside], dim=1))

    def forward(self, x: Tensor, labels: Tensor | None = None) -> Tensor:
        """The scores, (B,): high for images that seem to be records."""
        features = self.features(x, labels)
        score: Tensor = self.score(features)
        if self.projection is not None and labels is not None:
            score = score + (features * self.projection(labels)).sum(dim=1, keepdim=True)
        return score[:, 0]
