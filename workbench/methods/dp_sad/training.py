"""DP-SAD's training: the teacher, then student and discriminator in turn."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from workbench import networks
from workbench.datasets.base import DatasetFacts
from workbench.methods.dp_sad import discriminating, labelling, teacher
from workbench.methods.dp_sad.config import DPSADConfig
from workbench.methods.dp_sad.distillation import Distillation
from workbench.methods.dp_sad.paper import GradientClipped, OutputClipped, diluted
from workbench.methods.dp_sad.stages import DISCRIMINATOR, STUDENT, TEACHER
from workbench.models import image_diffusion
from workbench.models.selection.config import SELECTIVE
from workbench.models.selection.selector import Selector
from workbench.models.settings import PRETRAINING
from workbench.records import Records
from workbench.training.ordinary_training import OrdinaryTrainer
from workbench.training.private_training import PrivateTraining
from workbench.training.row_losses import RowLosses
from workbench.training.state import State, Step


def initial_state(config: DPSADConfig, facts: DatasetFacts, state: State) -> State:
    """Teacher, student and discriminator, the moving averages of the first two, an Adam a stage, and room for labels and a selection."""
    channels, height, width = facts.shape
    told = config.labels.told(facts)
    own = image_diffusion.new_network(config, told, state)
    student = image_diffusion.new_network(config, told, state, "initialisation of the student")
    critic = networks.initialized(
        lambda: networks.NoisyClassifier((channels, height, width), 2, told.num_classes),
        state.randomness.torch_generator("initialisation of the discriminator"),
    ).to(state.device)
    state.modules = {TEACHER: own, STUDENT: student, DISCRIMINATOR: critic, "ema": image_diffusion.new_ema(config, student, state)}
    state.modules[teacher.average_name(config)] = image_diffusion.new_ema(config, own, state)
    if config.is_sound:
        state.modules["public_ema"] = image_diffusion.new_ema(config, own, state)
    rates = {
        PRETRAINING: (own, config.pretraining.learning_rate),
        TEACHER: (own, config.private_teacher.learning_rate),
        STUDENT: (student, config.student.learning_rate),
        DISCRIMINATOR: (critic, config.discriminator.learning_rate),
    }
    if config.selected.takes_place:
        rates[SELECTIVE] = own, config.selected.learning_rate
        Selector.add_to(config.selected.selection, facts, state)
    labelling.add_to(config.labels, facts, state)
    state.optimizers |= {name: torch.optim.Adam(module.parameters(), lr=rate) for name, (module, rate) in rates.items()}
    return state


def fit(config: DPSADConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """Labels, the teacher, then the student's and the discriminator's steps in turn."""
    yield from labelling.find(config.labels, data, public, state)
    data = labelling.labelled(config.labels, data, state)
    public = None if public is None else labelling.labelled(config.labels, public, state)
    yield from teacher.fit(config, data, public, state)
    distillation = Distillation(config, teacher.averaged(config, state), state.modules[DISCRIMINATOR])
    trainers: list[PrivateTraining | OutputClipped | OrdinaryTrainer] = [student_trainer(config, distillation, data, state)]
    if config.has_critic:
        trainers.append(discriminating.trainer(config, distillation, state.modules[STUDENT], data, state))
    for step in range(1, max(trainer.settings.steps for trainer in trainers) + 1):
        for trainer in trainers:
            if state.steps.get(trainer.stage, 0) < step <= trainer.settings.steps:
                yield trainer.step(step)


def student_trainer(config: DPSADConfig, distillation: Distillation, data: Records, state: State) -> PrivateTraining | OutputClipped:
    """What carries the student's steps out, by the mode."""
    network, average = state.modules[STUDENT], state.modules["ema"]
    assert isinstance(average, networks.ExponentialMovingAverage)
    if config.is_sound and config.start == "teacher" and state.steps.get(STUDENT, 0) == 0:
        first = distillation.teacher.state_dict()
        network.load_state_dict(first)
        average.module.load_state_dict(first)
    tensors = image_diffusion.entries(data, state.device)

    def losses(batch: tuple[Tensor, ...]) -> RowLosses:
        return distillation.of_rows(network, batch, state.randomness)

    if config.mode == "eq17":
        return OutputClipped(config, distillation, network, state, tensors, data.mask, average)
    carried_out, settings = (PrivateTraining, config.student) if config.is_sound else (GradientClipped, diluted(config))
    return carried_out(settings, STUDENT, network, state, tensors, losses, present=data.mask, average=average)
