"""P3GM's training: centre, components and mixture by noisy sums, a decoder of these, and DP-SGD on the autoencoder."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor, nn

from workbench import networks
from workbench.datasets.base import DatasetFacts, to_uint8
from workbench.methods.class_moments.training import RecordTransform, chunks, labels_of, second_moment, symmetric, triangle, vectors
from workbench.methods.p3gm.method import CENTRE, COMPONENTS, DECODER, MIXTURE, P3GMConfig
from workbench.models.sample_request import SampleRequest
from workbench.models.settings import DP_SGD
from workbench.records import Records
from workbench.training.grid import Grid, widened_deviation
from workbench.training.microbatch import Microbatch
from workbench.training.ordinary_training import OrdinaryTrainer
from workbench.training.private_training import PrivateTraining
from workbench.training.row_losses import RowLosses
from workbench.training.state import State, Step

LEAST_COUNT = 0.1  # of an even share of the records: what a noisy count is taken to be at least
LEAST_VARIANCE = 1e-4  # of a projection in the unit ball


class Autoencoder(nn.Module):
    """Decoder and variances around a projection that is given: (image, projection, class, noise) to (image, log-variances).

    `base` is the log-variance where the network adds nothing. As it has a parameter of its own, private passes run it whole, record by
    record (`torch.func`).
    """

    def __init__(self, dimensions: int, latent: int, classes: int, hidden: int) -> None:
        super().__init__()
        self.classes = classes
        self.base = nn.Parameter(torch.full((latent,), -4.0))
        last = nn.Linear(hidden, latent)
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
        self.variances = nn.Sequential(nn.Linear(dimensions, hidden), nn.ReLU(), last)
        self.decoder = nn.Sequential(nn.Linear(latent + classes, hidden), nn.ReLU(), nn.Linear(hidden, dimensions), nn.Sigmoid())

    def decode(self, latent: Tensor, classes: Tensor) -> Tensor:
        """Images (B, D) in [0, 1] of latents (B, k) and one-hot classes (B, classes)."""
        return self.decoder(torch.cat([latent, classes], dim=-1))

    def forward(self, image: Tensor, mean: Tensor, classes: Tensor, noise: Tensor) -> Tensor:
        """Decoded images and log-variances side by side (B, D + k)."""
        logarithms = self.base + self.variances(image)
        latent = mean + noise * (0.5 * logarithms).exp()
        return torch.cat([self.decode(latent, classes), logarithms], dim=-1)


def initial_state(config: P3GMConfig, facts: DatasetFacts, state: State) -> State:
    """The autoencoder, its two optimisers, and room for the three noisy sums: all else is made of these when it is asked for."""
    classes, latent, dimensions = max(facts.num_classes, 1), config.components.number, config.numbers(facts)
    model = networks.initialized(
        lambda: Autoencoder(dimensions, latent, classes, config.autoencoder.hidden), state.randomness.torch_generator("initialisation")
    ).to(state.device)
    state.modules = {"autoencoder": model}
    state.optimizers = {
        DECODER: torch.optim.Adam(model.decoder.parameters(), lr=config.decoder.learning_rate),
        DP_SGD: torch.optim.Adam(model.parameters(), lr=config.training.learning_rate),
    }
    shapes = {
        "centre": (dimensions,),
        "second_moment": (dimensions * (dimensions + 1) // 2,),
        "sums": (classes, config.mixture.components, 1 + 2 * latent),
    }
    state.tensors = {name: torch.zeros(shape, dtype=torch.float64, device=state.device) for name, shape in shapes.items()}
    return state


def fit(config: P3GMConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """Each stage from where it stands."""
    if config.centre.kind != "constant":
        yield from once(CENTRE, state, lambda: release_centre(config, data, state))
    yield from once(COMPONENTS, state, lambda: release_components(config, data, state))
    for step in range(state.steps.get(MIXTURE, 0) + 1, config.mixture.steps + 1):
        state.spend(MIXTURE, step)
        release_mixture(config, data, state, step)
        state.steps[MIXTURE] = step
        yield Step(MIXTURE, step, config.mixture.steps)
    yield from learn_released(config, state)
    yield from learn_records(config, data, state)


def once(stage: str, state: State, release: Callable[[], None]) -> Iterator[Step]:
    """A stage of one step, recorded as spent before a record is read."""
    if not state.steps.get(stage, 0):
        state.spend(stage, 1)
        release()
        state.steps[stage] = 1
        yield Step(stage, 1, 1)


def keep_array(state: State, name: str, values: np.ndarray) -> None:
    """Keep an array in the state."""
    state.tensors[name] = torch.from_numpy(values).to(state.device)


def release_centre(config: P3GMConfig, data: Records, state: State) -> None:
    """The mean image, noisy or as it is."""
    numbers, exact = config.numbers(state.facts), config.centre.kind == "exact"
    norm = math.sqrt(numbers)
    noise = 1.0 if exact else config.centre.noise_multiplier
    assert noise is not None
    grid = Grid(noise * norm, norm, state.facts.num_records)
    total = np.zeros(numbers, np.int64)
    for part in chunks(data):
        total += (grid.truncated(vectors(part, config.pooling)) * part.mask[:, None]).sum(axis=0)
    centre = grid.values(total) if exact else state.randomness.release(CENTRE, 1, total, grid)
    keep_array(state, "centre", centre / state.facts.num_records)


def release_components(config: P3GMConfig, data: Records, state: State) -> None:
    """The noisy second moment of clipped differences."""
    noise, norm = config.components.noise_multiplier, config.components.max_norm
    assert noise is not None
    grid = Grid(widened_deviation(noise * norm**2, noise, state.tensors["second_moment"].numel()), norm**2, state.facts.num_records)
    sums = triangle(second_moment(data, Projection.of(config, state, 0).reading, state.facts.num_records))
    keep_array(state, "second_moment", state.randomness.release(COMPONENTS, 1, grid.rounded(sums), grid))


@dataclass(frozen=True)
class Projection:
    """How an image is read: less the centre, clipped where it is added up; and its components (D, k), the widest first."""

    reading: RecordTransform
    axes: np.ndarray

    @classmethod
    def of(cls, config: P3GMConfig, state: State, number: int) -> Self:
        """With so many components of the released second moment."""
        numbers = config.numbers(state.facts)
        centre = np.full(numbers, 0.5) if config.centre.kind == "constant" else state.tensors["centre"].cpu().numpy()
        reading = RecordTransform(config.components.max_norm, config.pooling, np.tile(centre, (max(state.facts.num_classes, 1), 1)))
        if not number:
            return cls(reading, np.zeros((numbers, 0)))
        _, directions = np.linalg.eigh(symmetric(state.tensors["second_moment"].cpu().numpy(), numbers))
        return cls(reading, directions[:, ::-1][:, :number].copy())

    def projected_records(self, records: Records) -> np.ndarray:
        """Records (N, k) on the components, over the norm that they are clipped to, within the unit ball."""
        projections = self.reading.vectors(records) @ self.axes / self.reading.norm
        return projections / np.maximum(1.0, np.linalg.norm(projections, axis=1, keepdims=True))


@dataclass(frozen=True)
class Gaussians:
    """The components of each class: how many records each accounts for (classes, K), means and variances (classes, K, k)."""

    counts: np.ndarray
    means: np.ndarray
    variances: np.ndarray

    @classmethod
    def of(cls, state: State) -> Self:
        """By the noisy sums: means within the unit ball, variances within it and not next to nothing."""
        sums = state.tensors["sums"].cpu().numpy()
        classes, parts, numbers = sums.shape
        latent = numbers // 2
        counts = np.maximum(sums[..., 0], LEAST_COUNT * state.facts.num_records / (classes * parts))
        means = sums[..., 1 : 1 + latent] / counts[..., None]
        means /= np.maximum(1.0, np.linalg.norm(means, axis=-1, keepdims=True))
        variances = np.clip(sums[..., 1 + latent :] / counts[..., None] - means**2, LEAST_VARIANCE, 1.0)
        return cls(counts, means, variances)

    @classmethod
    def first(cls, shape: tuple[int, ...]) -> Self:
        """Before anything is released: means (classes, K, k) of one length, drawn evenly, the same whatever the records are."""
        draw = np.random.default_rng(0).normal(size=shape)
        return cls(np.ones(shape[:2]), 0.3 * draw / np.linalg.norm(draw, axis=-1, keepdims=True), np.full(shape, 0.05))

    @property
    def spread(self) -> float:
        """The root mean square of projections: latents are in units of it."""
        return float(np.sqrt((self.means**2 + self.variances).mean()))

    def responsibilities(self, projections: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """How far each component of its class accounts for a projection (N, k): (N, K), adding up to 1."""
        apart = (projections[:, None] - self.means[labels]) ** 2 / self.variances[labels] + np.log(self.variances[labels])
        scores = np.log(self.counts[labels]) - 0.5 * apart.sum(axis=-1)
        grown = np.exp(scores - scores.max(axis=1, keepdims=True))
        return grown / grown.sum(axis=1, keepdims=True)

    def drawn_latents(self, labels: Tensor, draw: torch.Generator) -> Tensor:
        """Latents (N, k) of classes (N,), in units of the spread."""
        counts, means, variances = (torch.from_numpy(values).float() for values in (self.counts, self.means, self.variances))
        part = torch.multinomial(counts[labels], 1, generator=draw)[:, 0]
        noise = torch.randn(len(labels), means.shape[-1], generator=draw)
        return (means[labels, part] + variances[labels, part].sqrt() * noise) / self.spread


def release_mixture(config: P3GMConfig, data: Records, state: State, step: int) -> None:
    """Noisy sums (classes, K, 1 + 2 k) of responsibilities, and of these times projections and their squares."""
    noise, norm, latent = config.mixture.noise_multiplier, math.sqrt(3.0), config.components.number
    assert noise is not None
    shape = tuple(state.tensors["sums"].shape)
    projection = Projection.of(config, state, latent)
    before = Gaussians.first((*shape[:2], latent)) if step == 1 else Gaussians.of(state)
    grid = Grid(noise * norm, norm, state.facts.num_records)
    total = np.zeros((shape[0], shape[1] * shape[2]), np.int64)
    for part in chunks(data):
        projections, labels = projection.projected_records(part), labels_of(part)
        added = joint_vectors(projections, before.responsibilities(projections, labels))
        np.add.at(total, labels, grid.truncated(added) * part.mask[:, None])
    keep_array(state, "sums", state.randomness.release(MIXTURE, step, total, grid).reshape(shape))


def joint_vectors(projections: np.ndarray, shared: np.ndarray) -> np.ndarray:
    """Responsibilities (N, K), and these times projections (N, k) and their squares, side by side: (N, K (1 + 2 k))."""
    beside = np.concatenate([np.ones((len(projections), 1)), projections, projections**2], axis=1)
    return (shared[:, :, None] * beside[:, None, :]).reshape(len(projections), -1)


def one_hot(labels: Tensor, state: State) -> Tensor:
    """Classes (N,) as float32 (N, classes)."""
    return nn.functional.one_hot(labels, max(state.facts.num_classes, 1)).float()


def model_of(state: State) -> Autoencoder:
    """The autoencoder."""
    model = state.modules["autoencoder"]
    assert isinstance(model, Autoencoder)
    return model


def learn_released(config: P3GMConfig, state: State) -> Iterator[Step]:
    """The decoder learns what centre and components make of draws of the mixture: no record is looked at."""
    projection, mixture = Projection.of(config, state, config.components.number), Gaussians.of(state)
    axes = torch.from_numpy(projection.axes).float() * mixture.spread * config.components.max_norm
    assert projection.reading.origins is not None
    centre, classes = torch.from_numpy(projection.reading.origins[0]).float(), max(state.facts.num_classes, 1)

    def loss(step: int) -> Tensor:
        draw = state.randomness.torch_generator(f"{DECODER} batch", step)
        labels = torch.randint(classes, (config.decoder.batch_size,), generator=draw)
        latents = mixture.drawn_latents(labels, draw)
        images = (centre + latents @ axes.T).clamp(0.0, 1.0)
        decoded = model_of(state).decode(latents.to(state.device), one_hot(labels, state).to(state.device))
        return (decoded - images.to(state.device)).square().sum(dim=1).mean()

    yield from OrdinaryTrainer(config.decoder, DECODER, state, loss, private=False).run()


def learn_records(config: P3GMConfig, data: Records, state: State) -> Iterator[Step]:
    """DP-SGD on squared error and divergence from the mixture of the record's class."""
    if state.steps.get(DP_SGD, 0) == config.training.steps:
        return
    model, latent, mixture = model_of(state), config.components.number, Gaussians.of(state)
    tables = (mixture.counts / mixture.counts.sum(1, keepdims=True), mixture.means / mixture.spread, mixture.variances / mixture.spread**2)
    shares, means, variances = (torch.from_numpy(table).float().to(state.device) for table in tables)

    def draw(part: Microbatch) -> tuple[Tensor]:
        return (part.normal((latent,)),)

    def inputs(image: Tensor, mean: Tensor, classes: Tensor, noise: Tensor) -> tuple[Tensor, ...]:
        return image, mean, classes, noise

    def loss(output: Tensor, image: Tensor, mean: Tensor, classes: Tensor, _noise: Tensor) -> Tensor:
        decoded, logarithms = output[:, : image.shape[1]], output[:, image.shape[1] :]
        mine = [torch.einsum("bc,c...->b...", classes, table) for table in (shares, means, variances)]
        return (decoded - image).square().sum(dim=1) + config.autoencoder.divergence * divergence(mean, logarithms, *mine)

    def losses(batch: tuple[Tensor, ...]) -> RowLosses:
        return RowLosses(model, batch, draw, inputs, loss)

    entries = entries_of(config, data, mixture.spread, state)
    yield from PrivateTraining(config.training, DP_SGD, model, state, entries, losses, present=data.mask).run()


