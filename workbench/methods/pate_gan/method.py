"""PATE-GAN (Jordon, Yoon and van der Schaar 2019): a student learns from generated images that teachers label by a noisy majority.

Teachers tell records of their own part from generated images. The student learns the same on generated images alone, each with the side
that most teachers take, with noise; the generator follows the student. So labels of generated images are all that leaves.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from dp_accounting import dp_event
from pydantic import BaseModel, ConfigDict, Field

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import Method, Preset, Reading
from workbench.methods.teachers import TeachersConfig, TeachersMethod, votes_rdp
from workbench.models.teachers.config import BALLOTS, VOTES, gaussian_votes, known_noise
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue

if TYPE_CHECKING:
    from workbench.privacy.not_dp.vote_gaps import VoteGapEpsilon
    from workbench.training.state import State


class Student(BaseModel):
    """The network that learns from labelled generated images, and that the generator follows."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    updates: int = Field(default=5, ge=1, le=10_000, description="Steps of the student in a round, each on images of its own.")
    hidden: int = Field(default=32, ge=1, le=10_000, description="Units of the student's one hidden layer.")
    learning_rate: float = Field(default=2e-3, ge=1e-9, le=1e3, description="Adam's learning rate for the student.")


class PATEGANConfig(TeachersConfig):
    """Hyper-parameters of PATE-GAN; None stands for what calibration finds."""

    noise_multiplier: float | None = Field(
        default=None,
        ge=0.05,
        le=1e6,
        description="Noise of the count of teachers that take an image for a record: deviation of Gaussian, scale of Laplace noise.",
    )
    noise: Literal["gaussian", "laplace"] = Field(
        default="gaussian", description="Noise of votes: the paper's Laplace noise, or Gaussian, which costs less for as many right labels."
    )
    student: Student = Student()

    @property
    def labels_of_round(self) -> int:
        """Generated images that are labelled in a round."""
        return self.student.updates * self.training.batch_size


REASON = (
    "A record is in one teacher's part, which moves the count of each image by one, and all counts of a round by the root of their number."
)
LAPLACE_REASON = (
    "A record is in one teacher's part, which moves each count by one; the paper stops at a smaller epsilon that depends on the true "
    "votes and is private itself."
)

SOURCE = "Jordon, Yoon and van der Schaar 2019 (PATE-GAN)"
NOTATION = {
    "num_records": "n",
    "noise_multiplier": "1/(2lambda)",
    "student.updates": "n_S",
    "training.batch_size": "B",
    "training.steps": "R",
}
READINGS = {
    "pate-gan": Reading(
        "PATE-GAN by the moments that depend on no record; lambda and rounds are our reading, and the paper prints no such number",
        "published",
        "2 lambda^2 l(l+1) for each of R n_S B labels, epsilon = min over l of (moment + log(1/delta)) / l",
        NOTATION,
    ),
}
MOST_MOMENT = 100


def lnmax_moments(rate: float, labels: int, delta: float, source: str) -> PrivacyValue:
    """The moments of so many argmaxes with Laplace noise of scale 1/`rate` that hold whatever the votes are: an upper bound.

    Papernot et al. (2017), Theorem 2: 2 rate^2 l (l + 1) a label, l = 1, .., 100.
    """
    epsilon = min((2.0 * rate**2 * order * (order + 1) * labels + math.log(1 / delta)) / order for order in range(1, MOST_MOMENT + 1))
    return PrivacyValue(
        epsilon=epsilon,
        delta=delta,
        status="proved",
        accountant="moments, data-independent",
        neighboring_relation="REPLACE_ONE",
        sampling="none",
        source=source,
    )


def published(facts: DatasetFacts) -> dict[str, Any]:
    """The paper's form: a teacher for 1000 records, 5 steps of teachers and student in a round, batches of 64.

    Lambda (PATE's .05) and the number of rounds are our reading.
    """
    return {
        "noise": "laplace",
        "noise_multiplier": 10.0,
        "teachers.number": max(2, facts.num_records // 1000),
        "teachers.updates": 5,
        "teachers.batch_size": 64,
        "teachers.learning_rate": 1e-4,
        "student.updates": 5,
        "student.learning_rate": 1e-4,
        "training.steps": 3,
        "training.batch_size": 64,
        "training.learning_rate": 1e-4,
    }


PRESETS = Method.presets | {
    "published": Preset(
        "The paper's form. Lambda .05, which is PATE's, and three rounds are our reading, so what is claimed for them on MNIST, 20.156, is "
        "no number that the paper prints. It goes on until an epsilon that depends on the true votes reaches its target; that number is "
        "private and no plan has it.",
        published,
        lambda _facts: 1e-5,
    )
}


def laplace_votes(config: PATEGANConfig) -> Stage:
    """A round's counts with discrete Laplace noise, a label each."""

    label = dp_event.DiscreteLaplaceDpEvent(1.0 / known_noise(config.noise_multiplier), 1)
    return Stage(
        name=VOTES,
        event=dp_event.SelfComposedDpEvent(label, config.labels_of_round),
        spent="per_step",
        steps=config.training.steps,
        relations=("REPLACE_SPECIAL",),
        sampling="all teachers in every round",
        reason=LAPLACE_REASON,
    )


def claimed(config: PATEGANConfig, delta: float) -> PrivacyValue:
    """The moments of Laplace noise that depend on no record, or the RDP of Gaussian noise."""
    labels, noise = config.labels_of_round * config.training.steps, known_noise(config.noise_multiplier)
    if config.noise == "laplace":
        return lnmax_moments(1.0 / (2.0 * noise), labels, delta, SOURCE)
    return votes_rdp([noise], labels, delta, SOURCE)


class PATEGAN(TeachersMethod[PATEGANConfig]):
    """A student that learns from generated images under noisy majorities of teachers, and a generator that follows it."""

    name = "pate-gan"
    title = "PATE-GAN"
    source = "Jordon, Yoon and van der Schaar 2019"
    Config = PATEGANConfig
    implementation = "workbench.methods.pate_gan.training"
    presets: ClassVar[dict[str, Preset]] = PRESETS
    readings: ClassVar[Mapping[str, Reading]] = READINGS
    kept_private: ClassVar[tuple[str, ...]] = (BALLOTS,)

    def votes(self) -> Stage:
        """A round's counts with noise, Gaussian in one release or Laplace a label."""
        config = self.config
        if config.noise == "gaussian":
            return gaussian_votes(config.noise_multiplier, config.labels_of_round, config.training.steps, REASON)
        return laplace_votes(config)

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """The moments of Laplace noise that depend on no record, or the RDP of Gaussian noise."""
        return claimed(self.config, delta)

    def vote_gap_epsilon(self, state: State, delta: float) -> VoteGapEpsilon:
        """What PATE's data-dependent analysis says of a fitted state's labels."""
        return self.implemented.vote_gap_epsilon(self.config, state, delta)
