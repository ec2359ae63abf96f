"""DP-Kernel's training: one release of random features of its kernels, or the published code's steps on private batches."""

import math
from collections.abc import Iterator
from functools import partial

import numpy as np
import torch
from torch import Tensor

from workbench.datasets.base import DatasetFacts, to_unit_range
from workbench.methods.dp_kernel.method import LENGTH_SCALES, RELEASE, DPKernelConfig
from workbench.models import label_counts
from workbench.models.embeddings import generators, single
from workbench.models.embeddings.fourier import fourier_features, gaussian_frequencies
from workbench.models.embeddings.generators import sample
from workbench.records import Records
from workbench.training.poisson import poisson_batch
from workbench.training.randomness import Randomness
from workbench.training.state import State, Step

__all__ = ["class_noise_share", "fit", "initial_state", "noise_share", "sample"]
BATCH, NOISE = "published batch", "published noise"  # streams


def initial_state(config: DPKernelConfig, facts: DatasetFacts, state: State) -> State:
    """The generator, Adam, and room for the one release, if there is one."""
    if config.is_published:
        return generators.initial_state(config, facts, state, {})
    return single.initial_state(config, facts, state, config.size)


def fit(config: DPKernelConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """Release the noisy mean of features once and fit the generator to it; or take the published code's steps."""
    if config.is_published:
        yield from label_counts.release(config.labels, data, state)
        yield from published_steps(config, data, state)
        return
    frequencies = gaussian_frequencies(state.facts.dimensions, config.num_features // 2, LENGTH_SCALES, state.device)
    yield from single.fit(config, data, partial(fourier_features, frequencies=frequencies), RELEASE, state)


def noise_share(config: DPKernelConfig, state: State) -> float | None:
    """Of the squared norm of the released embedding, if there is one."""
    return None if config.is_published else single.noise_share(config, state)


def class_noise_share(config: DPKernelConfig, state: State) -> float | None:
    """The same of what differs between classes in it."""
    return None if config.is_published else single.class_noise_share(config, state)


# As published


def published_steps(config: DPKernelConfig, data: Records, state: State) -> Iterator[Step]:
    """Each step on a Poisson batch: the squared discrepancy with noise that has no gradient."""
    assert config.noise_multiplier is not None
    rate, number = config.sample_rate(state.facts), state.facts.num_records
    labels = np.zeros(len(data), np.int64) if data.labels is None else data.labels
    deviation = math.sqrt(math.sqrt(10.0) * config.noise_multiplier / config.training.batch_size)

    def distance(step: int, images: Tensor, rows: Tensor) -> Tensor:
        batch = poisson_batch(state.randomness, BATCH, step, number, rate)
        batch = batch[data.mask[batch]]
        private = torch.from_numpy(to_unit_range(data.records[batch])).to(state.device)
        classes = torch.from_numpy(labels[batch]).to(state.device)
        return noisy_discrepancy(private, classes, images, rows, deviation, state.randomness, step)

    yield from generators.fit(config, state, distance, private=True)


def noisy_discrepancy(
    private: Tensor, classes: Tensor, images: Tensor, rows: Tensor, deviation: float, randomness: Randomness, step: int
) -> Tensor:
    """(m + xi)^2: m the squared mean discrepancy of private and generated images with their classes, xi their process's part in it.

    xi is what a Gaussian process of covariance `deviation`^2 times the kernel adds to the mean at private images less twice that at
    generated ones: one normal number, of which the code has no gradient either. Of an empty batch nothing but the generated part is left.
    """
    points, labels = torch.cat([private, images]), torch.cat([classes, rows])
    weights = torch.cat([torch.full((len(private),), 1.0 / max(len(private), 1)), torch.full((len(images),), -2.0 / len(images))])
    kernel = kernels(points, labels)
    inside, between, generated = (
        kernel[: len(private), : len(private)],
        kernel[: len(private), len(private) :],
        kernel[len(private) :, len(private) :],
    )
    m = generated.mean() + (inside.mean() - 2.0 * between.mean() if len(private) else 0.0)
    with torch.no_grad():
        weights = weights.to(kernel.device)
        spread = deviation * (weights @ kernel @ weights).clamp(min=0.0).sqrt()
        xi = spread * float(randomness.stream(NOISE, step).standard_normal(1)[0])
    return (m + xi).square()


def kernels(images: Tensor, labels: Tensor) -> Tensor:
    """The sum of Gaussian kernels (B, B) of images in [-1, 1], between those of one class; their squares' range is [0, 1] a pixel."""
    x = (images.flatten(1) + 1.0) / 2.0
    squares = (x[:, None, :] - x[None, :, :]).square().sum(dim=2)
    summed = sum((torch.exp(squares / (-2.0 * scale**2)) for scale in LENGTH_SCALES), torch.zeros_like(squares))
    return summed * (labels[:, None] == labels[None, :])
