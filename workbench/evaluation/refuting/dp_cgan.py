"""DP-CGAN as coded: the generator learns from the labels of the batch, which no noise is added to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.datasets.base import DatasetFacts
from workbench.evaluation.refuting.attack import DELTA
from workbench.lazy import torch
from workbench.methods.dp_cgan.method import DPCGAN, DPCGANConfig
from workbench.models.embeddings.config import GENERATOR
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import ImageKind, Records

RECORDS, NOISE, LATENT_SIZE = 4, 10.0, 2
SETTINGS = {
    "latent_size": LATENT_SIZE,
    "hidden_size": 4,
    "channels": 4,
    "loss": "bce",
    "critic": {"blocks": 1, "width": 4, "hidden_size": 4, "normalization": "group"},
    "training": {"form": "coded", "steps": 1, "batch_size": RECORDS, "noise_multiplier": NOISE},
    "generator": {"critic_steps": 1, "batch_size": RECORDS},
}
FACTS = DatasetFacts(name="one of its class", kind=ImageKind(size=(1, 8, 8)), num_records=RECORDS, classes=("a", "b"))
RARE = 1  # the class of the record that is there or not


@dataclass(frozen=True)
class BatchLabels:
    """Whether the generator's weights that only the rare class has moved from where they began."""

    game: str = (
        f"{RECORDS} random 8x8 images, of which one may be the only one of its class; one step of the discriminator on all of them with "
        f"sigma={NOISE:g}, and one of the generator, from weights that are public"
    )
    observed: str = "the generator's weights for that class after its step"

    def claim(self) -> PrivacyValue:
        """The moments accountant's, of the discriminator's steps."""
        return DPCGAN(DPCGANConfig.model_validate(SETTINGS)).claim(FACTS, DELTA)

    def accuses(self, joined: bool, seed: int) -> bool:
        """The weights moved: nothing else moves them."""
        before, after = _generators(joined, seed)
        return bool((_weights_of_class(before) != _weights_of_class(after)).any())


def _generators(joined: bool, seed: int) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """The generator's weights before and after the method's own training."""
    from workbench.methods.dp_cgan import training
    from workbench.training.randomness import Randomness
    from workbench.training.state import State

    config = DPCGANConfig.model_validate(SETTINGS)
    images = np.random.default_rng(seed).integers(0, 256, (RECORDS, *FACTS.shape)).astype(np.uint8)
    data = Records(images, np.arange(RECORDS, dtype=np.int64) // (RECORDS - 1))
    state = training.initial_state(config, FACTS, State(FACTS, Randomness.from_seed(seed)))
    before = {name: value.clone() for name, value in state.modules[GENERATOR].state_dict().items()}
    for _ in training.fit(config, data if joined else data.without(RECORDS - 1), None, state):
        pass
    return before, state.modules[GENERATOR].state_dict()


def _weights_of_class(weights: dict[str, torch.Tensor]) -> torch.Tensor:
    """Those of the first layer that the rare class's entry of its input meets, (hidden size,): the input is latent values, then classes."""
    return weights["dense.0.weight"][:, LATENT_SIZE + RARE]
