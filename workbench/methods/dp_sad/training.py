"""DP-SAD's training: the teacher, then student and discriminator in turn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from workbench import networks
from workbench.datasets.base import DatasetFacts
from workbench.diffusion import build_diffusion, generate
from workbench.errors import WorkbenchError
from workbench.methods.dp_sad import labelling
from workbench.methods.dp_sad.distillation import STUDENTS, TEACHERS, Distillation, next_image
from workbench.methods.dp_sad.method import DISCRIMINATOR, STUDENT, TEACHER, DPSADConfig, paper_student, teacher_training
from workbench.methods.dp_sad.paper import OutputClipped
from workbench.models import image_diffusion
from workbench.models.sample_request import SampleRequest
from workbench.models.selection import pretraining as selected_pretraining
from workbench.models.selection.config import SELECTIVE
from workbench.models.selection.selector import Selector
from workbench.models.settings import PRETRAINING
from workbench.records import Records
from workbench.training.entries import Images
from workbench.training.ordinary import OrdinaryTraining
from workbench.training.ordinary_training import OrdinaryTrainer
from workbench.training.private_training import PrivateTraining
from workbench.training.row_losses import RowLosses
from workbench.training.state import State, Step


def initial_state(config: DPSADConfig, facts: DatasetFacts, state: State) -> State:
    """Teacher, student and discriminator, the moving averages of the first two, an Adam a stage, and room for labels and a selection."""
    channels, height, width = facts.shape
    labelled_facts = config.labels.clustered_facts(facts)
    own = image_diffusion.new_network(config, labelled_facts, state)
    student = image_diffusion.new_network(config, labelled_facts, state, "initialisation of the student")
    critic = networks.initialized(
        lambda: networks.NoisyClassifier((channels, height, width), 2, labelled_facts.num_classes),
        state.randomness.torch_generator("initialisation of the discriminator"),
    ).to(state.device)
    state.modules = {TEACHER: own, STUDENT: student, DISCRIMINATOR: critic, "ema": image_diffusion.new_ema(config, student, state)}
    state.modules[average_name(config)] = image_diffusion.new_ema(config, own, state)
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
    data = labelling.with_cluster_labels(config.labels, data, state)
    public = None if public is None else labelling.with_cluster_labels(config.labels, public, state)
    yield from train_teacher(config, data, public, state)
    distillation = Distillation(config, averaged_teacher(config, state), state.modules[DISCRIMINATOR])
    trainers: list[PrivateTraining | OutputClipped | OrdinaryTrainer] = [student_trainer(config, distillation, data, state)]
    if config.has_critic:
        trainers.append(discriminator_trainer(config, distillation, state.modules[STUDENT], data, state))
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
    settings = config.student if config.is_sound else paper_student(config)
    return PrivateTraining(settings, STUDENT, network, state, tensors, losses, present=data.mask, average=average)


SOUND_AVERAGE, KEPT_AVERAGE = "teacher_ema", "kept_teacher_ema"


def average_name(config: DPSADConfig) -> str:
    """Where the state keeps the teacher that the student learns from: the paper's under a name that is never released."""
    return SOUND_AVERAGE if config.is_sound else KEPT_AVERAGE


def averaged_teacher(config: DPSADConfig, state: State) -> nn.Module:
    """The teacher that the student learns from."""
    return image_diffusion.averaged(state, average_name(config))


