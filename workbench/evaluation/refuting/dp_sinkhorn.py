"""DP-Sinkhorn as coded: as many images are generated as records are drawn, which no noise hides."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.datasets.base import DatasetFacts
from workbench.evaluation.refuting.attack import DELTA
from workbench.lazy import torch
from workbench.methods.dp_sinkhorn.method import IMAGES, DPSinkhorn, DPSinkhornConfig
from workbench.models.embeddings.config import GENERATOR
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import ImageKind, Records

RECORDS, NOISE = 6, 10.0


@dataclass(frozen=True)
class BatchSize:
    """Whether a step moved as many generated images as there are records with the one in question."""

    game: str = (
        f"one step on all of {RECORDS} random 4x4 images, one of which is there or not, with sigma={NOISE:g}, by a generator whose weights "
        f"are {RECORDS} images, of which it gives as many as it is asked for"
    )
    observed: str = "how many of the generator's images the step moved"

    def claim(self) -> PrivacyValue:
        """The moments accountant's, of one step on all records."""
        return DPSinkhorn(_config(RECORDS)).claim(_facts(RECORDS), DELTA)

    def accuses(self, joined: bool, seed: int) -> bool:
        """All of them moved."""
        return _moved(RECORDS if joined else RECORDS - 1, seed) == RECORDS


def _facts(number: int) -> DatasetFacts:
    return DatasetFacts(name="a few images", kind=ImageKind(size=(1, 4, 4)), num_records=number)


def _config(number: int) -> DPSinkhornConfig:
    """One step whose batch is every record, however many there are."""
    training = {"generated": "realised", "steps": 1, "batch_size": number, "noise_multiplier": NOISE, "noise_multiplicity": 1}
    return DPSinkhornConfig.model_validate({"training": training, "transport": {"fresh": 0.0}, "latent_size": 1})


def _moved(number: int, seed: int) -> int:
    """How many images the method's own step on `number` records moves."""
    from workbench.methods.dp_sinkhorn import training
    from workbench.networks import ExponentialMovingAverage
    from workbench.training.randomness import Randomness
    from workbench.training.state import State

    draw = np.random.default_rng(seed)
    images = draw.integers(0, 256, (RECORDS, 1, 4, 4)).astype(np.uint8)
    state = training.initial_state(_config(number), _facts(number), State(_facts(number), Randomness.from_seed(seed)))
    generator = _Table(draw.uniform(-1, 1, images.shape).astype(np.float32))
    state.modules |= {GENERATOR: generator, training.AVERAGE: ExponentialMovingAverage(generator, 0.5)}
    state.optimizers[GENERATOR] = torch.optim.SGD(generator.parameters(), lr=1.0)
    before = generator.images.detach().clone()
    for step in training.fit(_config(number), Records(images[:number]), None, state):
        assert step.stage == IMAGES
    return int((generator.images.detach() != before).flatten(1).any(1).sum())


class _Table(torch.nn.Module):
    """Images that are its weights, as many as it is asked for."""

    def __init__(self, images: np.ndarray) -> None:
        super().__init__()
        self.images = torch.nn.Parameter(torch.from_numpy(images))

    def forward(self, latent: torch.Tensor, _rows: torch.Tensor) -> torch.Tensor:
        """(number asked for, 1, 4, 4)."""
        return self.images[: len(latent)]
