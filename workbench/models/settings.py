"""What a method's configuration says of its image diffusion model; the model itself is in `image_diffusion`. No torch."""

from typing import Any, Protocol

from workbench.datasets.base import DatasetFacts
from workbench.diffusion import DiffusionConfig, SamplerConfig
from workbench.errors import WorkbenchError
from workbench.networks import UNETS, UNetConfig, default_unet
from workbench.privacy.accounting.stages import Stage
from workbench.training.dp_sgd import DPSGD
from workbench.training.ordinary import PublicTraining

PRETRAINING = "public pre-training"  # the stage of that name in every method that begins with it
DP_SGD = "DP-SGD"


class NetworkSettings(Protocol):
    """The part of a method's configuration that describes its network."""

    @property
    def network(self) -> UNetConfig: ...
    @property
    def ema_decay(self) -> float: ...


class DiffusionSettings(NetworkSettings, Protocol):
    """The part of a method's configuration that describes its diffusion model."""

    @property
    def diffusion(self) -> DiffusionConfig: ...
    @property
    def sampler(self) -> SamplerConfig: ...


class PretrainedSettings(NetworkSettings, Protocol):
    """The part of a method's configuration that describes its network and public pre-training."""

    @property
    def pretraining(self) -> PublicTraining: ...
    @property
    def label_dropout(self) -> float: ...


class FineTunedSettings(PretrainedSettings, Protocol):
    """The same with DP-SGD on the whole network after it."""

    @property
    def training(self) -> DPSGD: ...


def pretraining_stages(settings: PretrainedSettings) -> list[Stage]:
    """Pre-training (free), if it takes place."""
    return [settings.pretraining.free_stage(PRETRAINING)] if settings.pretraining.takes_place else []


def fine_tuned_stages(settings: FineTunedSettings, facts: DatasetFacts) -> list[Stage]:
    """Pre-training (free), if it takes place, and DP-SGD."""
    return [*pretraining_stages(settings), settings.training.stage(DP_SGD, facts.num_records)]


def check_model(settings: DiffusionSettings, facts: DatasetFacts) -> None:
    """Refuse a network that the dataset's images don't fit, and a sampler that no training could serve, before anything is spent."""
    settings.network.check_patches(*facts.shape[1:])
    steps, timesteps = settings.sampler.num_inference_steps, settings.diffusion.timesteps
    if steps > timesteps:
        raise WorkbenchError(f"Expected sampler.num_inference_steps of at most the {timesteps} time steps, got {steps}.")


def default_network(facts: DatasetFacts) -> dict[str, Any]:
    """The U-Net that suits the dataset's images, as values of a configuration."""
    return UNETS[default_unet(facts.shape)].model_dump()
