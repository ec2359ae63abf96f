"""DP-SAD by eq. 17: the noise is divided by the number of time steps, and the clipped gradient is not that of the weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from workbench.datasets.base import DatasetFacts
from workbench.evaluation.refuting.attack import DELTA
from workbench.lazy import torch
from workbench.methods.dp_sad.method import DPSADConfig, claim
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import ImageKind

if TYPE_CHECKING:
    from workbench.diffusion import GaussianDiffusion

RECORDS, NOISE, TIMESTEPS, NORM = 4, 160.0, 1000, 0.01
SETTINGS = {
    "mode": "eq17",
    "compared": "image",
    "adversarial_weight": 0.0,
    "diffusion": {"timesteps": TIMESTEPS},
    "student": {"steps": 1, "batch_size": RECORDS, "noise_multiplier": NOISE, "max_grad_norm": NORM, "noise_multiplicity": 1},
}
FACTS = DatasetFacts(name="four patterns", kind=ImageKind(size=(1, 8, 8)), num_records=RECORDS)
THRESHOLD = NORM / RECORDS * 8 / 2  # half of a record's singular value, C |x_t|/B; the noise's largest is 16 C sigma/(B T)


@dataclass(frozen=True)
class OutputClipping:
    """How many records the weights after one step show: each adds a matrix of rank one, larger than the noise."""

    game: str = (
        f"one step of the student on all of {RECORDS} random 8x8 images of black and white, one of which is there or not, with "
        f"sigma={NOISE:g} and T={TIMESTEPS}, by a student that predicts the next image linearly, from zero, and a teacher that is public"
    )
    observed: str = "the student's weights after that step"

    def claim(self) -> PrivacyValue:
        """Theorem 4."""
        return claim(DPSADConfig.model_validate(SETTINGS), FACTS, DELTA)

    def accuses(self, joined: bool, seed: int) -> bool:
        """As many singular values as records are above the threshold."""
        sizes = np.linalg.svd(_weights_after_a_step(joined, seed), compute_uv=False)
        return int((sizes > THRESHOLD).sum()) >= RECORDS


def _weights_after_a_step(joined: bool, seed: int) -> np.ndarray:
    """(64, 64): the method's own step, by gradient descent with rate 1."""
    from workbench.diffusion import build_diffusion
    from workbench.methods.dp_sad.distillation import Distillation
    from workbench.methods.dp_sad.method import STUDENT
    from workbench.methods.dp_sad.paper import OutputClipped
    from workbench.networks import ExponentialMovingAverage
    from workbench.training.randomness import Randomness
    from workbench.training.state import State

    config = DPSADConfig.model_validate(SETTINGS)
    student, teacher = (_Linear(build_diffusion(config.diffusion)) for _ in range(2))
    state = State(FACTS, Randomness.from_seed(seed))
    state.optimizers[STUDENT] = torch.optim.SGD(student.parameters(), lr=config.student.learning_rate)
    images = np.random.default_rng(0).choice([-1.0, 1.0], (RECORDS, *FACTS.shape)).astype(np.float32)[not joined :]
    data, all_of_them = (torch.from_numpy(images), torch.zeros(len(images), dtype=torch.int64)), np.ones(len(images), np.bool_)
    average = ExponentialMovingAverage(student)
    steps = OutputClipped(config, Distillation(config, teacher, teacher), student, state, data, all_of_them, average)
    steps.step(1)
    return student.linear.weight.detach().numpy() / config.student.learning_rate_at(1)


class _Linear(torch.nn.Module):
    """The output whose image of the next time step is W x_t, W from zero: as the paper has it, its model predicts that image."""

    def __init__(self, diffusion: GaussianDiffusion) -> None:
        super().__init__()
        self.diffusion = diffusion
        self.linear = torch.nn.Linear(FACTS.dimensions, FACTS.dimensions, bias=False)
        torch.nn.init.zeros_(self.linear.weight)

    def forward(self, x_t: torch.Tensor, times: torch.Tensor, _rows: torch.Tensor) -> torch.Tensor:
        """(B, 1, 8, 8)."""
        from workbench.methods.dp_sad.distillation import next_image

        none = torch.zeros_like(x_t)
        begins = next_image(self.diffusion, none, x_t, times)
        slope = next_image(self.diffusion, none + 1, x_t, times) - begins
        return (self.linear(x_t.flatten(1)).reshape(x_t.shape) - begins) / slope
