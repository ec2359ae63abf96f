"""Training without clipping or noise, as settings: steps, batch, learning rate. `ordinary_training` carries them out. No torch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from workbench.errors import WorkbenchError
from workbench.training.switches import Switches

if TYPE_CHECKING:
    from workbench.privacy.accounting.stages import Stage

Schedule = Literal["constant", "cosine"]
SCHEDULES: dict[Schedule, Callable[[float], float]] = {  # share of the steps done, in [0, 1) -> factor, above 0
    "constant": lambda _done: 1.0,
    "cosine": lambda done: 0.5 * (1.0 + math.cos(math.pi * done)),
}


class OrdinaryTraining(BaseModel):
    """Optimiser steps on the mean loss of a batch. A method with defaults of its own makes a subclass that gives the fields anew."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    steps: int = Field(default=800, ge=0, description="Optimiser steps.")
    batch_size: int = Field(default=128, ge=1, description="Records in a step.")
    learning_rate: float = Field(default=1e-3, ge=1e-9, le=1e3, description="Adam's learning rate.")
    schedule: Schedule = Field(default="cosine", description="How the learning rate falls over the steps.")

    @property
    def rows(self) -> float:
        """How many rows a step passes through its network."""
        return self.batch_size

    def learning_rate_at(self, step: int) -> float:
        """The learning rate of step 1..steps."""
        return self.learning_rate * SCHEDULES[self.schedule]((step - 1) / self.steps)

    def unprotected_stage(self, name: str, num_records: int) -> Stage:
        """The stage `name` on private records, which nothing bounds; refuses a batch larger than the records."""
        from dp_accounting import dp_event

        from workbench.privacy.accounting.stages import Stage

        check_batch_size(name, self.batch_size, num_records)
        reason = "Gradients of private records enter the weights without clipping or noise."
        return Stage(name, dp_event.NonPrivateDpEvent(), "per_step", self.steps, sampling="uniform batches", reason=reason, rows=self.rows)

    def free_stage(self, name: str) -> Stage:
        """The stage `name` on public records or on what is released already."""
        from workbench.privacy.accounting.stages import Stage

        return Stage(name, None, "free", self.steps, rows=self.rows)


class PublicTraining(OrdinaryTraining):
    """Ordinary training on records of a public dataset, before any private one is touched."""

    switches: ClassVar[Switches] = {"steps": (0,), "dataset": ("",)}

    dataset: str = Field(default="glyphs", description="Public images for pre-training; empty (in a form: none) for none.")
    records: int = Field(default=20_000, ge=1, description="Public images used.")
    steps: int = Field(default=800, ge=0, description="Steps on public images, which cost no privacy.")
    batch_size: int = Field(default=128, ge=1, description="Public images in a step.")
    learning_rate: float = Field(default=1e-3, ge=1e-9, le=1e3, description="Adam's learning rate on public images.")

    @property
    def takes_place(self) -> bool:
        """Whether there is anything to train on."""
        return bool(self.dataset) and self.steps > 0


def check_batch_size(name: str, size: float, num_records: int) -> None:
    """Refuse batches of stage `name` that are larger than the training records."""
    if size > num_records:
        raise WorkbenchError(f"Expected a batch_size of {name} of at most the {num_records} training records, got {size:g}.")
