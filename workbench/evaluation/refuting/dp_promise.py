"""dp-promise with the paper's regression target: one step of a linear network tells exactly who took part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from workbench.datasets.base import DatasetFacts
from workbench.evaluation.refuting.attack import DELTA
from workbench.lazy import torch
from workbench.methods.dp_promise import phases
from workbench.methods.dp_promise.phases import DPPromiseConfig
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import ImageKind

if TYPE_CHECKING:
    from torch import Tensor

RECORDS, BOUNDARY, NEAR = 8, 910, 1e-3
SETTINGS = {"targets": "paper", "boundary": BOUNDARY, "phase_one": {"steps": 1, "batch_size": RECORDS}}
FACTS = DatasetFacts(name="eight patterns", kind=ImageKind(size=(1, 8, 8)), num_records=RECORDS)


@dataclass(frozen=True)
class PaperTargets:
    """Whether a record lies in the span of the rows and columns of the weights after one step.

    Of weights zero a step of rate 1 leaves W = c sum_i z_i x_t,i^T, and sqrt(abar_t) x_i = x_t,i - sqrt(1 - abar_t) z_i.
    """

    game: str = (
        f"phase one alone, one step on all of {RECORDS} random 8x8 images at S={BOUNDARY}, one of which may be another, "
        "by a linear network from zero"
    )
    observed: str = "the network's weights after that step"

    def claim(self) -> PrivacyValue:
        """Proposition 2 and Lemma 4 with the printed mu."""
        config = DPPromiseConfig.model_validate(SETTINGS)
        epsilon = phases.epsilon_alone(config, FACTS, DELTA, "claim")
        return PrivacyValue(epsilon=epsilon, delta=DELTA, status="approximation", neighboring_relation="REPLACE_ONE")

    def accuses(self, joined: bool, seed: int) -> bool:
        """The first record is in the span but for rounding."""
        images = _patterns()
        rows, columns = (basis[:, :RECORDS] for basis in _bases(_weights_after_a_step(images, joined, seed)))
        span, _ = np.linalg.qr(np.concatenate([rows, columns], axis=1))
        record = images[0].reshape(-1)
        return bool(np.linalg.norm(record - span @ (span.T @ record)) < NEAR * np.linalg.norm(record))


def _patterns() -> np.ndarray:
    """Images float64 (9, 1, 8, 8) in [-1, 1], known to the attacker; the last stands in the place of the first where that is missing."""
    return np.random.default_rng(0).uniform(-1, 1, (RECORDS + 1, *FACTS.shape))


def _bases(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bases of the row and the column space, the largest directions first."""
    left, _, right = np.linalg.svd(weights)
    return right.T, left


def _weights_after_a_step(images: np.ndarray, joined: bool, seed: int) -> np.ndarray:
    """(64, 64): the method's own loss, one step of gradient descent with rate 1."""
    from workbench.methods.dp_promise.training import paper_loss
    from workbench.training.randomness import Randomness
    from workbench.training.state import State

    linear = torch.nn.Linear(FACTS.dimensions, FACTS.dimensions, bias=False, dtype=torch.float64)
    torch.nn.init.zeros_(linear.weight)
    data = torch.from_numpy(images[:-1] if joined else images[1:])

    def network(x_t: Tensor, _times: Tensor, _rows: Tensor) -> Tensor:
        return linear(x_t.flatten(1)).reshape(x_t.shape)

    state = State(FACTS, Randomness.from_seed(seed))
    paper_loss(DPPromiseConfig.model_validate(SETTINGS), network, data, torch.ones(RECORDS), state, 1).backward()
    assert linear.weight.grad is not None
    return -linear.weight.grad.numpy()
