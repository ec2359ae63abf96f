"""A classifier of noised images, told how much noise there is and, if asked, a label: a discriminator, or what guides a sampler."""

from torch import Tensor, nn

from workbench.networks.classifiers import SmallCNN
from workbench.networks.unet import time_embedding


class NoisyClassifier(nn.Module):
    """Logits (B, `outputs`) of images (B, C, H, W) at times int64 (B,), with label rows int64 (B,), 0 for none; no batch statistics."""

    def __init__(self, shape: tuple[int, int, int], outputs: int, num_classes: int = 0, width: int = 16, features: int = 64) -> None:
        super().__init__()
        self.image = SmallCNN(shape, features, width=width, feature_dimensions=features)
        self.time = nn.Linear(features, features)
        self.label = nn.Embedding(num_classes + 1, features)
        self.judge = nn.Sequential(nn.SiLU(), nn.Linear(features, features), nn.SiLU(), nn.Linear(features, outputs))
        self.features = features

    def forward(self, x: Tensor, t: Tensor, labels: Tensor) -> Tensor:
        """(B, outputs)."""
        embedding: Tensor = self.time(time_embedding(t, self.features).to(x.dtype)) + self.label(labels)
        logits: Tensor = self.judge(self.image(x) + embedding)
        return logits
