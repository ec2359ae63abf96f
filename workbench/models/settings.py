"""What a method's configuration says of its image diffusion model; the model itself is in `image_diffusion`. No torch."""

from typing import Any, Protocol

from workbench.datasets.base import DatasetFacts
from workbench.diffusion import DiffusionConfig, SamplerConfig
from workbench.errors import WorkbenchError
from workbench.networks import UNETS, UNetConfig, default_unet

PRETRAINING = "public pre-training"  # the stage of that name in every method that begins with it


class DiffusionSettings(Protocol):
    """The part of a method's configuration that describes its diffusion model."""

    @property
    def network(self) -> UNetConfig: ...
    @property
    def diffusion(self) -> DiffusionConfig: ...
    @property
    def sampler(self) -> SamplerConfig: ...
    @property
    def ema_decay(self) -> float: ...


def check_model(settings: DiffusionSettings, facts: DatasetFacts) -> None:
    """Refuse a network that the dataset's images don't fit, and a sampler that no training could serve, before anything is spent."""
    settings.network.check_patches(*facts.shape[1:])
    steps, timesteps = settings.sampler.num_inference_steps, settings.diffusion.timesteps
    if steps > timesteps:
        raise WorkbenchError(f"Expected sampler.num_inference_steps of at most the {timesteps} time steps, got {steps}.")


def default_network(facts: DatasetFacts) -> dict[str, Any]:
    """The U-Net that suits the dataset's images, as values of a configuration."""
    return UNETS[default_unet(facts.shape)].model_dump()
