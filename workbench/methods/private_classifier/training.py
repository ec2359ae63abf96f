"""The steps: features by public images, noisy gradients of all records, and public images that the classifier labels."""

from collections.abc import Iterator

import numpy as np
import torch

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.class_moments.training import labels_of
from workbench.methods.private_classifier.method import FEATURES, GRADIENTS, LABELLED, PrivateClassifierConfig, multiplier
from workbench.methods.private_classifier.scattering import Scattering
from workbench.models.sample_request import SampleRequest
from workbench.models.selection.selector import Images
from workbench.records import Records
from workbench.training.grid import Grid
from workbench.training.state import State, Step

CONSTANT = 0.3  # beside features of norm 1, for the classes' shares
LEAST_VARIANCE = 1e-4  # of the widest component's, as which narrower ones are taken


def scattering_of(config: PrivateClassifierConfig, facts: DatasetFacts) -> Scattering:
    """The transform of the facts' images."""
    return Scattering((facts.shape[1], facts.shape[2]), config.octaves, config.orientations, config.cells)


def learn(config: PrivateClassifierConfig, scattered: np.ndarray, state: State) -> None:
    """Put into the state what public images' scattering (N, F) says of features: their mean, and the scaled axes (F, k)."""
    origin, spread = scattered.mean(axis=0), scattered.std(axis=0)
    scale = 1.0 / np.maximum(spread, max(float(spread.max()), 1e-12) * 1e-3)
    centred = (scattered - origin) * scale
    variances, axes = np.linalg.eigh(centred.T @ centred / len(centred))
    kept = slice(len(variances) - config.used_components(state.facts), None)
    widths = np.maximum(variances[kept], max(float(variances[-1]), 1e-12) * LEAST_VARIANCE) ** (config.whitening / 2)
    turned = scale[:, None] * axes[:, kept] / widths
    radius = float(np.median(np.linalg.norm((scattered - origin) @ turned, axis=1)))
    state.tensors["origin"] = torch.from_numpy(origin).to(state.device)
    state.tensors["axes"] = torch.from_numpy(turned / max(radius, 1e-12)).to(state.device)


def component_features(scattered: np.ndarray, state: State) -> np.ndarray:
    """Features (N, k + 1) of scattering (N, F): the components, cut to norm 1, and a constant."""
    origin, axes = (state.tensors[name].cpu().numpy() for name in ("origin", "axes"))
    components = (scattered - origin) @ axes
    components /= np.maximum(1.0, np.linalg.norm(components, axis=1, keepdims=True))
    return np.concatenate([components, np.full((len(components), 1), CONSTANT)], axis=1)


CHUNK = 64  # records whose gradients are held at once, in the processor's cache


def initial_state(config: PrivateClassifierConfig, facts: DatasetFacts, state: State) -> State:
    """Room for the features' scales, the noisy gradients and the public images that are kept."""
    classes, numbers, kept = max(facts.num_classes, 1), config.numbers_of_features(facts), config.used_components(facts)
    shapes = {"origin": (numbers,), "axes": (numbers, kept), "gradients": (config.steps, kept + 1, classes)}
    state.tensors = {name: torch.zeros(shape, dtype=torch.float64, device=state.device) for name, shape in shapes.items()}
    state.modules["labelled_images"] = Images((classes, config.kept_images(facts), *facts.shape)).to(state.device)
    return state


