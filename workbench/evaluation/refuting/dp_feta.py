"""DP-FETA with means over the records that were drawn: the only record of its class is the mean, under next to no noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from workbench.datasets.base import DatasetFacts
from workbench.evaluation.refuting.attack import DELTA
from workbench.lazy import torch
from workbench.methods.dp_feta.method import CentralImages, queries_claim
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import ImageKind, Records

if TYPE_CHECKING:
    from workbench.training.state import State

RECORDS, RATE, NOISE, BATCHES = 200, 0.5, 5.0, 2
SETTINGS = {"divisor": "realised", "sample_rate": RATE, "noise_multiplier": NOISE, "batches": BATCHES}
FACTS = DatasetFacts(name="one of its class", kind=ImageKind(size=(1, 8, 8)), num_records=RECORDS, classes=("a", "b"))
THRESHOLD = 0.5  # of the mean pixel of a central image, whose noise has a tenth as deviation


@dataclass(frozen=True)
class LonelyRecord:
    """Whether any central image of the class is bright: its mean is the record itself, or that of none."""

    game: str = (
        f"{RECORDS} black 8x8 images of one class, of which one may be the only one of the other class, and white; central images of "
        f"{BATCHES} batches at the rate q={RATE:g} with noise s={NOISE:g}, divided by the records that were drawn"
    )
    observed: str = "the brightest central image of that class"

    def claim(self) -> PrivacyValue:
        """The RDP of the queries."""
        return queries_claim(CentralImages.model_validate(SETTINGS), DELTA)

    def accuses(self, joined: bool, seed: int) -> bool:
        """A central image of the class is brighter than grey."""
        return bool(central_images(CentralImages.model_validate(SETTINGS), joined, seed)[:, 1].mean(axis=(1, 2, 3)).max() > THRESHOLD)


def central_images(config: CentralImages, joined: bool, seed: int) -> np.ndarray:
    """The central images (batches, 2, 1, 8, 8) by the method's own release, as means of pixels."""
    from workbench.methods.dp_feta import training
    from workbench.training.randomness import Randomness
    from workbench.training.state import State

    images, labels = np.zeros((RECORDS, *FACTS.shape), np.uint8), np.zeros(RECORDS, np.int64)
    images[0], labels[0] = 255, 1
    data = Records(images, labels) if joined else Records(images, labels).without(0)
    state: State = State(FACTS, Randomness.from_seed(seed))
    state.tensors["central"] = torch.zeros((config.batches, 2, *config.pooled_shape(FACTS)), dtype=torch.float64)
    for _ in training.release_central(config, data, state):
        pass
    return training.means(config, state).numpy()
