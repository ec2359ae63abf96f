"""DataLens (Wang et al. 2021): teachers vote by the signs of the few numbers of a generated image that they would change most.

Of each wish for an image the `top` largest numbers vote, each +1 or -1 by a coin whose odds follow the number; all others vote 0. The sum
over teachers is released with noise; where it is far enough from 0 the image moves by a step that way, and the generator follows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.base import Method, Preset, Reading
from workbench.methods.teachers import TeachersConfig, TeachersMethod, votes_rdp
from workbench.models.teachers.config import gaussian_votes, known_noise
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue


class DataLensConfig(TeachersConfig):
    """Hyper-parameters of DataLens; None stands for what calibration finds."""

    noise_multiplier: float | None = Field(
        default=None, ge=1e-3, le=1e6, description="Noise of the votes about each number, in votes; empty calibrates it to the target."
    )
    top: int = Field(default=8, ge=1, le=100_000, description="Numbers of an image that a teacher votes about, those it would change most.")
    threshold: float = Field(default=0.2, ge=1e-6, le=1, description="Part of the teachers by which noisy votes must be apart to count.")
    move: float = Field(default=0.2, ge=1e-9, le=2, description="How far such a number of an image, in [-1, 1], moves.")

    @property
    def changes(self) -> float:
        """The square of how far one teacher moves the votes of a round: all its `top` signs of every image may turn, each by 2."""
        return 4.0 * self.top * self.training.batch_size


REASON = (
    "A record is in one teacher's part, which may turn the signs of all k votes about an image, 2 sqrt(k); the paper's code gives some "
    "records to two teachers, which is a row of its own (datalens-coded)."
)

SOURCE = "Wang et al. 2021 (DataLens)"
FORMULA = "RDP of R B vectors of votes, 2 k a/s^2 each"
NOTATION = {
    "noise_multiplier": "s",
    "top": "k",
    "training.batch_size": "B",
    "training.steps": "R",
}
READINGS = {
    "datalens": Reading("DataLens on disjoint parts, as many steps as reach 10", "published", FORMULA, NOTATION),
    "datalens-1": Reading("DataLens on disjoint parts, as many steps as reach 1", "published-1", FORMULA, NOTATION),
}
PUBLISHED = {"published": (800.0, 300, 0.2, 142), "published-1": (5000.0, 200, 0.7, 149)}  # s, k, threshold, steps


def published(facts: DatasetFacts, name: str) -> dict[str, Any]:
    """The code's settings for images of 28x28: 4000 teachers of 15 records, batches of 15."""
    noise, top, threshold, steps = PUBLISHED[name]
    return {
        "noise_multiplier": noise,
        "top": min(top, facts.dimensions),
        "threshold": threshold,
        "move": 1e-3,
        "latent_size": 50,
        "teachers.number": min(4000, facts.num_records),
        "teachers.updates": 2,
        "teachers.batch_size": 15,
        "training.batch_size": 15,
        "training.steps": steps,
    }


def published_preset(name: str, epsilon: int) -> Preset:
    """The code's settings for a claim."""
    return Preset(
        f"The code's settings on MNIST for epsilon {epsilon}, for as many steps as reach it, on parts that share no record. It trains "
        "its teachers for ten rounds before the first vote; here they begin with it.",
        lambda facts: published(facts, name),
        lambda _facts: 1e-5,
    )


PRESETS = Method.presets | {"published": published_preset("published", 10), "published-1": published_preset("published-1", 1)}


def claimed(config: DataLensConfig, delta: float) -> PrivacyValue:
    """The RDP of all vectors of votes of `config`."""
    noise = known_noise(config.noise_multiplier) / (2.0 * config.top**0.5)
    return votes_rdp([noise], config.training.batch_size * config.training.steps, delta, SOURCE)


class DataLens(TeachersMethod[DataLensConfig]):
    """Noisy sums of the signs of what teachers would change most, and a generator that follows them."""

    name = "datalens"
    title = "DataLens"
    source = "Wang et al. 2021"
    Config = DataLensConfig
    implementation = "workbench.methods.datalens.training"
    presets: ClassVar[dict[str, Preset]] = PRESETS
    readings: ClassVar[Mapping[str, Reading]] = READINGS
    shapes: ClassVar[tuple[str, ...] | None] = ("latent_size", "hidden_size", "channels", "teachers", "top")
    config: DataLensConfig

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """As of all methods with teachers; refuses votes about more numbers than an image has."""
        if self.config.top > facts.dimensions:
            raise WorkbenchError(f"Expected votes about at most the {facts.dimensions} numbers of an image, got top={self.config.top}.")
        return super().stages(facts)

    def votes(self) -> Stage:
        """A round's noisy sums of signs in one release."""
        return gaussian_votes(self.config.noise_multiplier, self.config.changes, self.config.training.steps, REASON)

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """The RDP of all vectors of votes."""
        return claimed(self.config, delta)
