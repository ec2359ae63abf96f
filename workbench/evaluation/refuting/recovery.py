"""DPGEN and P3DM: the responses hold records as they are, so that one of another colour shows itself."""

from dataclasses import dataclass
from typing import cast

import numpy as np

from workbench.datasets.base import DatasetFacts
from workbench.evaluation.refuting.attack import DELTA
from workbench.methods import METHODS
from workbench.models.recovery.config import RecoverySettings
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import ImageKind, Records

EPSILON, RECORDS = 1.0, 64
SETTINGS = {"responses": {"epsilon": EPSILON, "num_candidates": RECORDS, "rounds": 1, "conditional": False}}
FACTS = DatasetFacts(name="one white", kind=ImageKind(size=(1, 2, 2)), num_records=RECORDS)


@dataclass(frozen=True)
class Responses:
    """Whether a white image is among the responses to records of which all others are black."""

    method: str
    game: str = f"{RECORDS} images, all black but for one that is white or black, one response each over all of them as candidates"
    observed: str = "white among the responses that train the network"

    def claim(self) -> PrivacyValue:
        """Randomised response's epsilon."""
        method = METHODS[self.method]
        return method(method.Config.model_validate(SETTINGS)).claim(FACTS, DELTA)

    def accuses(self, joined: bool, seed: int) -> bool:
        """A white response was given."""
        from workbench.models.recovery.triples import make_triples
        from workbench.training.randomness import Randomness

        images = np.zeros((RECORDS, *FACTS.shape), np.uint8)
        images[0] = 255 * joined
        settings = cast(RecoverySettings, METHODS[self.method].Config.model_validate(SETTINGS))
        triples = make_triples(settings, Records(images), np.array([1.0]), Randomness.from_seed(seed))
        return bool((triples.responses == 255).any())
