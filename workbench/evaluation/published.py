"""The protocol that dp-promise's tables were made by, as measures (dp-promise 2024, section 6.2, with the authors' evaluation code).

Train on samples, test on held-out records: an MLP of one hidden layer of 100 and a CNN of three convolutions, of images in [0, 1], by Adam
at 3e-4 over 50 epochs in batches of 128, with the weights of the epoch that is best on a sixth of the samples; and the mean of eleven
scikit-learn classifiers that learn from all samples. Distances are to training records. Two differences from what the authors ran: their
code splits 9 to 1 where the paper says 50 000 and 10 000, which is what is done here, and it keeps the best epoch's weights by reference,
so that it tests the last epoch's.
"""

from __future__ import annotations

import copy
import hashlib
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from workbench import networks
from workbench.evaluation.context import Context, Measurement, Metric, Report, Split, ignore_progress
from workbench.evaluation.device import current_device
from workbench.evaluation.distances import kernel_distance
from workbench.evaluation.eleven import SETTINGS, accuracies
from workbench.evaluation.features import IMAGES
from workbench.evaluation.intervals import wilson
from workbench.evaluation.learners import labels_of
from workbench.evaluation.metrics import fid_note, share_of_classes
from workbench.evaluation.protocols import PUBLISHED
from workbench.lazy import torch, without_gradients
from workbench.records import Records

if TYPE_CHECKING:
    from torch import Tensor, nn

EPOCHS, BATCH_SIZE, LEARNING_RATE = 50, 128, 3e-4
CHOOSING = 6  # one sample in so many chooses the epoch
UNPADDED = 18  # pixels that three convolutions of 3x3 and two halvings leave something of
HELD_OUT: frozenset[Split] = frozenset({"held_out"})
TRAIN: frozenset[Split] = frozenset({"train"})
_INFERENCE_BATCH = 1_000

Build = Callable[[tuple[int, ...], int], "nn.Module"]


def mlp(shape: tuple[int, ...], num_classes: int) -> nn.Module:
    """One hidden layer of 100."""
    from torch import nn

    return nn.Sequential(nn.Flatten(), nn.Linear(math.prod(shape), 100), nn.ReLU(), nn.Linear(100, num_classes))


def cnn(shape: tuple[int, ...], num_classes: int) -> nn.Module:
    """Convolutions of 32, 64 and 128 channels and a hidden layer of 128, with dropout; images under 18 pixels are padded for them."""
    from torch import nn

    channels, padding = shape[0], int(min(shape[1:]) < UNPADDED)
    layers: list[nn.Module] = []
    for width in (32, 64):
        layers += [nn.Conv2d(channels, width, 3, padding=padding), nn.MaxPool2d(2), nn.ReLU(), nn.Dropout(0.5)]
        channels = width
    layers += [nn.Conv2d(channels, 128, 3, padding=padding), nn.ReLU(), nn.Flatten()]
    flat = int(nn.Sequential(*layers)(torch.zeros(1, *shape)).shape[1])
    return nn.Sequential(*layers, nn.Linear(flat, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, num_classes))


