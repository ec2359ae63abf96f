"""What DP-LDM and DP-LoRA plan alike: a public diffusion model of latents, a small part of which learns from private records."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.base import Preset
from workbench.methods.pretrained import SHAPES, FineTuned
from workbench.models.latents.config import FACTOR, SMALLEST, ScaledLatents
from workbench.models.settings import (
    DP_SGD,
    DiffusionSettings,
    FineTunedSettings,
    check_model,
    default_network,
    is_pretrained,
    pretraining_stages,
)
from workbench.networks import UNetConfig
from workbench.privacy.accounting.formulas import poisson_gaussian_rdp
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue

LATENT_SIDE = 28  # pixels, from which on images have latents by default: those of smaller ones would be hardly any
FORMULA = "RDP of the Poisson-sampled Gaussian over all steps"
NOTATION = {"num_records": "", "training.batch_size": "", "training.noise_multiplier": "", "training.steps": ""}
LARGE: dict[str, Any] = {  # 28x28 and more
    "pretraining.steps": 1500,
    "training.steps": 200,
    "ema_decay": 0.98,
}


class LatentTunedSettings(FineTunedSettings, DiffusionSettings, Protocol):
    """The part of a configuration that these methods share."""

    @property
    def latents(self) -> ScaledLatents: ...


TunedT = TypeVar("TunedT", bound=LatentTunedSettings)


def has_latents(facts: DatasetFacts) -> bool:
    """Whether the dataset's images have latents by default."""
    sides = facts.shape[1:]
    return min(sides) >= max(LATENT_SIDE, FACTOR * SMALLEST) and not any(side % FACTOR for side in sides)


def model_values(facts: DatasetFacts) -> dict[str, Any]:
    """Latents of 28x28 pixels and more with a U-Net for them, pixels below; sizes of seconds (8x8) or of minutes."""
    large = facts.dimensions > 300
    values: dict[str, Any] = {"network": default_network(facts), "latents.channels": 0, **(LARGE if large else {})}
    if has_latents(facts):
        height = facts.shape[1] // FACTOR
        network = UNetConfig(
            base_channels=32, channel_multipliers=(1, 2), num_res_blocks=1, attention_resolutions=(height, -(-height // 2))
        )
        values |= {"network": network.model_dump(), "latents.channels": 4}
    return values | {"training.batch_size": min(2000 if large else 450, facts.num_records)}


def published_values(facts: DatasetFacts, noise_multiplier: float) -> dict[str, Any]:
    """150 epochs at a sampling rate of 1/15 with one draw a record."""
    return {
        "training.noise_multiplier": noise_multiplier,
        "training.batch_size": facts.num_records / 15,
        "training.steps": 2250,
        "training.noise_multiplicity": 1,
        "training.max_grad_norm": 1e-3,
        "diffusion.prediction": "epsilon",
        "ema_decay": 0.999,
    }


class LatentTuned(FineTuned[TunedT], Generic[TunedT]):
    """An autoencoder and a diffusion model of public images, then DP-SGD on a subset of the model's weights or beside them."""

    presets: ClassVar[dict[str, Preset]] = FineTuned.presets
    shapes: ClassVar[tuple[str, ...] | None] = ("network", "latents.channels", "latents.width", "training.noise_multiplicity", *SHAPES)

    @property
    def released_parts(self) -> tuple[str, ...]:
        """What decodes samples too, if anything does."""
        return (*super().released_parts, *self.config.latents.released_models)

    @property
    @abstractmethod
    def without_public_images(self) -> str:
        """Why this configuration needs a public start, and what to set; "" if it doesn't."""

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """The autoencoder (free), pre-training (free), DP-SGD on the subset."""
        check_model(self.config, self.config.latents.learned(facts))
        if not is_pretrained(self.config):
            self._refuse_without_public_images()
        private = self.config.training.stage(DP_SGD, facts.num_records)
        return [*self.config.latents.stages(), *pretraining_stages(self.config, facts), private]

    def _refuse_without_public_images(self) -> None:
        if self.without_public_images:
            raise WorkbenchError(self.without_public_images)
        if self.config.latents.trains:
            raise WorkbenchError(
                "Expected public images for the autoencoder of the latents, got none. Use latents.channels=0, or pretraining.steps=1500."
            )

    def claim_of_paper(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """The RDP of Poisson-sampled Gaussian steps, a bound: how many weights they train does not matter."""
        return poisson_gaussian_rdp(**self.config.training.terms(DP_SGD, facts.num_records), delta=delta, source=self.source)
