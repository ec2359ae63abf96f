"""DP-LoRA (Tsai et al. 2025): DP-SGD on low-rank adapters of a diffusion model that was trained on public images before.

All public weights W are frozen. Private records train B and A in W + B A of rank r beside query, key, value and output of every
attention block (beside convolutions too, if asked), and the embedding of labels. B begins at zero, so that the model begins as the public
one. A bound counts the steps; adapters only have fewer weights, hence less noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import Preset, Reading
from workbench.methods.latent_tuning import FORMULA, NOTATION, LatentTuned, model_values, published_values
from workbench.methods.pretrained import GuidedDiffusion, PublicStart
from workbench.models.latents.config import ScaledLatents
from workbench.training.dp_sgd import DPSGD


class Adapters(BaseModel):
    """Which low-rank maps stand beside the frozen layers."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rank: int = Field(default=4, ge=1, le=256, description="Rank r of B A beside a frozen layer.")
    convolutions: bool = Field(default=False, description="Adapters on the residual blocks' convolutions too, beside those on attention.")


class AdapterTraining(DPSGD):
    """DP-SGD on the adapters and the embedding of labels."""

    max_grad_norm: float = Field(default=1e-3, ge=1e-6, le=1e6, description="Clipping norm C of a record's gradient, of what is trained.")
    learning_rate: float = Field(default=5e-3, ge=1e-9, le=1e3, description="Adam's learning rate.")


class DPLoRAConfig(GuidedDiffusion, PublicStart):
    """Hyper-parameters of DP-LoRA."""

    latents: ScaledLatents = ScaledLatents()
    adapters: Adapters = Adapters()
    training: AdapterTraining = AdapterTraining()


READINGS = {"dp-lora": Reading("DP-LoRA: DP-SGD on low-rank adapters of a public latent diffusion model", "published", FORMULA, NOTATION)}


def published_preset(epsilon: float, noise_multiplier: float) -> Preset:
    """The setting that results at `epsilon` are compared at."""
    return Preset(
        f"Adapters of attention in the protocol of DPImageBench (150 epochs of MNIST at a sampling rate of 1/15), with the noise that "
        f"claims epsilon {epsilon:g} at delta 1e-5, on public images of the workbench's own; rank and learning rate are the defaults.",
        partial(published_values, noise_multiplier=noise_multiplier),
        lambda _facts: 1e-5,
    )


class DPLoRA(LatentTuned[DPLoRAConfig]):
    """Private low-rank adapters beside the frozen weights of a public diffusion model."""

    name = "dp-lora"
    title = "DP-LoRA"
    source = "Tsai et al. 2025"
    Config = DPLoRAConfig
    implementation = "workbench.methods.dp_lora.training"
    presets: ClassVar[dict[str, Preset]] = LatentTuned.presets | {
        "published": published_preset(10, 1.836),
        "published-1": published_preset(1, 12.851),
    }
    readings: ClassVar[Mapping[str, Reading]] = READINGS
    shapes: ClassVar[tuple[str, ...] | None] = (*(LatentTuned.shapes or ()), "adapters")

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """Latents of 28x28 pixels and more, pixels below, and the U-Net that suits either."""
        return model_values(facts)

    @property
    def without_public_images(self) -> str:
        """Adapters of weights that nothing has trained learn nothing."""
        return (
            "Expected public images to train what the adapters stand beside, got none: frozen weights as they were drawn make no images. "
            "Use pretraining.dataset=glyphs with pretraining.steps=1500."
        )
