"""What a generator is asked for that is fitted to noisy embeddings, and the stage of a release. No torch."""

from __future__ import annotations

from typing import Protocol

from pydantic import Field

from workbench.datasets.base import DatasetFacts
from workbench.models.label_shares import PaidLabelShares
from workbench.privacy.accounting.events import ReplaceOneGaussianDpEvent
from workbench.privacy.accounting.stages import Stage
from workbench.training.ordinary import OrdinaryTraining

GENERATOR = "generator"  # the stage, and the module that samples come from
EMBEDDING = "embedding"  # what is released, where it is one
REASON = (
    "Every record adds a vector of norm 1/num_records, so replacing one moves the mean by at most 2/num_records "
    "and making one null by at most 1/num_records."
)


class GeneratorTraining(OrdinaryTraining):
    """The generator's steps."""

    steps: int = Field(default=800, ge=1, description="Generator steps; they touch the release alone.")
    batch_size: int = Field(default=500, ge=1, description="Generated images in a step.")
    learning_rate: float = Field(default=1e-2, ge=1e-9, le=1e3, description="Adam's first learning rate.")


class GeneratorShape(Protocol):
    """A configuration with a generator, and how classes of samples are drawn."""

    @property
    def latent_size(self) -> int: ...
    @property
    def hidden_size(self) -> int: ...
    @property
    def channels(self) -> int: ...
    @property
    def labels(self) -> PaidLabelShares: ...


class GeneratorSettings(GeneratorShape, Protocol):
    """The same with the noise of what it is fitted to, and its training."""

    @property
    def noise_multiplier(self) -> float | None: ...
    @property
    def training(self) -> OrdinaryTraining: ...


def columns(facts: DatasetFacts) -> int:
    """How many mean embeddings are released together: one for each class, one where there are none."""
    return max(facts.num_classes, 1)


def embedding_stage(
    name: str, noise_multiplier: float | None, *, zero_out_ratio: float = 0.5, steps: int = 1, reason: str = REASON
) -> Stage:
    """A Gaussian release of mean embeddings by class, all records at once, noise over the replace-one distance; so `steps` times."""
    assert noise_multiplier is not None
    return Stage(
        name=name,
        event=ReplaceOneGaussianDpEvent(noise_multiplier, zero_out_ratio=zero_out_ratio),
        spent="once" if steps == 1 else "per_step",
        steps=steps,
        relations=("REPLACE_SPECIAL", "REPLACE_ONE"),
        sampling="all records, once" if steps == 1 else "all records in every release",
        reason=reason,
    )
