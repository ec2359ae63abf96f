"""Draws beside a private classifier that learned them and was refined by DP-SGD, within one bound: who labels the draws better?

`python -m docs.pilots.refined_classifier --dataset mnist-validation --bound 10` prints a table. The draws of `votes-and-clusters`
have the part 1 - SHARE of mu^2. A small CNN learns half of them and is refined by DP-SGD on the records with the rest. Its labels
and doubts then choose among draws that it has not seen, as do those of a CNN of the real records, which has no privacy and says how
much a perfect judge could bring. Nothing here looks at test records. It needs the IDX files in the folder that WORKBENCH_DATA names,
and 25 minutes of a core.
"""

import math
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from docs.pilots.asked import Asked
from docs.pilots.labels_on_draws import accuracy, trained
from workbench.datasets import Dataset
from workbench.datasets.base import to_unit_range
from workbench.evaluation.learners import build_cnn
from workbench.experiment import sample
from workbench.privacy.accounting.calibration import calibrate_real
from workbench.privacy.accounting.gaussian import gdp_epsilon
from workbench.records import Records
from workbench.training.dp_sgd import DPSGD
from workbench.training.private_training import PrivateTraining
from workbench.training.randomness import Randomness
from workbench.training.row_losses import RowLosses
from workbench.training.state import PerformanceSettings, State

SHARE = 0.4  # of mu^2, for the classifier
DRAWS, TAUGHT = 60_000, 10_000
ORDINARY, BATCH, RATE = 1_500, 128, 2e-3  # steps on draws, or on real records
BY_PIXELS = {"clusters.moment_normalisation": False, "selection.space": "pixels"}  # the defaults when this was tried
STAGE = "DP-SGD of the classifier"
SETTINGS = DPSGD(max_grad_norm=0.5, batch_size=3_000, steps=200, learning_rate=0.3, schedule="cosine")


def group_normalised(classes: int) -> nn.Sequential:
    """The private classifier, (B, 1, H, W) to scores: three convolutions, whose records do not meet in a normalisation."""

    def block(inputs: int, outputs: int, *last: nn.Module, **options: int) -> list[nn.Module]:
        return [nn.Conv2d(inputs, outputs, **options), nn.GroupNorm(4, outputs), nn.ReLU(), *last]  # pyright: ignore[reportArgumentType]

    return nn.Sequential(
        *block(1, 16, kernel_size=5, stride=2, padding=2),
        *block(16, 32, nn.MaxPool2d(2), kernel_size=3, padding=1),
        *block(32, 32, nn.AdaptiveAvgPool2d(3), kernel_size=3, padding=1),
        nn.Flatten(),
        nn.Linear(288, classes),
    )


def learn(module: nn.Module, images: np.ndarray, labels: np.ndarray, seed: int) -> None:
    """Ordinary steps on images (N, 1, H, W) in [-1, 1]."""
    x, y, generator = torch.from_numpy(images), torch.from_numpy(labels.astype(np.int64)), torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(module.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=ORDINARY)
    for _ in range(ORDINARY):
        chosen = torch.randint(len(x), (BATCH,), generator=generator)
        optimizer.zero_grad()
        functional.cross_entropy(module(x[chosen]), y[chosen]).backward()
        optimizer.step()
        schedule.step()


def refine(network: nn.Module, dataset: Dataset, epsilon: float, delta: float, seed: int) -> None:
    """DP-SGD on the records, of which `epsilon` is the proved bound."""
    count = dataset.facts.num_records

    def at(noise: float) -> DPSGD:
        return SETTINGS.model_copy(update={"noise_multiplier": noise})

    settings = at(calibrate_real(lambda noise: [at(noise).stage(STAGE, count)], epsilon, delta))
    state = State(dataset.facts, Randomness.from_seed(seed), PerformanceSettings(device="cpu"))
    state.modules, state.optimizers = {"network": network}, {STAGE: torch.optim.SGD(network.parameters(), lr=1.0, momentum=0.9)}
    assert dataset.train.labels is not None
    data = torch.from_numpy(to_unit_range(dataset.train.records)), torch.from_numpy(dataset.train.labels.astype(np.int64))

    def losses(batch: tuple[Tensor, ...]) -> RowLosses:
        return RowLosses(network, batch, lambda _part: (), lambda image, _label: (image,), class_loss)

    for _ in PrivateTraining(settings, STAGE, network, state, data, losses, present=dataset.train.mask).run():
        pass


