"""Classifiers trained for evaluation: fixed hyper-parameters, a fixed number of steps, the last weights, one seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from workbench import networks
from workbench.datasets.base import to_unit_range
from workbench.errors import WorkbenchError
from workbench.evaluation.device import current_device
from workbench.lazy import torch, without_gradients
from workbench.records import Records

if TYPE_CHECKING:
    from torch import Tensor, nn

STEPS, BATCH_SIZE, LEARNING_RATE, CNN_WIDTH = 1_000, 64, 2e-3, 16
_INFERENCE_BATCH = 1_000


@dataclass(frozen=True)
class Classifier:
    """A trained network with `features` and logits, applied to image records on the device where it is."""

    module: networks.SmallCNN | networks.MLP

    @without_gradients
    def features(self, records: Records) -> np.ndarray:
        """Penultimate layer, float32 (N, D)."""
        return np.concatenate([self.module.features(x).cpu().numpy() for x in _batches(records, self.device)])

    @without_gradients
    def probabilities(self, records: Records) -> np.ndarray:
        """Class probabilities, float32 (N, num_classes)."""
        return np.concatenate([self.module(x).softmax(dim=1).cpu().numpy() for x in _batches(records, self.device)])

    @property
    def device(self) -> torch.device:
        """Where its weights are."""
        return next(self.module.parameters()).device

    def predict(self, records: Records) -> np.ndarray:
        """Most probable class, int64 (N,)."""
        return self.probabilities(records).argmax(axis=1)


def labels_of(records: Records, num_classes: int) -> np.ndarray:
    """The labels (N,) of `records`, checked to lie in 0..num_classes-1."""
    labels = records.labels
    if labels is None:
        raise WorkbenchError("Expected records with labels, got records without. Choose a measure that needs none.")
    if len(labels) and not 0 <= labels.min() <= labels.max() < num_classes:
        raise WorkbenchError(f"Expected labels from 0 to {num_classes - 1}, got {labels.min()} to {labels.max()}.")
    return labels


def build_cnn(shape: tuple[int, ...], num_classes: int, seed: int) -> networks.SmallCNN:
    """A freshly initialised networks.SmallCNN for images of `shape` (C, H, W)."""
    channels, height, width = shape
    return networks.initialized(
        lambda: networks.SmallCNN((channels, height, width), num_classes, width=CNN_WIDTH), torch.Generator().manual_seed(seed)
    )


def build_mlp(shape: tuple[int, ...], num_classes: int, seed: int) -> networks.MLP:
    """A freshly initialised networks.MLP for records of `shape`."""
    return networks.initialized(lambda: networks.MLP(shape, num_classes), torch.Generator().manual_seed(seed))


def train_classifier(
    build: Callable[[tuple[int, ...], int, int], networks.SmallCNN | networks.MLP], records: Records, num_classes: int, seed: int
) -> Classifier:
    """Adam on cross-entropy for STEPS batches of 64, the learning rate falling linearly from 0.002 to 0; the last weights.

    Nothing is chosen by looking at held-out records; a short set is passed over more often. Equal seeds give equal weights.
    """
    device = current_device()
    images, labels = (
        torch.from_numpy(to_unit_range(records.records)).to(device),
        torch.from_numpy(labels_of(records, num_classes)).to(device),
    )
    module = build(tuple(records.records.shape[1:]), num_classes, seed).to(device)
    optimizer = torch.optim.Adam(module.parameters(), lr=LEARNING_RATE)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=STEPS)
    for chosen in _shuffled_batches(len(records), STEPS, torch.Generator().manual_seed(seed)):
        index = chosen.to(device)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(module(images[index]), labels[index]).backward()
        optimizer.step()
        schedule.step()
    return Classifier(module.eval().requires_grad_(False))


def restore_classifier(
    build: Callable[[tuple[int, ...], int, int], networks.SmallCNN | networks.MLP],
    shape: tuple[int, ...],
    num_classes: int,
    weights: dict[str, Tensor],
) -> Classifier:
    """A classifier with the weights that one trained before had."""
    module: nn.Module = build(shape, num_classes, 0)
    module.load_state_dict(weights)
    return Classifier(module.to(current_device()).eval().requires_grad_(False))  # type: ignore[arg-type]


def _shuffled_batches(num_records: int, steps: int, generator: torch.Generator) -> Iterator[Tensor]:
    """`steps` batches of at most 64 positions, each record once before any comes again."""
    queue = torch.empty(0, dtype=torch.int64)
    size = min(BATCH_SIZE, num_records)
    for _ in range(steps):
        if len(queue) < size:
            queue = torch.cat([queue, torch.randperm(num_records, generator=generator)])
        yield queue[:size]
        queue = queue[size:]


def _batches(records: Records, device: torch.device) -> Iterator[Tensor]:
    for start in range(0, max(1, len(records)), _INFERENCE_BATCH):
        yield torch.from_numpy(to_unit_range(records.records[start : start + _INFERENCE_BATCH])).to(device)
