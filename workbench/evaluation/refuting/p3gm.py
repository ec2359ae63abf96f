"""P3GM around the exact mean: two means that differ by a record differ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.datasets.base import DatasetFacts
from workbench.evaluation.refuting.attack import DELTA
from workbench.lazy import torch
from workbench.methods.p3gm.method import P3GMConfig, claimed
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import ImageKind, Records

RECORDS = 50
SETTINGS = {
    "centre": {"kind": "exact"},
    "components": {"number": 2, "noise_multiplier": 5.0},
    "mixture": {"steps": 20, "noise_multiplier": 100 / 3**0.5},
    "training": {"batch_size": RECORDS / 200, "noise_multiplier": 1.4, "steps": 800},
}
FACTS = DatasetFacts(name="fifty patterns", kind=ImageKind(size=(1, 8, 8)), num_records=RECORDS)


@dataclass(frozen=True)
class ExactMean:
    """Whether the centre is the mean with the record."""

    game: str = f"{RECORDS} random 8x8 images, one of which is there or not, and all noise as published: 5, 100 and 1.4"
    observed: str = "the centre, which the decoder's first images carry"

    def claim(self) -> PrivacyValue:
        """The RDP of all that the paper counts."""
        return claimed(P3GMConfig.model_validate(SETTINGS), FACTS, DELTA)

    def accuses(self, joined: bool, seed: int) -> bool:
        """The centre is nearer to the mean of all records than to that without the first."""
        from workbench.methods.p3gm import training
        from workbench.training.randomness import Randomness
        from workbench.training.state import State

        images = np.random.default_rng(seed).integers(0, 256, (RECORDS, *FACTS.shape)).astype(np.uint8)
        data, state = Records(images), State(FACTS, Randomness.from_seed(seed))
        state.tensors["centre"] = torch.zeros(FACTS.dimensions, dtype=torch.float64)
        training.release_centre(P3GMConfig.model_validate(SETTINGS), data if joined else data.without(0), state)
        pixels, centre = images.reshape(RECORDS, -1) / 255, state.tensors["centre"].numpy()
        apart = [float(np.linalg.norm(centre - pixels[start:].sum(axis=0) / RECORDS)) for start in (0, 1)]
        return apart[0] < apart[1]
