"""Training on images that private records selected, whatever model is trained: post-processing of the votes."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from workbench.models.selection.config import SELECTIVE, Draws, Selection, SelectiveTraining
from workbench.models.selection.selector import Selector
from workbench.records import Records
from workbench.training.ordinary_training import OrdinaryTrainer
from workbench.training.state import State, Step

LossOf = Callable[[Records], Callable[[int], Tensor]]  # from the images to the mean loss of step 1, 2, ..
TrainerOf = Callable[[Records], OrdinaryTrainer]  # from the images to the steps of SELECTIVE on them


def train(settings: SelectiveTraining, selection: Selection, draws: Draws, state: State, trainer_of: TrainerOf) -> Iterator[Step]:
    """Ordinary steps on images drawn by the noisy votes."""
    if state.steps.get(SELECTIVE, 0) < settings.steps:
        yield from trainer_of(selected_images(selection, draws, settings.records, state)).run()


def of_network(settings: SelectiveTraining, state: State, loss_of: LossOf) -> TrainerOf:
    """Steps of the state's network by a loss of the images; its moving average goes on."""

    def trainer(images: Records) -> OrdinaryTrainer:
        return OrdinaryTrainer(settings, SELECTIVE, state, loss_of(images), private=False, averages={"ema": "network"})

    return trainer


def selected_images(selection: Selection, draws: Draws, count: int, state: State) -> Records:
    """`count` images drawn by the votes, evenly over the classes: the same ones whenever they are asked for."""
    classes = state.facts.num_classes
    labels = torch.arange(count).remainder(classes).numpy() if classes else None
    generator = state.randomness.torch_generator(f"{SELECTIVE} images", 0, state.device)
    return Selector(selection, state).draw(labels, count, draws, generator)
