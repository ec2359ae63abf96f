"""DPImageBench's measure of utility as far as two cores carry it: the mean accuracy of a ResNet, a wide ResNet and a ResNeXt.

The benchmark (Gong et al. 2025) trains three networks on 60 000 samples, tests on held-out records, and prints the mean; which epoch's
weights are tested it chooses on private records with noise. Here the three are small (`workbench.networks.residual`), pass
over the samples `EPOCHS` times, and the last weights are tested: nothing is chosen. Settings were fixed on the training records of
Fashion-MNIST alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from workbench import networks
from workbench.evaluation.context import Context, Measurement, Metric, Report, Split, ignore_progress
from workbench.evaluation.device import current_device, mark
from workbench.evaluation.features import IMAGES
from workbench.evaluation.learners import labels_of
from workbench.evaluation.metrics import share_of_classes
from workbench.evaluation.protocols import BENCHMARK
from workbench.evaluation.published import digest, images_of, predicted_classes
from workbench.lazy import torch
from workbench.records import Records

if TYPE_CHECKING:
    from torch import nn

EPOCHS, BATCH_SIZE, LEARNING_RATE, WEIGHT_DECAY = 5, 128, 3e-3, 5e-4
NETWORKS = {"ResNet": "resnet", "WRN": "wide_resnet", "ResNeXt": "resnext"}
HELD_OUT: frozenset[Split] = frozenset({"held_out"})

Build = Callable[[tuple[int, ...], int], "nn.Module"]


def trained_network(build: Build, samples: Records, num_classes: int, seed: int, report: Report = ignore_progress) -> nn.Module:
    """The network after `EPOCHS` passes over `samples` in batches of 128: AdamW, one cycle of the learning rate; the last weights."""
    size = min(BATCH_SIZE, len(samples))
    images, labels = images_of(samples), torch.from_numpy(labels_of(samples, num_classes)).to(current_device())
    module = networks.initialized(lambda: build(samples.records.shape[1:], num_classes), torch.Generator().manual_seed(seed))
    module.to(current_device(), memory_format=torch.channels_last).train()  # pyright: ignore[reportCallIssue]
    optimizer = torch.optim.AdamW(module.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, LEARNING_RATE, total_steps=EPOCHS * (len(samples) // size))
    generator = torch.Generator().manual_seed(seed)
    for epoch in range(1, EPOCHS + 1):
        for index in torch.randperm(len(samples), generator=generator)[: len(samples) // size * size].to(current_device()).split(size):
            optimizer.zero_grad()
            logits = module(images[index].contiguous(memory_format=torch.channels_last))
            torch.nn.functional.cross_entropy(logits, labels[index]).backward()
            optimizer.step()
            schedule.step()
        report(epoch / EPOCHS)
    return module.eval()


def mean_of_three(samples: Records, context: Context) -> Measurement:
    """Mean accuracy on held-out records of the three networks, each trained on all samples; what was trained is not trained again."""
    facts, held_out, samples = context.judged_dataset.facts, context.judged_dataset.held_out, context.as_judged(samples)
    truth = labels_of(held_out, facts.num_classes)
    seen = digest(samples.records, labels_of(samples, facts.num_classes))
    key = (context.cache.dataset_key(context.dataset), "three", EPOCHS, context.seed, context.attribute, seen, *mark())
    accuracies: dict[str, float] = {}

    def accuracy(build: Build) -> float:
        module = trained_network(
            build, samples, facts.num_classes, context.seed, lambda share: context.report((len(accuracies) + share) / 3)
        )
        return float(np.mean(predicted_classes(module, images_of(held_out)) == truth))

    for name, builder in NETWORKS.items():
        accuracies[name] = context.cache.value((*key, name), partial(accuracy, getattr(networks, builder)))
        context.report(len(accuracies) / len(NETWORKS))
    listing = ", ".join(f"{name} {value:.3f}" for name, value in accuracies.items())
    note = f"Mean of {listing}; small networks, {EPOCHS} passes over {len(samples):,} samples, no epoch chosen."
    return Measurement(float(np.mean(list(accuracies.values()))), None, "pixels", note)


MEAN_OF_THREE = Metric(
    name="accuracy_mean3",
    title="Accuracy, mean of ResNet, WRN and ResNeXt",
    kinds=IMAGES,
    function=mean_of_three,
    description="Mean accuracy on held-out real records of a ResNet, a wide ResNet and a ResNeXt trained on the samples, as DPImageBench "
    "has it; the networks here are small.",
    better="higher",
    touches=HELD_OUT,
    needs="labels",
    chance=share_of_classes,
    is_accuracy=True,
    is_fraction=True,
    in_features=False,
    by_attribute=True,
    by_name=True,
    protocol=BENCHMARK,
)
