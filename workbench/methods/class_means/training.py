"""The two releases, sums on a public grid with noise in integers, and what is drawn around their quotients."""

from collections.abc import Iterator

import numpy as np
import torch

from workbench.datasets.base import DatasetFacts, to_uint8
from workbench.errors import WorkbenchError
from workbench.methods.class_means.method import ClassMeansConfig
from workbench.methods.class_moments.method import COUNTS, SUMS
from workbench.methods.class_moments.training import (
    LEAST_COUNT,
    LEAST_NORM,
    chunks,
    class_share_of_noise,
    labels_of,
    shares_of_noise,
    vectors,
)
from workbench.models.label_shares import labels_by
from workbench.models.sample_request import SampleRequest
from workbench.records import Records
from workbench.training.grid import Grid
from workbench.training.state import State, Step


def initial_state(config: ClassMeansConfig, facts: DatasetFacts, state: State) -> State:
    """Room for the releases."""
    classes = max(facts.num_classes, 1)
    shapes: dict[str, tuple[int, ...]] = {"norm": (), "sums": (classes, facts.dimensions), "counts": (classes,)}
    state.tensors = {name: torch.zeros(shape, dtype=torch.float64, device=state.device) for name, shape in shapes.items()}
    return state


def fit(config: ClassMeansConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """Release each of the two once, recorded as spent before a record is read; images clipped as public ones or the configuration say."""
    norm = clipping_norm(config, public)
    state.tensors["norm"] = torch.tensor(norm, dtype=torch.float64, device=state.device)
    for stage, tensor, largest in ((SUMS, "sums", norm), (COUNTS, "counts", 1.0)):
        if state.steps.get(stage, 0) == 0:
            state.spend(stage, 1)
            grid = Grid(config.multiplier(stage) * largest, largest, state.facts.num_records)
            shape = (*state.tensors["sums"].shape,) if stage == SUMS else (*state.tensors["counts"].shape, 1)
            total = np.zeros(shape, np.int64)
            for part in chunks(data):
                added = vectors(part, 1) if stage == SUMS else np.ones((len(part), 1))
                np.add.at(total, labels_of(part), grid.truncated(added) * part.mask[:, None])
            released = state.randomness.release(stage, 1, total, grid)
            state.tensors[tensor] = torch.from_numpy(released).reshape(state.tensors[tensor].shape).to(state.device)
            state.steps[stage] = 1
            yield Step(stage, 1, 1)


def clipping_norm(config: ClassMeansConfig, public: Records | None) -> float:
    """The norm that is given, or the quantile of the public images' norms, at least LEAST_NORM."""
    if config.max_norm:
        return config.max_norm
    if public is None:
        raise WorkbenchError(f"Expected public images of {config.dataset!r} to take the clipping norm from, got none. Give a max_norm.")
    norms = np.concatenate([np.linalg.norm(vectors(part, 1), axis=1) for part in chunks(public)])
    return max(LEAST_NORM, float(np.quantile(norms, config.quantile)))


def means_of(state: State) -> tuple[np.ndarray, np.ndarray]:
    """The noisy means (classes, D), and the noisy counts (classes,) that they were divided by, none of them next to nothing."""
    counts = state.tensors["counts"].cpu().numpy()
    counts = np.maximum(counts, LEAST_COUNT * state.facts.num_records / len(counts))
    return state.tensors["sums"].cpu().numpy() / counts[:, None], counts


def sample(config: ClassMeansConfig, state: State, request: SampleRequest) -> Records:
    """Their class's mean with a spread in every pixel."""
    counts, draw = state.tensors["counts"].cpu().numpy(), state.randomness.stream(f"{request.purpose}, labels")
    labels = labels_by(config.labels, request, state.facts.num_classes, counts, draw)
    rows = np.zeros(request.num_samples, np.int64) if labels is None else labels
    means, _ = means_of(state)
    noise = torch.randn(len(rows), means.shape[1], generator=state.randomness.torch_generator(request.purpose), dtype=torch.float64)
    images = means[rows] + config.spread * noise.numpy()
    return Records(to_uint8(2.0 * images.reshape(-1, *state.facts.shape) - 1.0), labels)


def noise_share(config: ClassMeansConfig, state: State) -> float:
    """Of how the noisy means differ from their own mean; of one class, of the mean itself."""
    noisy = noisy_means(config, state)
    share = class_share_of_noise(*noisy)
    return shares_of_noise(*noisy)[0] if share is None else share


def noise_by_class(config: ClassMeansConfig, state: State) -> tuple[float, ...]:
    """Of each class's noisy mean."""
    return shares_of_noise(*noisy_means(config, state))


def noisy_means(config: ClassMeansConfig, state: State) -> tuple[np.ndarray, np.ndarray]:
    """The noisy means (classes, D), and the variance (classes,) of the noise on each of their numbers."""
    means, counts = means_of(state)
    return means, (config.multiplier(SUMS) * float(state.tensors["norm"]) / counts) ** 2
