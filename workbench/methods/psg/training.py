"""PSG's training: noisy gradients of classifiers that are drawn anew, and images that move to give the same."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from workbench import networks
from workbench.datasets.base import DatasetFacts, to_uint8
from workbench.methods.psg.method import MATCHING, Classifier, PSGConfig
from workbench.models import image_diffusion
from workbench.models.sample_request import SampleRequest
from workbench.records import Records
from workbench.training.kept_gradient import KeptGradient
from workbench.training.private_training import PrivateTraining
from workbench.training.row_losses import RowLosses
from workbench.training.state import State, Step

PER_RECORD = 1e-6  # added to norms that a cosine divides by


def new_classifier(settings: Classifier, facts: DatasetFacts) -> nn.Sequential:
    """The network (B, C, H, W) to scores of the classes; every layer keeps records apart."""
    channels, height, width = facts.shape
    layers: list[nn.Module] = []
    for _ in range(settings.blocks):
        normal = nn.GroupNorm(settings.width, settings.width)  # instance normalisation with weights
        layers += [nn.Conv2d(channels, settings.width, 3, padding=1), normal, nn.ReLU(), nn.AvgPool2d(2)]
        channels, height, width = settings.width, height // 2, width // 2
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(channels * height * width, facts.num_classes))


def initial_state(config: PSGConfig, facts: DatasetFacts, state: State) -> State:
    """The first classifier, an optimiser that keeps its gradients, images of noise and their last moves."""
    network = networks.initialized(
        lambda: new_classifier(config.classifier, facts), state.randomness.torch_generator(f"{MATCHING} classifier", 1)
    ).to(state.device)
    state.modules, state.optimizers = {"network": network}, {MATCHING: KeptGradient(network)}
    draw = state.randomness.torch_generator("images")
    images = torch.randn(facts.num_classes, config.images, *facts.shape, generator=draw)
    state.tensors = {"images": images.to(state.device), "moves": torch.zeros_like(images).to(state.device)}
    return state


def fit(config: PSGConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """A noisy gradient and a move of the images a step; what follows a state or a classifier belongs to its last step."""
    network = state.modules["network"]

    def losses(batch: tuple[Tensor, ...]) -> RowLosses:
        return RowLosses(network, batch, lambda _part: (), lambda image, _label: (image,), class_loss)

    tensors = image_diffusion.entries(data, state.device)
    private = PrivateTraining(config.matching, MATCHING, network, state, tensors, losses, present=data.mask)
    for number in range(state.steps.get(MATCHING, 0) + 1, config.matching.steps + 1):
        step = private.step(number)
        move_images(config, number, state)
        if number % config.teaching.batches == 0:
            last_of_classifier = number % (config.teaching.batches * config.teaching.rounds) == 0
            (draw_anew if last_of_classifier else learn_images)(config, number, state)
        yield step


def class_loss(scores: Tensor, _image: Tensor, label_row: Tensor) -> Tensor:
    """Cross-entropy of one record; row c + 1 stands for class c."""
    return functional.cross_entropy(scores, label_row - 1, reduction="none")


def learned_set(state: State) -> tuple[Tensor, Tensor]:
    """The images (N, C, H, W) and their classes (N,)."""
    images = state.tensors["images"]
    labels = torch.arange(len(images), device=images.device).repeat_interleave(images.shape[1])
    return images.flatten(0, 1), labels


def move_images(config: PSGConfig, number: int, state: State) -> None:
    """One step of gradient descent of the images on the distance between their gradient and the noisy one."""
    kept, network = state.optimizers[MATCHING], state.modules["network"]
    assert isinstance(kept, KeptGradient)
    images, labels = learned_set(state)
    images = images.detach().requires_grad_(True)
    with torch.enable_grad():
        loss = functional.cross_entropy(network(images), labels)
        own = torch.autograd.grad(loss, list(network.parameters()), create_graph=True)
        apart = distance(list(own), kept.gradients)
        (slope,) = torch.autograd.grad(apart, images)
    rate = config.matching.learning_rate_at(number)
    moves = config.momentum * state.tensors["moves"] - rate * slope.view_as(state.tensors["images"])
    state.tensors["moves"], state.tensors["images"] = moves, state.tensors["images"] + moves


def distance(ones: list[Tensor], others: list[Tensor]) -> Tensor:
    """One less the cosine of two gradients, summed over the outputs of all weights (Zhao et al. 2021, eq. 7); biases are left out."""
    total = torch.zeros((), device=ones[0].device)
    for one, other in zip(ones, others, strict=True):
        if one.dim() > 1:
            one, other = one.flatten(1), other.flatten(1)
            lengths = one.norm(dim=1) * other.norm(dim=1) + PER_RECORD
            total = total + (1.0 - (one * other).sum(dim=1) / lengths).sum()
    return total


def learn_images(config: PSGConfig, _number: int, state: State) -> None:
    """Ordinary steps of the classifier on the images."""
    images, labels = learned_set(state)
    network = state.modules["network"]
    optimizer = torch.optim.SGD(network.parameters(), lr=config.teaching.learning_rate, momentum=0.5)
    for _ in range(config.teaching.inner_steps):
        optimizer.zero_grad()
        functional.cross_entropy(network(images), labels).backward()
        optimizer.step()
    optimizer.zero_grad()


def draw_anew(config: PSGConfig, number: int, state: State) -> None:
    """Another classifier in the place of the one before."""
    draw = state.randomness.torch_generator(f"{MATCHING} classifier", number + 1)
    fresh = networks.initialized(lambda: new_classifier(config.classifier, state.facts), draw)
    state.modules["network"].load_state_dict(fresh.state_dict())


def sample(config: PSGConfig, state: State, request: SampleRequest) -> Records:
    """The learned images of the classes asked for, drawn evenly."""
    labels = request.label_array(state.facts.num_classes)
    images = state.tensors["images"].cpu()
    draw = state.randomness.torch_generator(request.purpose)
    rows = torch.from_numpy(np.zeros(request.num_samples, np.int64) if labels is None else labels)
    place = torch.randint(images.shape[1], (request.num_samples,), generator=draw)
    return Records(to_uint8(images[rows, place].numpy()), labels)


def noise_share(config: PSGConfig, state: State) -> float:
    """Of the squares of the images' numbers, what no two images of a class share: what they began as, and most of what noise moved.

    A class's images begin apart and follow the same gradients. Noise that moves all of them alike is not in it, so noise may have more;
    of one image a class, what it began as is all that is known.
    """
    images = state.tensors["images"].double()
    squares = max(float(images.square().mean()), 1e-300)
    count = images.shape[1]
    if count == 1:
        return min(1.0, 1.0 / squares)
    shared = (count * float(images.mean(dim=1).square().mean()) - squares) / (count - 1)
    return min(1.0, max(0.0, 1.0 - shared / squares))
