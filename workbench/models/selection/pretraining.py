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


def train(settings: SelectiveTraining, selection: Selection, draws: Draws, state: State, loss_of: LossOf) -> Iterator[Step]:
    """Ordinary steps on images drawn by the noisy votes; the moving average goes on."""
    if state.steps.get(SELECTIVE, 0) == settings.steps:
        return
    loss = loss_of(selected_images(selection, draws, settings.records, state))
    yield from OrdinaryTrainer(settings, SELECTIVE, state, loss, private=False, averages={"ema": "network"}).run()


def selected_images(selection: Selection, draws: Draws, count: int, state: State) -> Records:
    """`count` images drawn by the votes, evenly over the classes: the same ones whenever they are asked for."""
    classes = state.facts.num_classes
    labels = torch.arange(count).remainder(classes).numpy() if classes else None
    generator = state.randomness.torch_generator(f"{SELECTIVE} images", 0, state.device)
    return Selector(selection, state).draw(labels, count, draws, generator)
