"""DP-MEPF's training: a network of features, their noisy moments by class, and the generator that is fitted to these."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from workbench import networks
from workbench.datasets.base import DatasetFacts, to_unit_range
from workbench.errors import WorkbenchError
from workbench.methods.dp_mepf.method import FEATURES, FIRST, SECOND, DPMEPFConfig
from workbench.models import label_counts
from workbench.models.embeddings import generators, releases
from workbench.models.embeddings.generators import sample
from workbench.records import Records
from workbench.training.ordinary_training import OrdinaryTrainer
from workbench.training.state import State, Step

__all__ = ["class_noise_share", "fit", "initial_state", "noise_by_class", "noise_share", "sample"]
PROTOTYPES = 50  # public images without classes are told apart by which of so many of them they are nearest to
POOLED = 2  # after averaging over squares of this side
LEAST_NORM = 1e-12


def initial_state(config: DPMEPFConfig, facts: DatasetFacts, state: State) -> State:
    """The generator, the network of features with its Adam, and room for the moments."""
    network = networks.initialized(lambda: new_network(config, facts), state.randomness.torch_generator("initialisation of features"))
    size = features_of(network, torch.zeros(1, *facts.shape), config.balanced).shape[1]
    state = generators.initial_state(config, facts, state, {FIRST: size} | ({SECOND: size} if config.second_distance else {}))
    state.modules["features"] = network.to(state.device)
    if config.features.takes_place:
        state.optimizers[FEATURES] = torch.optim.Adam(network.parameters(), lr=config.features.learning_rate)
    return state


def new_network(config: DPMEPFConfig, facts: DatasetFacts) -> networks.SmallCNN:
    """A classifier of as many classes as records have, or as there are prototypes."""
    channels, height, width = facts.shape
    return networks.SmallCNN((channels, height, width), max(facts.num_classes, PROTOTYPES), width=config.features.width)


def fit(config: DPMEPFConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """Teach the network by public images, release the moments of its features, fit the generator to them."""
    if config.features.takes_place:
        yield from teach(config, public, state)
    network = network_of(state).requires_grad_(False).eval()
    for stage, moment, most in moments(config):
        yield from releases.release(data, embedded_by(network, moment, config.balanced), deviation(config, most), state, stage, stage)
    yield from label_counts.release(config.labels, data, state)

    def distance(_step: int, images: Tensor, rows: Tensor) -> Tensor:
        features = features_of(network, images, config.balanced)
        apart = images.new_zeros(())
        for stage, moment, _ in moments(config):
            released = state.tensors[stage]
            apart = apart + (generators.mean_by_class(unit(moment(features)), rows, released.shape[1]) - released).square().sum()
        return apart

    yield from generators.fit(config, state, distance)


def teach(config: DPMEPFConfig, public: Records | None, state: State) -> Iterator[Step]:
    """Cross-entropy of public images' classes; of those that came without, of which of the first ones each is nearest to."""
    if public is None:
        raise WorkbenchError(f"Expected public images of {config.features.dataset!r} to learn features from, got none.")
    network, size = network_of(state), config.features.batch_size
    images = torch.from_numpy(to_unit_range(public.records)).to(state.device)
    classes = nearest_prototype(images) if public.labels is None else torch.from_numpy(public.labels).to(state.device)

    def loss(step: int) -> Tensor:
        index = torch.randint(len(images), (size,), generator=state.randomness.torch_generator(FEATURES, step)).to(state.device)
        return torch.nn.functional.cross_entropy(network.train()(images[index]), classes[index])

    yield from OrdinaryTrainer(config.features, FEATURES, state, loss, private=False).run()


def nearest_prototype(images: Tensor) -> Tensor:
    """Which of the first PROTOTYPES images (B, C, H, W) each is nearest to, in pixels averaged over squares: int64 (B,)."""
    pooled = torch.nn.functional.avg_pool2d(images, POOLED, ceil_mode=True).flatten(1)
    return torch.cat([torch.cdist(part, pooled[:PROTOTYPES]).argmin(dim=1) for part in pooled.split(1000)])


def moments(config: DPMEPFConfig) -> list[tuple[str, Callable[[Tensor], Tensor], float]]:
    """Stage, what is made of features, and what one record in another's place is taken to move its mean by, over 1/n."""
    second = [(SECOND, torch.square, config.second_distance)] if config.second_distance else []
    return [(FIRST, lambda features: features, 2.0), *second]


def deviation(config: DPMEPFConfig, distance: float) -> float:
    """Of the noise on a sum: the configured multiplier of that distance."""
    assert config.noise_multiplier is not None
    return config.noise_multiplier * distance


def embedded_by(network: networks.SmallCNN, moment: Callable[[Tensor], Tensor], balanced: bool) -> releases.Embedding:
    """A moment of an image's features, of norm 1."""
    return lambda images: unit(moment(features_of(network, images, balanced)))


def features_of(network: networks.SmallCNN, images: Tensor, balanced: bool) -> Tensor:
    """All that the network makes of images (B, C, H, W), layer by layer, after each pooling, and what its last layer sees: (B, F).

    Where they are balanced, the image stands before them as another layer, and each layer has norm 1.
    """
    layers: list[Tensor] = []
    x = images
    for layer in network.convolutions:
        x = layer(x)
        if isinstance(layer, nn.MaxPool2d | nn.Flatten):
            layers.append(x.flatten(1))
    layers.append(network.hidden(x))
    return torch.cat([unit(layer) for layer in (images.flatten(1), *layers)] if balanced else layers, dim=1)


def unit(vectors: Tensor) -> Tensor:
    """Vectors (B, F) of norm 1; zero stays."""
    return vectors / vectors.norm(dim=1, keepdim=True).clamp(min=LEAST_NORM)


def network_of(state: State) -> networks.SmallCNN:
    """The network of features."""
    network = state.modules["features"]
    assert isinstance(network, networks.SmallCNN)
    return network


def noise_share(config: DPMEPFConfig, state: State) -> float:
    """Of the squared norm of the released first moment."""
    return releases.share_of_noise(state.tensors[FIRST], deviation(config, 2.0), state.facts.num_records)


def class_noise_share(config: DPMEPFConfig, state: State) -> float | None:
    """The same of what differs between classes in the first moment."""
    return releases.class_share_of_noise(state.tensors[FIRST], deviation(config, 2.0), state.facts.num_records)


def noise_by_class(config: DPMEPFConfig, state: State) -> tuple[float, ...]:
    """The same of the first moment of each class."""
    return releases.noise_by_class(state.tensors[FIRST], deviation(config, 2.0), state.facts.num_records)
