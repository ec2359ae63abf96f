"""What teachers on disjoint parts are asked for, and the stages of a round: they learn, they vote, a generator follows. No torch."""

from __future__ import annotations

import math

from pydantic import BaseModel, ConfigDict, Field

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.privacy.accounting.events import ReplaceOneGaussianDpEvent
from workbench.privacy.accounting.stages import Stage, quiet_stage
from workbench.training.ordinary import OrdinaryTraining
from workbench.training.parts import check_parts

TEACHERS = "teachers"  # the quiet stage, and the module that it writes
VOTES = "votes"  # the release, and the state's tensor of noisy votes
BALLOTS = "ballots"  # the module that keeps the true votes, for whoever holds the records
QUIET = "Each teacher learns from its own part of the records, which positions alone decide, and only its votes leave, at a price."


class Ensemble(BaseModel):
    """Teachers that tell records from generated images, each on a part of its own."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    number: int = Field(default=40, ge=1, le=100_000, description="Teachers, each on an equal part of the records.")
    hidden: int = Field(default=32, ge=1, le=10_000, description="Units of a teacher's one hidden layer.")
    updates: int = Field(default=5, ge=1, le=10_000, description="Steps of every teacher in a round, each on records of its part alone.")
    batch_size: int = Field(default=16, ge=1, le=100_000, description="Records of its part in a teacher's step, drawn with replacement.")
    learning_rate: float = Field(default=2e-3, ge=1e-9, le=1e3, description="Adam's learning rate for the teachers.")

    def stage(self, rounds: int, facts: DatasetFacts) -> Stage:
        """Their rounds, which release nothing; refuses more teachers than records."""
        check_parts(facts.num_records, self.number)
        return quiet_stage(TEACHERS, rounds, QUIET, rows=2.0 * self.updates * self.number * self.batch_size)


class Rounds(OrdinaryTraining):
    """Steps of the generator, one in each round of votes."""

    steps: int = Field(default=20, ge=1, description="Rounds: in each the teachers learn and vote, and the generator takes a step.")
    batch_size: int = Field(default=20, ge=1, description="Generated images in a step of the generator.")
    learning_rate: float = Field(default=2e-3, ge=1e-9, le=1e3, description="Adam's learning rate for the generator.")


def gaussian_votes(noise_multiplier: float | None, changes: float, rounds: int, reason: str) -> Stage:
    """A round's votes with noise in one release: `changes` is the square of how far one teacher moves them, in units of the noise's.

    A teacher may vote anything else, whether a record of its part is replaced or made null: both distances are the same.
    """
    noise = known_noise(noise_multiplier)
    return Stage(
        name=VOTES,
        event=ReplaceOneGaussianDpEvent(noise / math.sqrt(changes), zero_out_ratio=1.0),
        spent="per_step",
        steps=rounds,
        relations=("REPLACE_SPECIAL", "REPLACE_ONE"),
        sampling="all teachers in every round",
        reason=reason,
    )


def known_noise(noise_multiplier: float | None) -> float:
    """A noise that was given or found; refuses an empty one."""
    if noise_multiplier is None:
        raise WorkbenchError("Expected a noise_multiplier, got none: give one, or an epsilon to calibrate it to.")
    return noise_multiplier
