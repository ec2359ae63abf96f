"""PrivImage with noise by a seed that everybody knows: whoever subtracts it has the exact counts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from workbench.datasets.base import DatasetFacts
from workbench.evaluation.refuting.attack import DELTA
from workbench.lazy import torch
from workbench.methods.privimage.method import QUERY, SemanticQuery, query_claim
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import ImageKind, Records

if TYPE_CHECKING:
    from torch import nn

RECORDS, NOISE, KINDS, CHOICES = 20, 5.0, 6, 2
SETTINGS = {"noise": "seed 0", "noise_multiplier": NOISE, "kinds": KINDS, "choices": CHOICES}
FACTS = DatasetFacts(name="twenty patterns", kind=ImageKind(size=(1, 8, 8)), num_records=RECORDS, classes=("a", "b"))


@dataclass(frozen=True)
class KnownNoise:
    """How many votes are left of the noisy counts less the noise of the seed."""

    game: str = (
        f"{RECORDS} random 8x8 images, one of which is there or not, each with {CHOICES} votes among {KINDS} kinds, and noise s={NOISE:g} "
        "by seed 0"
    )
    observed: str = "the noisy counts"

    def claim(self) -> PrivacyValue:
        """The RDP of the query."""
        return query_claim(SemanticQuery.model_validate(SETTINGS), DELTA)

    def accuses(self, joined: bool, seed: int) -> bool:
        """The votes of all records are there."""
        from workbench.methods.privimage import training
        from workbench.training.grid import Grid
        from workbench.training.randomness import Randomness
        from workbench.training.state import State

        query, images = SemanticQuery.model_validate(SETTINGS), np.random.default_rng(seed).integers(0, 256, (RECORDS, *FACTS.shape))
        data = Records(images.astype(np.uint8), np.arange(RECORDS, dtype=np.int64) % 2)
        state = State(FACTS, Randomness.from_seed(seed), modules={"classifier": _classifier()})
        state.tensors["counts"] = torch.zeros((2, KINDS), dtype=torch.float64)
        for _ in training.ask(query, data if joined else data.without(0), state):
            pass
        noisy = state.tensors["counts"].numpy() / CHOICES**0.5
        known = Randomness.from_seed(0).release(QUERY, 1, np.zeros(noisy.shape, np.int64), Grid(NOISE, 1.0, RECORDS))
        return bool((noisy - known).sum() > CHOICES**0.5 * (RECORDS - 0.5))


@cache
def _classifier() -> nn.Module:
    """Some classifier of kinds, which is public."""
    from workbench.networks import initialized
    from workbench.networks.classifiers import SmallCNN

    return initialized(lambda: SmallCNN((1, 8, 8), KINDS, width=4, feature_dimensions=8), torch.Generator().manual_seed(0))
