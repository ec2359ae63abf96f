"""DP-MERF's training: the noisy mean embedding, and the generator that is fitted to it."""

import math
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from workbench import networks
from workbench.datasets.base import DatasetFacts, to_uint8, to_unit_range
from workbench.methods.dp_merf.method import GENERATOR, RELEASE, DPMERFConfig
from workbench.models import label_counts
from workbench.models.sample_request import SampleRequest
from workbench.records import Records
from workbench.training.grid import Grid
from workbench.training.ordinary_training import OrdinaryTrainer
from workbench.training.state import State, Step

EMBEDDING_CHUNK = 1000


def initial_state(config: DPMERFConfig, facts: DatasetFacts, state: State) -> State:
    """The generator, Adam, and room for the one release."""
    generator = networks.initialized(lambda: new_generator(config, facts), state.randomness.torch_generator("initialisation"))
    state.modules = {"generator": generator.to(state.device)}
    state.optimizers = {GENERATOR: torch.optim.Adam(generator.parameters(), lr=config.training.learning_rate)}
    state.tensors = {"embedding": torch.zeros(*config.embedding_shape(facts), device=state.device)}
    label_counts.add_to(config.labels, facts, state)
    return state


def new_generator(config: DPMERFConfig, facts: DatasetFacts) -> networks.ConditionalGenerator:
    """From latent and label to an image of the dataset's shape."""
    channels, height, width = facts.shape
    return networks.ConditionalGenerator(
        (channels, height, width), max(facts.num_classes, 1), config.latent_size, config.hidden_size, config.channels
    )


def fit(config: DPMERFConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """Release the noisy mean embedding once, then fit the generator to it."""
    frequencies = new_frequencies(config, state)
    if state.steps.get(RELEASE, 0) == 0:
        grid = release_grid(config, state.facts)
        state.spend(RELEASE, 1)
        state.tensors["embedding"] = release(data, frequencies, grid, state)
        state.steps[RELEASE] = 1
        yield Step(RELEASE, 1, 1)
    yield from label_counts.release(config.labels, data, state)
    yield from fit_generator(config, frequencies, state)


def new_frequencies(config: DPMERFConfig, state: State) -> Tensor:
    """Gaussian frequencies (dimensions, num_features / 2); public, so any repeatable draw will do."""
    dimensions = state.facts.dimensions
    length_scale = config.length_scale or math.sqrt(0.134 * dimensions)
    draw = torch.Generator().manual_seed(0)
    return (torch.randn(dimensions, config.num_features // 2, generator=draw) / length_scale).to(state.device)


def release_grid(config: DPMERFConfig, facts: DatasetFacts) -> Grid:
    """Where the sum over records is released: features of norm 1, noise of the configured multiplier over the distance 2."""
    assert config.noise_multiplier is not None
    return Grid(deviation=2.0 * config.noise_multiplier, max_norm=1.0, num_records=facts.num_records)


def release(data: Records, frequencies: Tensor, grid: Grid, state: State) -> Tensor:
    """The label-wise mean embedding (num_features, classes) plus Gaussian noise, on `grid`: sums and noise are integers."""
    total = np.zeros(tuple(state.tensors["embedding"].shape), np.int64)
    for start in range(0, len(data), EMBEDDING_CHUNK):
        part = data.take(slice(start, start + EMBEDDING_CHUNK))
        images = torch.from_numpy(to_unit_range(part.records)).to(state.device)
        steps = grid.truncated(fourier_features(images, frequencies).cpu().numpy()) * part.mask[:, None]
        labels = np.zeros(len(part), np.int64) if part.labels is None else part.labels
        for label in np.unique(labels):
            total[:, label] += steps[labels == label].sum(axis=0)
    released = state.randomness.release(RELEASE, 1, total, grid) / state.facts.num_records
    return torch.from_numpy(released).float().to(state.device)


def fit_generator(config: DPMERFConfig, frequencies: Tensor, state: State) -> Iterator[Step]:
    """Minimise the squared distance between the released and the generated embedding (their eq. 8)."""
    generator, size = state.modules["generator"], config.training.batch_size
    classes = state.tensors["embedding"].shape[1]

    def loss(step: int) -> Tensor:
        draw = state.randomness.torch_generator(GENERATOR, step)
        latent = torch.randn(size, config.latent_size, generator=draw).to(state.device)
        rows = (torch.arange(size) % classes).to(state.device)
        features = fourier_features(generator.train()(latent, rows), frequencies)
        made = features.T @ torch.nn.functional.one_hot(rows, classes).float() / size
        return (made - state.tensors["embedding"]).square().sum()

    yield from OrdinaryTrainer(config.training, GENERATOR, state, loss, private=False).run()


def fourier_features(images: Tensor, frequencies: Tensor) -> Tensor:
    """Random Fourier features (B, 2 F) of unit norm for images (B, C, H, W) in [-1, 1] and frequencies (C H W, F)."""
    angles = (images.flatten(1) + 1.0) / 2.0 @ frequencies
    return torch.cat([angles.cos(), angles.sin()], dim=1) / math.sqrt(frequencies.shape[1])


def sample(config: DPMERFConfig, state: State, request: SampleRequest) -> Records:
    """Images of the generator for standard normal inputs; labels follow their counts, if these are released."""
    labels = label_counts.asked(config.labels, request, state).label_array(state.facts.num_classes)
    rows = torch.from_numpy(np.zeros(request.num_samples, np.int64) if labels is None else labels)
    draw = state.randomness.torch_generator(request.purpose)
    latent = torch.randn(request.num_samples, config.latent_size, generator=draw)
    generator = state.modules["generator"].eval()
    with torch.no_grad():
        chunks = [
            generator(z.to(state.device), y.to(state.device)).cpu() for z, y in zip(latent.split(1000), rows.split(1000), strict=True)
        ]
    images = torch.cat(chunks).numpy() if chunks else np.zeros((0, *state.facts.shape), np.float32)
    return Records(to_uint8(images), labels)


def noise_share(config: DPMERFConfig, state: State) -> float:
    """Of the squared norm of the released embedding."""
    embedding, deviation = state.tensors["embedding"], release_grid(config, state.facts).deviation / state.facts.num_records
    return min(1.0, embedding.numel() * deviation**2 / max(float(embedding.square().sum()), 1e-300))
