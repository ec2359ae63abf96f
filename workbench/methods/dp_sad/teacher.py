"""The teacher: public steps and DP-SGD where it is sound, ordinary steps on private records where it is the paper's; what it draws."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from workbench.diffusion import build_diffusion
from workbench.errors import WorkbenchError
from workbench.methods.dp_sad.config import DPSADConfig
from workbench.methods.dp_sad.stages import DISCRIMINATOR, TEACHER, teacher_training
from workbench.models import image_diffusion
from workbench.models.sample_request import SampleRequest
from workbench.models.selection import pretraining as selected_pretraining
from workbench.models.selection.config import SELECTIVE
from workbench.models.selection.selector import Selector
from workbench.models.settings import PRETRAINING
from workbench.records import Records
from workbench.training.ordinary import OrdinaryTraining
from workbench.training.ordinary_training import OrdinaryTrainer
from workbench.training.private_training import PrivateTraining
from workbench.training.row_losses import RowLosses
from workbench.training.state import State, Step

SOUND_AVERAGE, KEPT_AVERAGE = "teacher_ema", "kept_teacher_ema"


def average_name(config: DPSADConfig) -> str:
    """Where the state keeps the teacher that the student learns from: the paper's under a name that is never released."""
    return SOUND_AVERAGE if config.is_sound else KEPT_AVERAGE


def averaged(config: DPSADConfig, state: State) -> nn.Module:
    """The teacher that the student learns from."""
    return image_diffusion.averaged(state, average_name(config))


def fit(config: DPSADConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """All steps of the teacher, from where they stand."""
    if not config.is_sound:
        yield from ordinary_trainer(config, config.unprotected_teacher, TEACHER, data, state, private=True).run()
        return
    if config.learns_in_public:
        yield from learn_in_public(config, public, state)
    if config.selected.takes_place:
        yield from learn_selected(config, data, public, state)
    if config.has_private_teacher:
        yield from learn_privately(config, data, state)


def ordinary_trainer(
    config: DPSADConfig, settings: OrdinaryTraining, stage: str, data: Records, state: State, *, private: bool
) -> OrdinaryTrainer:
    """Conditional denoising on `data`, some of it without labels, for guidance."""
    diffusion, network = build_diffusion(config.diffusion), image_diffusion.ordinary(state.modules[TEACHER], state)

    def times(count: int, draw: torch.Generator) -> Tensor:
        return torch.randint(1, diffusion.timesteps + 1, (count,), generator=draw)

    losses = partial(image_diffusion.plain_loss, diffusion, network)
    loss = image_diffusion.mean_loss(times, losses, data, state, stage, settings.batch_size, config.label_dropout)
    return OrdinaryTrainer(settings, stage, state, loss, private=private, averages={average_name(config): TEACHER})


def learn_in_public(config: DPSADConfig, public: Records | None, state: State) -> Iterator[Step]:
    """Steps on public images; the moving average that they end with is kept for the epsilon-0 row."""
    if public is None:
        raise WorkbenchError(f"Expected public records of {config.pretraining.dataset!r} for pre-training, got none.")
    for step in ordinary_trainer(config, config.pretraining, PRETRAINING, public, state, private=False).run():
        if step.step == step.steps:
            state.modules["public_ema"].load_state_dict(state.modules[SOUND_AVERAGE].state_dict())
        yield step


def learn_selected(config: DPSADConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """Private records vote for public images, and the teacher goes on with those chosen."""
    selected = config.selected
    yield from Selector(selected.selection, state).run(data, public)

    def trainer_of(chosen: Records) -> OrdinaryTrainer:
        return ordinary_trainer(config, selected, SELECTIVE, chosen, state, private=False)

    yield from selected_pretraining.train(selected, selected.selection, selected.draws, state, trainer_of)


def learn_privately(config: DPSADConfig, data: Records, state: State) -> Iterator[Step]:
    """DP-SGD on the whole teacher, from its moving average so far."""
    network, diffusion, settings = state.modules[TEACHER], build_diffusion(config.diffusion), teacher_training(config)
    if state.steps.get(TEACHER, 0) == 0:
        network.load_state_dict(averaged(config, state).state_dict())

    def losses(batch: tuple[Tensor, ...]) -> RowLosses:
        return image_diffusion.row_losses(diffusion, network, batch, diffusion.timesteps)

    tensors, average = image_diffusion.entries(data, state.device), state.modules[SOUND_AVERAGE]
    yield from PrivateTraining(settings, TEACHER, network, state, tensors, losses, present=data.mask, average=average).run()  # pyright: ignore[reportArgumentType]


def generated_images(config: DPSADConfig, state: State) -> Records:
    """What a sound teacher draws for the discriminator, evenly over the labels: the same ones whenever they are asked for."""
    count, classes = config.discriminator.generated, config.labels.told(state.facts).num_classes
    labels = np.arange(count, dtype=np.int64) % classes if classes else None
    request = SampleRequest(count, labels, f"{DISCRIMINATOR} images")
    return image_diffusion.draw_samples(config, averaged(config, state), state, request)