def fit(config: PrivateClassifierConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """Each stage in turn, from wherever the state stands."""
    if public is None:
        raise WorkbenchError(f"Expected public images of {config.dataset!r} to scale features by and to label, got none.")
    scatter = scattering_of(config, state.facts)
    scattered = scatter(public.records) if state.steps.get(LABELLED, 0) == 0 else np.zeros((0, 0))
    if state.steps.get(FEATURES, 0) == 0:
        learn(config, scattered, state)
        state.steps[FEATURES] = 1
        yield Step(FEATURES, 1, 1, private=False)
    features: np.ndarray | None = None
    for step in range(state.steps.get(GRADIENTS, 0) + 1, config.steps + 1):
        state.spend(GRADIENTS, step)
        features = component_features(scatter(data.records), state) if features is None else features
        release(config, features, data, state, step)
        state.steps[GRADIENTS] = step
        yield Step(GRADIENTS, step, config.steps)
    if state.steps.get(LABELLED, 0) == 0:
        choose(public.records, component_features(scattered, state) @ classifier(config, state), state)
        state.steps[LABELLED] = 1
        yield Step(LABELLED, 1, 1, private=False)


def release(config: PrivateClassifierConfig, features: np.ndarray, data: Records, state: State, step: int) -> None:
    """The noisy sum of the records' gradients of cross-entropy on features (N, k + 1), at the weights after the steps before."""
    weights = trajectory(config, state)[step - 1]
    grid = Grid(multiplier(config) * config.max_grad_norm, config.max_grad_norm, state.facts.num_records)
    total = np.zeros(weights.shape, np.int64)
    for start in range(0, len(data), CHUNK):
        part = slice(start, start + CHUNK)
        total += gradients(features[part], labels_of(data)[part], data.mask[part], weights, grid)
    noisy = state.randomness.release(GRADIENTS, step, total, grid)
    state.tensors["gradients"][step - 1] = torch.from_numpy(noisy).to(state.device)


def trajectory(config: PrivateClassifierConfig, state: State) -> np.ndarray:
    """Weights (steps + 1, k + 1, classes) from zero on, each a move down the noisy mean gradient from the one before.

    A move repeats a part of the one before it (Polyak 1964).
    """
    moves = -config.learning_rate / state.facts.num_records * state.tensors["gradients"].cpu().numpy()
    for step in range(1, config.steps):
        moves[step] += config.momentum * moves[step - 1]
    return np.concatenate([np.zeros_like(moves[:1]), np.cumsum(moves, axis=0)])


def classifier(config: PrivateClassifierConfig, state: State) -> np.ndarray:
    """The weights (k + 1, classes) averaged over the last steps."""
    return trajectory(config, state)[-config.averaged_steps :].mean(axis=0)


def gradients(features: np.ndarray, labels: np.ndarray, mask: np.ndarray, weights: np.ndarray, grid: Grid) -> np.ndarray:
    """The sum (k + 1, classes) of the records' clipped gradients in steps of the grid; each is made by products of its own."""
    residuals = chances((features[:, None] @ weights)[:, 0])
    residuals[np.arange(len(features)), labels] -= 1.0
    each = (features[:, :, None] * residuals[:, None, :]).reshape(len(features), -1)
    return (grid.truncated(each) * mask[:, None]).sum(axis=0).reshape(weights.shape)


def chances(scores: np.ndarray) -> np.ndarray:
    """Softmax (N, classes) of scores."""
    grown = np.exp(scores - scores.max(axis=1, keepdims=True))
    return grown / grown.sum(axis=1, keepdims=True)


def choose(images: np.ndarray, scores: np.ndarray, state: State) -> None:
    """Keep the public images (N, C, H, W) whose score for a class, of (N, classes), is farthest above any other, so many of each."""
    module = state.modules["labelled_images"]
    assert isinstance(module, Images)
    classes, kept = module.images.shape[:2]
    for label in range(classes):
        others = np.delete(scores, label, axis=1).max(axis=1) if classes > 1 else np.zeros(len(scores))
        surest = np.argsort(others - scores[:, label], kind="stable")[:kept]
        module.images[label] = torch.from_numpy(images[np.resize(surest, kept)]).to(state.device)


PART = 1_000


def sample(config: PrivateClassifierConfig, state: State, request: SampleRequest) -> Records:
    """Images that were kept of the classes asked for, drawn evenly."""
    labels = request.label_array(state.facts.num_classes)
    rows = np.zeros(request.num_samples, np.int64) if labels is None else labels
    module = state.modules["labelled_images"]
    assert isinstance(module, Images)
    generator = state.randomness.torch_generator(request.purpose)
    index = torch.randint(module.images.shape[1], (request.num_samples,), generator=generator)
    return Records(module.images[torch.from_numpy(rows), index].cpu().numpy(), labels)


def classify(config: PrivateClassifierConfig, state: State, records: Records) -> np.ndarray:
    """The class (N,) that the classifier gives each record."""
    scatter, weights = scattering_of(config, state.facts), classifier(config, state)
    parts = [records.take(slice(start, start + PART)) for start in range(0, len(records), PART)]
    classes = [(component_features(scatter(part.records), state) @ weights).argmax(axis=1) for part in parts]
    return np.concatenate(classes) if classes else np.zeros(0, np.int64)
