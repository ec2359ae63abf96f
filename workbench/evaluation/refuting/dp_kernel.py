"""DP-Kernel as published: noise that is not differentiated leaves the direction of a step to the records."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from workbench.datasets.base import DatasetFacts
from workbench.evaluation.refuting.attack import DELTA
from workbench.lazy import torch
from workbench.methods.dp_kernel.method import DPKernel, DPKernelConfig
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import ImageKind, Records

RECORDS, NOISE = 4, 8.0
SETTINGS = {
    "mode": "published",
    "noise_multiplier": NOISE,
    "latent_size": 1,
    "hidden_size": 1,
    "channels": 1,
    "training": {"steps": 1, "batch_size": RECORDS, "learning_rate": 1.0},
}
FACTS = DatasetFacts(name="four patterns", kind=ImageKind(size=(1, 4, 4)), num_records=RECORDS)


@dataclass(frozen=True)
class ConstantNoise:
    """Which way the generated images went: that of the batch with the record, or of the batch without it."""

    game: str = (
        f"one step on all of {RECORDS} random 4x4 images of black and white, one of which is there or not, with sigma={NOISE:g}, by a "
        f"generator whose weights are the {RECORDS} images that it makes"
    )
    observed: str = "the generator's weights after that step"

    def claim(self) -> PrivacyValue:
        """The paper's formula, whose steps are amplified by nothing where all records take part."""
        return DPKernel(DPKernelConfig.model_validate(SETTINGS)).claim(FACTS, DELTA)

    def accuses(self, joined: bool, seed: int) -> bool:
        """The step is along the gradient with the record rather than along that without."""
        step = _step(joined, NOISE, seed)
        return _cosine(step, _direction(True)) > _cosine(step, _direction(False))


def _cosine(one: np.ndarray, other: np.ndarray) -> float:
    """Of the angle between two steps, whichever way they go."""
    lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
    return abs(float((one * other).sum())) / lengths if lengths else 0.0


@cache
def _direction(joined: bool) -> np.ndarray:
    """Where a step goes whose noise is next to nothing, which all but the record's presence is known for."""
    return _step(joined, 1e-3, 0)


def _step(joined: bool, noise: float, seed: int) -> np.ndarray:
    """What the method's own step moves the generated images by, (RECORDS, 1, 4, 4)."""
    from workbench.methods.dp_kernel.training import published_steps
    from workbench.models.embeddings.config import GENERATOR
    from workbench.training.randomness import Randomness
    from workbench.training.state import State

    config = DPKernelConfig.model_validate(SETTINGS | {"noise_multiplier": noise})
    draw = np.random.default_rng(0)
    images = draw.choice([0, 255], (RECORDS, *FACTS.shape)).astype(np.uint8)
    state, generator = State(FACTS, Randomness.from_seed(seed)), _Table(draw.uniform(-1, 1, images.shape).astype(np.float32))
    state.modules[GENERATOR] = generator
    state.optimizers[GENERATOR] = torch.optim.SGD(generator.parameters(), lr=1.0)
    before = generator.images.detach().clone()
    for _ in published_steps(config, Records(images).without(0) if not joined else Records(images), state):
        pass
    return (generator.images.detach() - before).double().numpy()


class _Table(torch.nn.Module):
    """Images that are its weights, whatever it is asked for."""

    def __init__(self, images: np.ndarray) -> None:
        super().__init__()
        self.images = torch.nn.Parameter(torch.from_numpy(images))

    def forward(self, _latent: torch.Tensor, _rows: torch.Tensor) -> torch.Tensor:
        """(RECORDS, 1, 4, 4)."""
        return self.images
