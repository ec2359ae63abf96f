"""DP-SGD as one part: settings that give a stage its event and, in `private_training`, carry it out. No torch.

A method that trains by DP-SGD has one of these in its configuration and says its loss; batches, noise and divisor are one object of
`private_steps` for both sides, so that they cannot disagree.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from workbench.errors import WorkbenchError
from workbench.training.ordinary import SCHEDULES, Schedule, check_batch_size
from workbench.training.private_steps import PoissonBatches, PrivateSteps
from workbench.training.switches import Switches

if TYPE_CHECKING:
    from workbench.privacy.accounting.stages import Stage

REASON = (
    "Per-record gradients are clipped; their float32 sum, assumed to round neighbors no farther apart than the noise is widened for, gets "
    "integer noise on a grid and is divided by the expected batch size, a constant (docs/proofs.md, section 2)."
)


class DPSGD(BaseModel):
    """Poisson batches, gradients clipped per record, Gaussian noise once a step, division by the expected batch size.

    Abadi et al. 2016, Algorithm 1; a record's loss is the mean over `noise_multiplicity` draws (Dockhorn et al. 2023). A
    method with defaults of its own makes a subclass that gives the fields anew.
    """

    switches: ClassVar[Switches] = {"noise_multiplicity": (1, 2)}

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    noise_multiplier: float | None = Field(
        default=None, ge=1e-3, le=1e6, description="DP-SGD noise over the clipping norm; empty calibrates it."
    )
    max_grad_norm: float = Field(default=1.0, ge=1e-6, le=1e6, description="Clipping norm C of a record's gradient.")
    clipping_schedule: Schedule = Field(default="constant", description="How that norm, and the noise with it, falls over the steps.")
    batch_size: float = Field(default=450, ge=0.01, le=1e12, description="Expected Poisson batch; the sampling rate times num_records.")
    steps: int = Field(default=60, ge=1, description="DP-SGD steps.")
    noise_multiplicity: int = Field(default=1, ge=1, description="Noise samples K that a record's loss is averaged over.")
    learning_rate: float = Field(default=2e-3, ge=1e-9, le=1e3, description="Adam's learning rate.")
    schedule: Schedule = Field(default="constant", description="How the learning rate falls over the steps.")

    def known_noise_multiplier(self, name: str) -> float:
        """The noise multiplier of stage `name`; refused while there is none."""
        if self.noise_multiplier is None:
            raise WorkbenchError(f"Expected a noise_multiplier of {name}, got none: give one, or an epsilon to calibrate it to.")
        return self.noise_multiplier

    @property
    def rows(self) -> float:
        """How many rows a step passes through its network: K for each record."""
        return self.batch_size * self.noise_multiplicity

    def sample_rate(self, num_records: int) -> float:
        """The probability with which each of `num_records` joins a batch."""
        return self.batch_size / num_records

    def terms(self, name: str, num_records: int) -> dict[str, Any]:
        """What a paper's formula knows of stage `name` on `num_records` records, by the formulas' own argument names."""
        noise_multiplier, sample_rate = self.known_noise_multiplier(name), self.sample_rate(num_records)
        return {"noise_multiplier": noise_multiplier, "sample_rate": sample_rate, "steps": self.steps}

    def learning_rate_at(self, step: int) -> float:
        """The learning rate of step 1..steps."""
        return self.learning_rate * SCHEDULES[self.schedule]((step - 1) / self.steps)

    def thresholds_at(self, step: int) -> tuple[float, ...]:
        """The clipping norms C_g of the groups of parameters at step 1..steps; here there is one group, of all parameters.

        A record moves the sum by at most sqrt(sum C_g^2), which the noise is scaled to: its multiplier is that of every step.
        """
        return (self.max_grad_norm * SCHEDULES[self.clipping_schedule]((step - 1) / self.steps),)

    def private_steps(self, name: str, num_records: int) -> PrivateSteps:
        """The steps of stage `name` on so many records, which a plan counts and a trainer carries out.

        Refuses a batch larger than the records. A paper's method whose steps are others has them here, and nowhere else.
        """
        check_batch_size(name, self.batch_size, num_records)
        batches = PoissonBatches(self.sample_rate(num_records))
        return PrivateSteps(name, self.steps, batches, self.known_noise_multiplier(name), divisor=self.batch_size)

    def stage(self, name: str, num_records: int, reason: str = REASON) -> Stage:
        """The stage `name` that a trainer of these settings carries out."""
        return replace(self.private_steps(name, num_records).stage(reason), rows=self.rows)
