"""DP-LDM (Lyu et al. 2023): DP-SGD on the attention of a latent diffusion model that was trained on public images before.

An autoencoder of public images makes images smaller; a diffusion model learns public latents; private records train its attention and
its embedding of labels alone. The fewer weights, the less noise: its norm grows with their root, that of a clipped gradient does not.
What is frozen is public, so a bound counts the steps alone, whatever they train.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Literal

from pydantic import Field

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import Preset, Reading
from workbench.methods.latent_tuning import FORMULA, NOTATION, LatentTuned, model_values, published_values
from workbench.methods.pretrained import GuidedDiffusion, PublicStart
from workbench.models.latents.config import ScaledLatents
from workbench.training.dp_sgd import DPSGD


class SubsetTraining(DPSGD):
    """DP-SGD on a part of the weights."""

    max_grad_norm: float = Field(default=1e-3, ge=1e-6, le=1e6, description="Clipping norm C of a record's gradient, of what is trained.")
    trained: Literal["attention", "up", "labels", "all"] = Field(
        default="attention",
        description="Weights that private steps train: attention and the embedding of labels (the paper), the U-Net's way up, that "
        "embedding alone, or all; what is not trained stays public.",
    )


class DPLDMConfig(GuidedDiffusion, PublicStart):
    """Hyper-parameters of DP-LDM."""

    latents: ScaledLatents = ScaledLatents()
    training: SubsetTraining = SubsetTraining()


READINGS = {"dp-ldm": Reading("DP-LDM: DP-SGD on the attention modules of a public latent diffusion model", "published", FORMULA, NOTATION)}


def published(facts: DatasetFacts, noise_multiplier: float) -> dict[str, Any]:
    """The paper's subset, clipping norm and learning rate (5e-7 a record of the batch)."""
    values = published_values(facts, noise_multiplier)
    return values | {"training.trained": "attention", "training.learning_rate": 5e-7 * values["training.batch_size"]}


def published_preset(epsilon: float, noise_multiplier: float) -> Preset:
    """The setting that results at `epsilon` are compared at."""
    return Preset(
        f"The paper's subset, clipping norm and learning rate in the protocol of DPImageBench (150 epochs of MNIST at a sampling rate "
        f"of 1/15), with the noise that claims epsilon {epsilon:g} at delta 1e-5. The public images are the workbench's own: EMNIST, "
        "which the paper takes for MNIST, is of the same forms and writers.",
        partial(published, noise_multiplier=noise_multiplier),
        lambda _facts: 1e-5,
    )


class DPLDM(LatentTuned[DPLDMConfig]):
    """Private fine-tuning of the attention of a public latent diffusion model."""

    name = "dp-ldm"
    title = "DP-LDM"
    source = "Lyu et al. 2023"
    Config = DPLDMConfig
    implementation = "workbench.methods.dp_ldm.training"
    presets: ClassVar[dict[str, Preset]] = LatentTuned.presets | {
        "published": published_preset(10, 1.836),
        "published-1": published_preset(1, 12.851),
    }
    readings: ClassVar[Mapping[str, Reading]] = READINGS

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """Latents of 28x28 pixels and more, pixels below, and the U-Net that suits either."""
        return model_values(facts)

    @property
    def without_public_images(self) -> str:
        """Frozen weights that nothing has trained are noise."""
        if self.config.training.trained == "all":
            return ""
        return (
            f"Expected public images for the weights that training.trained={self.config.training.trained} freezes, got none: they would "
            "stay as they were drawn. Use pretraining.dataset=glyphs with pretraining.steps=1500, or training.trained=all with "
            "latents.channels=0."
        )