def train_teacher(config: DPSADConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
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
        network.load_state_dict(averaged_teacher(config, state).state_dict())

    def losses(batch: tuple[Tensor, ...]) -> RowLosses:
        return image_diffusion.row_losses(diffusion, network, batch, diffusion.timesteps)

    tensors, average = image_diffusion.entries(data, state.device), state.modules[SOUND_AVERAGE]
    yield from PrivateTraining(settings, TEACHER, network, state, tensors, losses, present=data.mask, average=average).run()  # pyright: ignore[reportArgumentType]


def generated_images(config: DPSADConfig, state: State) -> Records:
    """What a sound teacher draws for the discriminator, evenly over the labels: the same ones whenever they are asked for."""
    count, classes = config.discriminator.generated, config.labels.clustered_facts(state.facts).num_classes
    labels = np.arange(count, dtype=np.int64) % classes if classes else None
    request = SampleRequest(count, labels, f"{DISCRIMINATOR} images")
    return image_diffusion.draw_samples(config, averaged_teacher(config, state), state, request)


def discriminator_trainer(
    config: DPSADConfig, distillation: Distillation, student: nn.Module, data: Records, state: State
) -> OrdinaryTrainer:
    """Steps on images at random time steps: generated ones where the mode is sound, private records where it is the paper's."""
    discriminator, diffusion, count = state.modules[DISCRIMINATOR], distillation.diffusion, config.discriminator.batch_size

    @cache  # drawn at the first step, not before the student's first
    def shown() -> tuple[Images, Tensor]:
        return image_diffusion.entries(generated_images(config, state) if config.is_sound else data, state.device)

    def loss(step: int) -> Tensor:
        images, rows = shown()
        draw = state.randomness.torch_generator(f"{DISCRIMINATOR} batch", step)
        index = torch.randint(len(images), (count,), generator=draw).to(images.device)
        times = torch.randint(1, diffusion.timesteps + 1, (count,), generator=draw).to(images.device)
        noise = torch.randn((count, *images.shape[1:]), generator=draw).to(images.device)
        labels, x_t = rows[index], diffusion.add_noise(images[index], noise, times)
        with torch.no_grad():
            outputs = distillation.teach(x_t, times, labels), student(x_t, times, distillation.student_rows(labels))
            made = torch.cat([next_image(diffusion, output, x_t, times) for output in outputs])
        makers = torch.tensor([TEACHERS, STUDENTS], device=images.device).repeat_interleave(count)
        twice = distillation.discriminator_rows(labels)
        entropy = cross_entropy(discriminator(made, times.repeat(2), twice.repeat(2)), makers)
        return -entropy if config.discriminator.objective == "printed" else entropy

    return OrdinaryTrainer(config.discriminator, DISCRIMINATOR, state, loss, private=not config.is_sound)


def sample(config: DPSADConfig, state: State, request: SampleRequest) -> Records:
    """Images from a moving average; source 'public' takes the teacher as public images left it."""
    if request.source == "public":
        if not config.has_public_model:
            raise WorkbenchError(
                "This run had no public pre-training, or private labels before it, so it has no model of public data alone."
            )
        return conditional_samples(config, image_diffusion.averaged(state, "public_ema"), state, request)
    if config.drawn_from == "teacher":
        return conditional_samples(config, image_diffusion.averaged(state, SOUND_AVERAGE), state, request)
    student = image_diffusion.averaged(state)
    draw = conditional_samples if config.student_conditioned else unlabelled_samples
    return draw(config, student, state, request)


def conditional_samples(config: DPSADConfig, network: nn.Module, state: State, request: SampleRequest) -> Records:
    """Images with their labels; of clusters, in turn, and without."""
    if config.labels.are_given:
        return image_diffusion.draw_samples(config, network, state, request)
    clusters = np.arange(request.num_samples, dtype=np.int64) % config.labels.clusters
    return Records(image_diffusion.draw_samples(config, network, state, replace(request, labels=clusters, labelled=True)).records)


def unlabelled_samples(config: DPSADConfig, student: nn.Module, state: State, request: SampleRequest) -> Records:
    """Images of a student that knows no labels."""
    diffusion, model = build_diffusion(config.diffusion), image_diffusion.ordinary(student, state)

    def run(noise: Tensor, _rows: Tensor, generator: torch.Generator, _place: slice) -> Tensor:
        return generate(model, noise, diffusion, config.sampler, generator)

    return Records(image_diffusion.drawn(run, state, request).records)
