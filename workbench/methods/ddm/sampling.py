"""Rows by the reverse chain of the averaged denoiser, their class from the same chain."""

from dataclasses import replace

import numpy as np
import torch

from workbench.diffusion.discrete import Denoise, denoiser, generate
from workbench.diffusion.discrete import bound_terms as discrete_bound_terms
from workbench.errors import WorkbenchError
from workbench.methods.ddm.config import DDMConfig
from workbench.methods.ddm.training import diffusion, entries
from workbench.models.sample_request import SampleRequest
from workbench.models.table_columns import records
from workbench.networks import ExponentialMovingAverage
from workbench.records import Records
from workbench.training.state import State

SAMPLE_BATCH = 4_000
MOST_BATCHES = 100  # of rows drawn for a class that is asked for


def sample(config: DDMConfig, state: State, request: SampleRequest) -> Records:
    """Rows as the model draws them, classes in the shares that it learned; of classes that are asked for, those rows alone."""
    labels = request.asked_labels(state.facts.num_classes)
    if labels is not None:
        return records(state.facts, of_classes(config, state, replace(request, labels=labels), labels), request)
    found = np.concatenate([batch(config, state, request, number) for number in range(-(-request.num_samples // SAMPLE_BATCH))])
    return records(state.facts, found[: request.num_samples], request)


def of_classes(config: DDMConfig, state: State, request: SampleRequest, labels: np.ndarray) -> np.ndarray:
    """Rows of the model whose class is the one asked for at each place, drawn until there are enough: (N, n)."""
    missing = np.bincount(labels, minlength=state.facts.num_classes)
    kept: dict[int, list[np.ndarray]] = {label: [] for label in np.flatnonzero(missing).tolist()}
    for number in range(MOST_BATCHES):
        drawn = batch(config, state, request, number)
        for label, parts in kept.items():
            chosen = drawn[drawn[:, -1] == label][: missing[label]]
            missing[label] -= len(chosen)
            parts.append(chosen)
        if not missing.any():
            break
    else:
        name = state.facts.classes[int(missing.argmax())]
        tried = MOST_BATCHES * SAMPLE_BATCH
        raise WorkbenchError(f"Expected rows of class {name!r}, got too few in {tried} that the model drew. Ask for no class.")
    found = np.empty((len(labels), state.facts.dimensions + 1), np.int64)
    for label, parts in kept.items():
        found[labels == label] = np.concatenate(parts)
    return found


def batch(config: DDMConfig, state: State, request: SampleRequest, number: int) -> np.ndarray:
    """The request's `number`-th batch of rows with their class: int64 (SAMPLE_BATCH or all that are asked for, n)."""
    generator = state.randomness.torch_generator(request.purpose, number, state.device)
    process = diffusion(config, state.facts)
    count = SAMPLE_BATCH if request.labels is not None else min(SAMPLE_BATCH, request.num_samples - number * SAMPLE_BATCH)
    with state.performance.autocast(state.device):
        found = generate(averaged_denoiser(config, state), process, count, generator, release_time=config.release_time)
    return found.cpu().numpy()


def bound_terms(config: DDMConfig, state: State, data: Records, seed: int) -> dict[str, np.ndarray]:
    """Each term of the bound for every record, in nats, float64 (N,)."""
    process, denoise = diffusion(config, state.facts), averaged_denoiser(config, state)
    generator = torch.Generator(state.device).manual_seed(seed)
    parts = [discrete_bound_terms(denoise, process, part, generator) for part in entries(data, state).split(SAMPLE_BATCH)]
    return {name: torch.cat([part[name] for part in parts]).double().cpu().numpy() for name in parts[0]}


def averaged_denoiser(config: DDMConfig, state: State) -> Denoise:
    """What the moving average of the weights says of clean records."""
    ema = state.modules["ema"]
    assert isinstance(ema, ExponentialMovingAverage)
    return denoiser(diffusion(config, state.facts), ema.module)
