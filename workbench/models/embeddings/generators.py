"""The generator that is fitted to noisy embeddings, and samples of it: no record is looked at."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import torch
from torch import Tensor, nn

from workbench import networks
from workbench.datasets.base import DatasetFacts, to_uint8
from workbench.models import label_counts
from workbench.models.embeddings.config import GENERATOR, GeneratorSettings, GeneratorShape, columns
from workbench.models.sample_request import SampleRequest
from workbench.records import Records
from workbench.training.ordinary_training import OrdinaryTrainer
from workbench.training.state import State, Step

Distance = Callable[[int, Tensor, Tensor], Tensor]  # step, images (B, C, H, W), classes int64 (B,) -> a scalar to make small


def initial_state(settings: GeneratorSettings, facts: DatasetFacts, state: State, embeddings: Mapping[str, int]) -> State:
    """The generator, Adam, and room for each release, by its tensor's name so many numbers a class."""
    generator = networks.initialized(lambda: new_generator(settings, facts), state.randomness.torch_generator("initialisation"))
    state.modules = {GENERATOR: generator.to(state.device)}
    state.optimizers = {GENERATOR: torch.optim.Adam(generator.parameters(), lr=settings.training.learning_rate)}
    state.tensors = {name: torch.zeros(size, columns(facts), device=state.device) for name, size in embeddings.items()}
    label_counts.add_to(settings.labels, facts, state)
    return state


def new_generator(settings: GeneratorShape, facts: DatasetFacts) -> networks.ConditionalGenerator:
    """From latent and label to an image of the dataset's shape."""
    channels, height, width = facts.shape
    return networks.ConditionalGenerator(
        (channels, height, width), columns(facts), settings.latent_size, settings.hidden_size, settings.channels
    )


def fit(settings: GeneratorSettings, state: State, distance: Distance, *, private: bool = False) -> Iterator[Step]:
    """Make `distance` of generated images small, all classes in turn; `private` where it looks at records, which is spent before."""
    generator, size, classes = state.modules[GENERATOR], settings.training.batch_size, columns(state.facts)

    def loss(step: int) -> Tensor:
        draw = state.randomness.torch_generator(GENERATOR, step)
        latent = torch.randn(size, settings.latent_size, generator=draw).to(state.device)
        rows = (torch.arange(size) % classes).to(state.device)
        return distance(step, generator.train()(latent, rows), rows)

    yield from OrdinaryTrainer(settings.training, GENERATOR, state, loss, private=private).run()


def mean_by_class(embedding: Tensor, rows: Tensor, classes: int) -> Tensor:
    """The mean embedding (F, classes) of vectors (B, F) with their classes, each column over all B, as that of records is."""
    return embedding.T @ torch.nn.functional.one_hot(rows, classes).float() / len(rows)


def sample(config: GeneratorShape, state: State, request: SampleRequest) -> Records:
    """Images of the generator for standard normal inputs; labels follow their counts, if these are released."""
    return sampled(config, state.modules[GENERATOR], state, request)


def sampled(config: GeneratorShape, generator: nn.Module, state: State, request: SampleRequest) -> Records:
    """The same of a network that stands in for it."""
    labels = label_counts.with_drawn_labels(config.labels, request, state).label_array(state.facts.num_classes)
    rows = torch.from_numpy(np.zeros(request.num_samples, np.int64) if labels is None else labels)
    draw = state.randomness.torch_generator(request.purpose)
    latent = torch.randn(request.num_samples, config.latent_size, generator=draw)
    generator.eval()
    with torch.no_grad():
        chunks = [
            generator(z.to(state.device), y.to(state.device)).cpu() for z, y in zip(latent.split(1000), rows.split(1000), strict=True)
        ]
    images = torch.cat(chunks).numpy() if chunks else np.zeros((0, *state.facts.shape), np.float32)
    return Records(to_uint8(images), labels)