def trained_network(build: Build, samples: Records, num_classes: int, seed: int, report: Report = ignore_progress) -> tuple[nn.Module, int]:
    """The network with the weights of the epoch that puts most of a sixth of `samples` into their class, and that epoch, from 1."""
    order = np.random.default_rng(seed).permutation(len(samples))
    choosing, training = np.split(order, [max(1, len(samples) // CHOOSING)])
    device = current_device()
    images, labels = images_of(samples), torch.from_numpy(labels_of(samples, num_classes)).to(device)
    module = networks.initialized(lambda: build(samples.records.shape[1:], num_classes), torch.Generator().manual_seed(seed)).to(device)
    optimizer = torch.optim.Adam(module.parameters(), lr=LEARNING_RATE)
    best, best_epoch, weights = -1.0, 0, {}
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)  # of batches and dropout
        for epoch in range(1, EPOCHS + 1):
            _pass(module.train(), optimizer, images, labels, torch.from_numpy(training))
            accuracy = float(np.mean(predicted_classes(module, images[choosing]) == labels[choosing].cpu().numpy()))
            if accuracy > best:
                best, best_epoch, weights = accuracy, epoch, copy.deepcopy(module.state_dict())
            report(epoch / EPOCHS)
    module.load_state_dict(weights)
    return module.eval(), best_epoch


@without_gradients
def predicted_classes(module: nn.Module, images: Tensor) -> np.ndarray:
    """Most probable class of each of `images`, int64 (N,)."""
    module.eval()
    return np.concatenate([module(part).argmax(dim=1).cpu().numpy() for part in images.split(_INFERENCE_BATCH)])


def best_epoch_accuracy(beside: str, title: str, build: Build) -> Metric:
    """The accuracy on held-out records of a network that learns from five samples in six."""

    def measure(samples: Records, context: Context) -> Measurement:
        held_out, classes = context.judged_dataset.held_out, context.judged_dataset.facts.num_classes
        module, epoch = trained_network(build, context.as_judged(samples), classes, context.seed, context.report)
        value = float(np.mean(predicted_classes(module, images_of(held_out)) == labels_of(held_out, classes)))
        return Measurement(value, wilson(value, len(held_out)), "pixels", f"Epoch {epoch} of {EPOCHS} was best on a sixth of the samples.")

    what = f"{title.partition(', ')[2]} trained over {EPOCHS} epochs on five samples in six, the epoch chosen by the sixth"
    return _learner_metric(f"{beside}_published", title, measure, f"Accuracy on held-out real records of the published {what}.", beside)


def mean_of_eleven(samples: Records, context: Context) -> Measurement:
    """Mean accuracy on held-out records of the eleven classifiers, each trained on all samples; what was fitted is not fitted again."""
    facts, done = context.judged_dataset.facts, 0
    records = (context.as_judged(samples), context.judged_dataset.held_out)
    sides = [(facts.kind.features(side.records), labels_of(side, facts.num_classes)) for side in records]
    key = (context.cache.dataset_key(context.dataset), "eleven", context.seed, context.attribute, digest(*sides[0]))

    def took(name: str, fit: Callable[[], float]) -> float:
        nonlocal done
        value, done = context.cache.value((*key, name), fit), done + 1
        context.report(done / len(SETTINGS))
        return value

    scores = accuracies(sides[0], sides[1], context.seed, took)
    listing = "; ".join(f"{name} {value:.3f} ({SETTINGS[name]})" for name, value in scores.items())
    return Measurement(float(np.mean(list(scores.values()))), None, "pixels", f"Mean of eleven: {listing}.")


def to_training(beside: str, title: str, unit: str) -> Metric:
    """The distance of samples to the training records, which the papers print."""

    def measure(samples: Records, context: Context) -> Measurement:
        features = context.space(samples)
        if beside == "frechet_distance":
            value = context.frechet_reference_of_training.distance(features)
        else:
            value = kernel_distance(features, context.train_features)
        note = (
            f"{len(samples)} samples against {len(context.dataset.train)} training records. The ceiling's real records are part of these."
        )
        return Measurement(value, None, context.space.label, note + fid_note(beside, context.space.label))

    return Metric(
        name=f"{beside}_published",
        title=f"{title} to training records",
        kinds=IMAGES,
        function=measure,
        description=f"{title} between samples and training records in the named features, as the papers take it.",
        better="lower",
        touches=TRAIN,
        unit=unit,
        by_name=True,
        protocol=PUBLISHED,
        beside=beside,
    )


def _learner_metric(
    name: str, title: str, function: Callable[[Records, Context], Measurement], description: str, beside: str = ""
) -> Metric:
    return Metric(
        name=name,
        title=title,
        kinds=IMAGES,
        function=function,
        description=description,
        better="higher",
        touches=HELD_OUT,
        needs="labels",
        chance=share_of_classes,
        is_accuracy=True,
        is_fraction=True,
        in_features=False,
        by_attribute=True,
        by_name=True,
        protocol=PUBLISHED,
        beside=beside,
        package="" if beside else "xgboost",
    )


SKLEARN_MEAN = _learner_metric(
    "accuracy_sklearn_mean",
    "Accuracy, mean of eleven scikit-learn classifiers",
    mean_of_eleven,
    "Mean accuracy on held-out real records of eleven classifiers trained on the samples, with the settings of DP-MERF and dp-promise.",
)


def _pass(module: nn.Module, optimizer: torch.optim.Optimizer, images: Tensor, labels: Tensor, order: Tensor) -> None:
    """One epoch over the positions `order`, shuffled."""
    for index in order[torch.randperm(len(order))].split(BATCH_SIZE):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(module(images[index]), labels[index]).backward()
        optimizer.step()


def images_of(records: Records) -> Tensor:
    """Pixels in [0, 1] as float32, as the authors' code feeds them."""
    return torch.from_numpy(records.records.astype(np.float32) / 255.0).to(current_device())


def digest(values: np.ndarray, labels: np.ndarray) -> str:
    """SHA-256 of samples: equal for equal values and labels."""
    return hashlib.sha256(np.ascontiguousarray(values).tobytes() + labels.tobytes()).hexdigest()
