"""Hyper-parameters of DP-MERF."""

from typing import ClassVar

from pydantic import Field

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import MethodConfig
from workbench.models.label_shares import PaidLabelShares
from workbench.training.ordinary import OrdinaryTraining
from workbench.training.switches import Switches


class GeneratorTraining(OrdinaryTraining):
    """The generator's steps."""

    steps: int = Field(default=800, ge=1, description="Generator steps; they touch the release alone.")
    batch_size: int = Field(default=500, ge=1, description="Generated images in a step.")
    learning_rate: float = Field(default=1e-2, ge=1e-9, le=1e3, description="Adam's first learning rate.")


class DPMERFConfig(MethodConfig):
    """Hyper-parameters of DP-MERF."""

    switches: ClassVar[Switches] = {"length_scale": (0.0, 2.0)}

    noise_multiplier: float | None = Field(
        default=None, ge=1e-3, le=1e6, description="Noise over the replace-one distance 2/num_records; empty calibrates it to the target."
    )
    num_features: int = Field(default=2_000, ge=2, description="Random Fourier features (cosines and sines together).")
    length_scale: float = Field(
        default=0.0, ge=0, le=1e6, description="Kernel length scale on pixels in [0, 1]; 0 takes sqrt(0.134 dimensions)."
    )
    latent_size: int = Field(default=10, ge=1, description="Inputs of the generator beside the label.")
    hidden_size: int = Field(default=200, ge=1, description="Units of the generator's first layer.")
    channels: int = Field(default=16, ge=1, description="Channels of the generator's convolutions.")
    training: GeneratorTraining = GeneratorTraining()
    labels: PaidLabelShares = PaidLabelShares()

    def embedding_shape(self, facts: DatasetFacts) -> tuple[int, int]:
        """(features, classes) of the release: a mean embedding for each class."""
        return self.num_features // 2 * 2, max(facts.num_classes, 1)
