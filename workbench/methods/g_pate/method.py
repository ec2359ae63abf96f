"""G-PATE (Long et al. 2021): teachers vote which way generated images should move, along a few random directions.

A teacher's wish for an image is projected to some directions that no record decides, and falls into one of some bins along each. The bin
that most teachers are in, with noise, is released where a noisy test says that many are; the generator follows the bins' centres.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import Method, Preset, Reading
from workbench.methods.teachers import TeachersConfig, TeachersMethod, votes_rdp
from workbench.models.teachers.config import BALLOTS, gaussian_votes, known_noise
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.training.switches import Switches

if TYPE_CHECKING:
    from workbench.privacy.not_dp.vote_gaps import VoteGapEpsilon
    from workbench.training.state import State


class GPATEConfig(TeachersConfig):
    """Hyper-parameters of G-PATE; None stands for what calibration finds."""

    switches: ClassVar[Switches] = {"threshold": (0.0, 0.5)}

    noise_multiplier: float | None = Field(
        default=None, ge=1e-3, le=1e6, description="Noise of the votes for each bin, in votes; empty calibrates it to the target."
    )
    directions: int = Field(default=4, ge=1, le=10_000, description="Random directions along which an image's move is voted about.")
    bins: int = Field(default=10, ge=2, le=1_000, description="Bins along each direction, between -clip and clip.")
    clip: float = Field(default=0.1, ge=1e-9, le=1e6, description="Length at which a wish along a direction is cut.")
    threshold: float = Field(
        default=0.0, ge=0, le=1, description="Part of the teachers that must be in one bin, by a noisy test; 0 takes every answer."
    )
    test_noise: float = Field(default=3.0, ge=1e-3, le=1e6, description="Noise of a test over that of a vote; where there are tests.")
    move: float = Field(default=1.0, ge=1e-9, le=1e9, description="How far images move by what is released, in the wishes' own units.")

    @property
    def queries(self) -> int:
        """Argmaxes of a round."""
        return self.training.batch_size * self.directions

    @property
    def changes(self) -> float:
        """The square of how far one teacher moves a round's release, in votes' deviations times noise_multiplier.

        An answer has two bins moved by one, a test its largest count; every query is counted as answered.
        """
        return self.queries * (2.0 + (self.test_noise**-2 if self.threshold else 0.0))


REASON = (
    "A record is in one teacher's part, which moves two bins of every argmax by one and the count that a test looks at; each is charged as "
    "answered, while the paper stops at a smaller epsilon that depends on the true votes and is private itself."
)

SOURCE = "Long et al. 2021 (G-PATE)"
FORMULA = "RDP of R B p tests, a/(2 s1^2), and of as many answers, a/s2^2: every query answered"
NOTATION = {
    "noise_multiplier": "s2",
    "test_noise": "s1/s2",
    "directions": "p",
    "training.batch_size": "B",
    "training.steps": "R",
}
READINGS = {
    "g-pate": Reading("G-PATE: as many steps as reach 10 if all are answered", "published", FORMULA, NOTATION),
    "g-pate-1": Reading("G-PATE: as many steps as reach 1 if all are answered", "published-1", FORMULA, NOTATION),
}
PUBLISHED: dict[str, dict[str, Any]] = {  # teachers, s2, s1/s2, images of a step, steps that reach the claim at worst, inputs
    "published": {"teachers": 2000, "noise": 100.0, "ratio": 6.0, "batch": 30, "steps": 65, "latent": 100},
    "published-1": {"teachers": 4000, "noise": 1000.0, "ratio": 3.0, "batch": 15, "steps": 226, "latent": 50},
}


def published(facts: DatasetFacts, name: str) -> dict[str, Any]:
    """The code's settings for images of 28x28."""
    code = PUBLISHED[name]
    number = min(code["teachers"], facts.num_records)
    return {
        "noise_multiplier": code["noise"],
        "test_noise": code["ratio"],
        "threshold": 0.5,
        "directions": 10,
        "bins": 10,
        "clip": 1e-4,
        "latent_size": code["latent"],
        "teachers.number": number,
        "teachers.updates": 1,
        "teachers.batch_size": max(1, min(64, facts.num_records // number)),
        "training.batch_size": code["batch"],
        "training.steps": code["steps"],
        "training.learning_rate": 1e-3,
    }


def published_preset(name: str, epsilon: int) -> Preset:
    """The code's settings for a claim."""
    return Preset(
        f"The code's settings on MNIST for epsilon {epsilon}, for as many steps as reach that if every query is answered. The code goes on "
        "until an epsilon that depends on the true votes reaches its target; that number is private.",
        lambda facts: published(facts, name),
        lambda _facts: 1e-5,
    )


PRESETS = Method.presets | {"published": published_preset("published", 10), "published-1": published_preset("published-1", 1)}


def claimed(config: GPATEConfig, delta: float) -> PrivacyValue:
    """The RDP of all tests and answers of `config`, whatever the votes are."""
    noise = known_noise(config.noise_multiplier)
    tests = [noise * config.test_noise] if config.threshold else []
    return votes_rdp([*tests, noise / math.sqrt(2.0)], config.queries * config.training.steps, delta, SOURCE)


class GPATE(TeachersMethod[GPATEConfig]):
    """Noisy argmaxes of where teachers want generated images to go, along random directions, and a generator that follows."""

    name = "g-pate"
    title = "G-PATE"
    source = "Long et al. 2021"
    Config = GPATEConfig
    implementation = "workbench.methods.g_pate.training"
    presets: ClassVar[dict[str, Preset]] = PRESETS
    readings: ClassVar[Mapping[str, Reading]] = READINGS
    shapes: ClassVar[tuple[str, ...] | None] = ("latent_size", "hidden_size", "channels", "teachers", "directions", "bins")
    kept_private: ClassVar[tuple[str, ...]] = (BALLOTS,)
    config: GPATEConfig

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """As many teachers as there are records for, at most."""
        return {"teachers.number": min(40, facts.num_records)}

    def votes(self) -> Stage:
        """A round's tests, if any, and noisy bins in one release."""
        return gaussian_votes(self.config.noise_multiplier, self.config.changes, self.config.training.steps, REASON)

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """The RDP of all tests and answers."""
        return claimed(self.config, delta)

    def vote_gap_epsilon(self, state: State, delta: float) -> VoteGapEpsilon:
        """What the paper's data-dependent analysis, Confident-GNMax, says of a fitted state's answers."""
        return self.implemented.vote_gap_epsilon(self.config, state, delta)