def class_loss(scores: Tensor, _image: Tensor, label: Tensor) -> Tensor:
    """Cross-entropy of one record."""
    return functional.cross_entropy(scores, label, reduction="none")


@torch.no_grad()
def given_chances(module: nn.Module, images: np.ndarray) -> np.ndarray:
    """The chance (N, classes) that a classifier gives each class."""
    parts = [module(torch.from_numpy(part)).softmax(dim=1).numpy() for part in np.array_split(images, max(1, len(images) // 1_000))]
    return np.concatenate(parts)


def choices(labels: np.ndarray, chances: np.ndarray) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """What a judge's chances make of draws: in words, which are taught (N,), and the labels of all."""
    told, sure = chances.argmax(axis=1), chances.max(axis=1)
    agreed = np.flatnonzero(told == labels)
    yield "its labels", np.arange(TAUGHT), told
    yield "those that it agrees with", agreed[:TAUGHT], labels
    yield "the least sure of those", least_sure(agreed, sure, labels), labels
    yield "the least sure of all, its labels", least_sure(np.arange(len(labels)), sure, told), told


def least_sure(among: np.ndarray, sure: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """As many of each class, those that a judge is least sure of."""
    classes = np.unique(labels)
    by_class = [among[labels[among] == label] for label in classes]
    return np.concatenate([each[np.argsort(sure[each], kind="stable")][: TAUGHT // len(classes)] for each in by_class])


def main() -> None:
    """The table, a row at a time."""
    asked = Asked.of_command_line(__doc__, bound=10.0)
    dataset, delta, seed = asked.dataset, asked.delta, asked.seed
    classes, held_out = dataset.facts.num_classes, dataset.held_out
    plan, state = trained("votes-and-clusters", dataset, asked.mu * math.sqrt(1 - SHARE), delta, seed, BY_PIXELS)
    drawn = sample(plan, state, DRAWS)
    assert drawn.labels is not None
    assert dataset.train.labels is not None
    order = np.random.default_rng(seed).permutation(DRAWS)
    (learned, learned_labels), (images, labels) = ((to_unit_range(drawn.records[part]), drawn.labels[part]) for part in np.split(order, 2))

    def show(what: str, figure: float) -> None:
        print(f"| {what} | {figure:.4f} |", flush=True)

    def taught(rows: np.ndarray, targets: np.ndarray) -> float:
        rows = np.random.default_rng(seed).permutation(rows)
        weights = np.ones(len(rows))
        return float(np.mean([accuracy(images[rows], np.eye(classes)[targets[rows]], weights, held_out, one) for one in (0, 1)]))

    def right(module: nn.Module, records: Records) -> float:
        return float((given_chances(module, to_unit_range(records.records)).argmax(axis=1) == records.labels).mean())

    print(f"{asked}\n\n| what is taught, or classifies | accuracy |\n|---|---|")
    show("draws, their own labels", taught(np.arange(TAUGHT), labels))
    torch.manual_seed(seed)
    network = group_normalised(classes)
    learn(network, learned, learned_labels, seed)
    show("(a small CNN of other draws, itself)", right(network, held_out))
    refine(network, dataset, gdp_epsilon(asked.mu * math.sqrt(SHARE), delta), delta, seed)
    unprotected = build_cnn(dataset.facts.shape, classes, seed)
    learn(unprotected, to_unit_range(dataset.train.records), dataset.train.labels, seed)
    for name, module in (("the refined CNN", network.eval()), ("a CNN of real records, without privacy", unprotected.eval())):
        show(f"({name}, itself)", right(module, held_out))
        chances = given_chances(module, images)
        show(f"(part of the draws whose label it shares: {name})", float((chances.argmax(axis=1) == labels).mean()))
        for what, rows, targets in choices(labels, chances):
            show(f"draws, judged by {name}: {what}", taught(rows, targets))


if __name__ == "__main__":
    main()
