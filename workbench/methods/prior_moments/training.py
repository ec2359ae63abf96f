"""The prior of public images, the releases, and what is believed of them, after Morris 1983.

The prior is each class's mean and the covariance within classes of public images; it costs no privacy. The classes' differences from
their public means are taken to be normal of covariance a S + b I, S the public covariance and a, b of the greatest marginal likelihood:
as much is believed of a release as this width says. The covariance within classes moves from S as far as a James-Stein factor lets it.
"""

from collections.abc import Iterator

import numpy as np
import torch
from scipy.optimize import minimize
from scipy.stats import chi2

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.class_moments import SECOND_MOMENT, ClassMomentsConfig
from workbench.methods.class_moments import training as class_moments
from workbench.methods.class_moments.method import numbers
from workbench.methods.class_moments.training import (
    RecordTransform,
    chunks,
    counts_of,
    deviation_of_second_moment,
    deviation_of_sums,
    drawn_images,
    labels_of,
    quantile_of_norms,
    root,
    share_of_noise,
    vectors,
    within,
)
from workbench.methods.prior_moments.method import PRIOR, PriorMomentsConfig
from workbench.models.sample_request import SampleRequest
from workbench.records import Records
from workbench.training.state import State, Step

LEAST_WIDTH = 1e-12  # of a prior's variance: its logarithm is what is searched for
SURE = 0.975
STARTS = (1e-4, 1e-1, 1e1)  # of both widths, over the public variance


def initial_state(config: PriorMomentsConfig, facts: DatasetFacts, state: State) -> State:
    """Room for the prior, the clipping norm and the releases."""
    state = class_moments.initial_state(config, facts, state)
    dimensions = config.dimensions(facts)
    shapes = {"public_means": (max(facts.num_classes, 1), dimensions), "public_covariance": (dimensions, dimensions)}
    state.tensors |= {name: torch.zeros(shape, dtype=torch.float64, device=state.device) for name, shape in shapes.items()}
    return state


def fit(config: PriorMomentsConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """Take the prior from public images; release how the records differ from it."""
    if state.steps.get(PRIOR, 0) == 0:
        learn(config, public, state)
        state.steps[PRIOR] = 1
        yield Step(PRIOR, 1, 1, private=False)
    yield from class_moments.release_all(config, data, record_transform(config, state), state)


def sample(config: PriorMomentsConfig, state: State, request: SampleRequest) -> Records:
    """Images of the Gaussian of their class; source 'public' takes the prior's."""
    means, covariance = prior(state) if request.source == "public" else posterior(config, state)
    return drawn_images(config, means, root(covariance), state, request)


def noise_share(config: PriorMomentsConfig, state: State) -> float:
    """Of the posterior's covariance."""
    return share_of_noise(posterior(config, state)[1])


def learn(config: ClassMomentsConfig, public: Records | None, state: State) -> None:
    """Put the prior and the clipping norm of public images into the state; images without labels give every class one mean."""
    if public is None:
        raise WorkbenchError(f"Expected public images of {config.dataset!r} to take the prior from, got none.")
    means = means_of(public, state.tensors["public_means"].shape[0], config)
    centred = RecordTransform(norm=np.inf, pooling=config.pooling, origins=means)
    covariance = sum(vectors_of_part.T @ vectors_of_part for vectors_of_part in map(centred.vectors, chunks(public))) / len(public)
    norm = config.max_norm or quantile_of_norms(config, centred, public)
    for name, value in {"norm": norm, "public_means": means, "public_covariance": covariance}.items():
        state.tensors[name] = torch.as_tensor(value, dtype=torch.float64, device=state.device)


def means_of(public: Records, classes: int, config: ClassMomentsConfig) -> np.ndarray:
    """The mean (classes, D) of the public images of each class, or of all of them where they have no labels."""
    sums, counts = np.zeros((classes, 1)), np.zeros((classes, 1))
    for part in chunks(public):
        pooled = vectors(part, config.pooling)
        shown = np.ones((classes, len(part))) if public.labels is None else np.arange(classes)[:, None] == labels_of(part)
        sums, counts = sums + shown @ pooled, counts + shown.sum(1, keepdims=True)
    if (counts == 0).any():
        raise WorkbenchError(f"Expected public images of every class in {config.dataset}, got none of one. Use more records.")
    return sums / counts


def record_transform(config: ClassMomentsConfig, state: State) -> RecordTransform:
    """How private records are read: as differences from their class's public mean."""
    means, _ = prior(state)
    return RecordTransform(float(state.tensors["norm"]), config.pooling, means)


def prior(state: State) -> tuple[np.ndarray, np.ndarray]:
    """Means (classes, D) and covariance (D, D) of the prior."""
    return state.tensors["public_means"].cpu().numpy(), state.tensors["public_covariance"].cpu().numpy()


def posterior(config: ClassMomentsConfig, state: State) -> tuple[np.ndarray, np.ndarray]:
    """Means (classes, D) and covariance (D, D) of the posterior."""
    public_means, public_covariance = prior(state)
    counts, norm = counts_of(state), float(state.tensors["norm"])
    noise = (deviation_of_sums(config, norm) / counts[:, None]) ** 2
    noisy_means = state.tensors["sums"].cpu().numpy() / counts[:, None]
    shifts = posterior_mean(noisy_means, noise, public_covariance)
    count = numbers(config, state.facts, SECOND_MOMENT)
    deviation = deviation_of_second_moment(config, norm, count) / state.facts.num_records
    change = within(state, shifts, counts) - public_covariance
    return public_means + shifts, public_covariance + shrinkage(change, deviation, count) * change


def posterior_mean(noisy: np.ndarray, noise: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """The posterior mean (classes, D) of differences found with noise of variance (classes, 1), by a prior along the covariance."""
    variances, directions = np.linalg.eigh(covariance)
    variances, turned = np.maximum(variances, 0.0), noisy @ directions
    along, alike = likeliest(turned, noise, variances)
    width = along * variances + alike
    return (turned * (width / (width + noise))) @ directions.T


def likeliest(noisy: np.ndarray, noise: np.ndarray, variances: np.ndarray) -> tuple[float, float]:
    """a and b of the prior N(0, a variances + b) that make `noisy` (classes, D), with noise on it, likeliest."""
    scale = max(float(variances.mean()), LEAST_WIDTH)
    squares = noisy**2

    def surprise(logarithms: np.ndarray) -> tuple[float, np.ndarray]:
        along, alike = np.exp(logarithms)
        total = along * variances + alike * scale + noise
        slope = (1.0 - squares / total) / total
        return float((np.log(total) + squares / total).sum()), np.array([along * (slope * variances).sum(), alike * scale * slope.sum()])

    starts = [np.log([along, alike]) for along in STARTS for alike in STARTS]
    bounds = [(np.log(LEAST_WIDTH), np.log(1e6))] * 2
    found_all = [minimize(surprise, start, jac=True, method="L-BFGS-B", bounds=bounds) for start in starts]
    along, alike = np.exp(min(found_all, key=lambda one: one.fun).x)
    return float(along), float(alike * scale)


def shrinkage(change: np.ndarray, deviation: float, count: int) -> float:
    """How much of a change is believed whose `count` numbers have noise of this deviation: at least 0 (James and Stein 1961).

    1 less the squared norm that noise alone stays below in 39 of 40 cases, over the change's own.
    """
    noise, moved = deviation**2 * float(chi2.ppf(SURE, count)), float((change**2).sum())
    return 1.0 - noise / moved if moved > noise else 0.0