def divergence(mean: Tensor, logarithms: Tensor, shares: Tensor, means: Tensor, variances: Tensor) -> Tensor:
    """-log sum_k share_k exp(-KL(N(mean, e^logarithms) || N(means_k, variances_k))), (B,): an upper bound of the divergence."""
    ratio = (logarithms.exp()[:, None] + (mean[:, None] - means) ** 2) / variances
    apart = 0.5 * (ratio - 1.0 + variances.log() - logarithms[:, None]).sum(dim=2)
    return -torch.logsumexp(shares.log() - apart, dim=1)


def entries_of(config: P3GMConfig, data: Records, spread: float, state: State) -> tuple[Tensor, ...]:
    """Images (N, D) in [0, 1], averaged over squares, their projections in units of the spread, and one-hot classes."""
    projection = Projection.of(config, state, config.components.number)
    images = np.concatenate([vectors(part, config.pooling) for part in chunks(data)])
    means = np.concatenate([projection.projected_records(part) for part in chunks(data)]) / spread
    classes = one_hot(torch.from_numpy(labels_of(data)), state)
    return tuple(part.float().to(state.device) for part in (torch.from_numpy(images), torch.from_numpy(means), classes))


def sample(config: P3GMConfig, state: State, request: SampleRequest) -> Records:
    """Decoded draws of the mixtures of the classes asked for."""
    labels = request.label_array(state.facts.num_classes)
    rows = torch.from_numpy(np.zeros(request.num_samples, np.int64) if labels is None else labels)
    latents = Gaussians.of(state).drawn_latents(rows, state.randomness.torch_generator(request.purpose))
    with torch.no_grad():
        images = model_of(state).decode(latents.to(state.device), one_hot(rows, state).to(state.device)).cpu()
    images = images.view(-1, *config.pooled_shape(state.facts))
    if config.pooling > 1:
        images = nn.functional.interpolate(images, size=state.facts.shape[1:], mode="bilinear", align_corners=False)
    return Records(to_uint8(2.0 * images.numpy() - 1.0), labels)
