"""What a method's configuration says of its image diffusion model; the model itself is in `image_diffusion`. No torch."""

from typing import Any, Protocol

from workbench.datasets.base import DatasetFacts
from workbench.diffusion import DiffusionConfig, SamplerConfig, build_schedule
from workbench.errors import WorkbenchError
from workbench.models.label_shares import PaidLabelShares
from workbench.models.selection.config import SelectedPretraining, Selection
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
    """The part of a method's configuration that describes its network and public pre-training, on selected images too."""

    @property
    def pretraining(self) -> PublicTraining: ...
    @property
    def selected(self) -> SelectedPretraining: ...
    @property
    def label_dropout(self) -> float: ...
    @property
    def labels(self) -> PaidLabelShares: ...


class FineTunedSettings(PretrainedSettings, Protocol):
    """The same with DP-SGD on the whole network after it."""

    @property
    def training(self) -> DPSGD: ...


def is_pretrained(settings: PretrainedSettings) -> bool:
    """Whether the network has learned anything before the first private step: of public images, or of those selected."""
    return settings.pretraining.takes_place or settings.selected.takes_place


def pretraining_stages(settings: PretrainedSettings, facts: DatasetFacts) -> list[Stage]:
    """Pre-training (free), the selection with the training on it, and counts of labels, as far as they take place."""
    first = [settings.pretraining.free_stage(PRETRAINING)] if settings.pretraining.takes_place else []
    if first and settings.selected.takes_place:
        check_public_images(settings.pretraining, settings.selected.selection)
    return [*first, *settings.selected.stages(facts), *settings.labels.stages(facts)]


def check_public_images(pretraining: PublicTraining, selection: Selection) -> None:
    """Refuse a selection from other public images than those of the pre-training: one set is loaded."""
    trained, selected = (pretraining.dataset, pretraining.records), (selection.dataset, selection.records)
    if trained != selected:
        raise WorkbenchError(
            f"Expected a selection from the public images of the pre-training, {trained[1]} of {trained[0]}, got {selected[1]} of "
            f"{selected[0]}. Give selected.selection.dataset and selected.selection.records the same values."
        )


def fine_tuned_stages(settings: FineTunedSettings, facts: DatasetFacts) -> list[Stage]:
    """What of pre-training takes place, and DP-SGD."""
    return [*pretraining_stages(settings, facts), settings.training.stage(DP_SGD, facts.num_records)]


def check_model(settings: DiffusionSettings, facts: DatasetFacts) -> None:
    """Refuse, before anything is spent, a network that the images don't fit, a process that leaves the record, too many sampler steps."""
    settings.network.check_patches(*facts.shape[1:])
    build_schedule(settings.diffusion)
    steps, timesteps = settings.sampler.num_inference_steps, settings.diffusion.timesteps
    if steps > timesteps:
        raise WorkbenchError(f"Expected sampler.num_inference_steps of at most the {timesteps} time steps, got {steps}.")


def default_network(facts: DatasetFacts) -> dict[str, Any]:
    """The U-Net that suits the dataset's images, as values of a configuration."""
    return UNETS[default_unet(facts.shape)].model_dump()
