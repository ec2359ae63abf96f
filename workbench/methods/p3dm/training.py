"""P3DM's training: triples, score network, classifier, and the noise that one model's samples determine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, log_softmax

from workbench import networks
from workbench.datasets.base import DatasetFacts, to_unit_range
from workbench.diffusion.langevin import Displacement, noise_levels
from workbench.methods.p3dm.method import CLASSIFIER, DETERMINATION, P3DMConfig, values
from workbench.models.recovery import scores, triples
from workbench.models.sample_request import SampleRequest
from workbench.privacy.not_dp.pac import PacNoise, deterministic_noise
from workbench.records import Records
from workbench.training.entries import Images
from workbench.training.microbatch import Microbatch
from workbench.training.ordinary_training import OrdinaryTrainer
from workbench.training.private_training import PrivateTraining
from workbench.training.row_losses import RowLosses
from workbench.training.state import State, Step


def initial_state(config: P3DMConfig, facts: DatasetFacts, state: State) -> State:
    """The score network, its moving average, the classifier, an Adam each, and room for triples."""
    scores.initial_state(config, facts, state)
    add_classifier(config, state)
    return state


def fit(config: P3DMConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """Each stage from where it stands."""
    yield from triples.release(config, data, noise_levels(config.langevin, state.facts.dimensions), state)
    yield from scores.trainer(config, state).run()
    if config.is_guided:
        yield from train_classifier(config, data, state)
    if config.pac_samples and not state.steps.get(DETERMINATION, 0):
        noise = pac_noise(config, state, SampleRequest(config.pac_samples, purpose=DETERMINATION))
        state.steps[DETERMINATION] = 1
        yield Step(DETERMINATION, 1, 1, {"mean norm of the noise": noise.mean_norm})


def sample(config: P3DMConfig, state: State, request: SampleRequest) -> Records:
    """Images steered to values drawn at random, which they carry; unsteered at scale 0, and without values in the code's form."""
    reverse = config.guidance.step == "reverse"
    if not config.is_guided:
        return scores.draw_samples(config, state, request, reverse=reverse)
    wanted = drawn_values(config, state, request)
    drawn = scores.draw_samples(config, state, request, guide(config, state, wanted), reverse)
    if config.guidance.form == "code":
        return drawn
    return replace(drawn, attributes={config.attribute: wanted}) if config.attribute else replace(drawn, labels=wanted)


def pac_noise(config: P3DMConfig, state: State, request: SampleRequest) -> PacNoise:
    """Algorithm 3 on samples of the one model there is: what it measures is the sampler's spread, and its labels say so."""
    outputs = to_unit_range(sample(config, state, request).records).reshape(request.num_samples, -1).astype(np.float64)
    return deterministic_noise(outputs, radius=float(np.sqrt(outputs.shape[1])), redrawn=False)


def add_classifier(config: P3DMConfig, state: State) -> None:
    """Put the classifier and its Adam into `state`."""
    channels, height, width = state.facts.shape
    outputs = len(values(config, state.facts))
    draw = state.randomness.torch_generator("initialisation of the classifier")
    classifier = networks.initialized(lambda: networks.NoisyClassifier((channels, height, width), outputs), draw).to(state.device)
    settings = config.private if config.classifier == "dp-sgd" else config.unprotected
    state.modules[CLASSIFIER] = classifier
    state.optimizers[CLASSIFIER] = torch.optim.Adam(classifier.parameters(), lr=settings.learning_rate)


def truth(config: P3DMConfig, data: Records) -> np.ndarray:
    """What the classifier is to tell, int64 (N,)."""
    values = data.attributes[config.attribute] if config.attribute else data.labels
    return np.zeros(len(data), np.int64) if values is None else values


def noisy_inputs(images: Tensor, noise: Tensor, at: Tensor, levels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """What a classifier is given of images (B, C, H, W) at positions (B,) of levels: them noised and scaled, the position, no label."""
    sigma = levels[at].reshape(-1, 1, 1, 1)
    return (images + sigma * noise) / (1 + sigma.square()).sqrt(), at, torch.zeros_like(at)


def train_classifier(config: P3DMConfig, data: Records, state: State) -> Iterator[Step]:
    """All its steps, from where they stand."""
    levels = torch.tensor(noise_levels(config.langevin, state.facts.dimensions), dtype=torch.float32, device=state.device)
    images, classes = Images(data, state.device), torch.from_numpy(truth(config, data)).to(state.device)
    classifier, shape = state.modules[CLASSIFIER], state.facts.shape

    def ordinary(step: int) -> Tensor:
        draw, count = state.randomness.torch_generator(f"{CLASSIFIER} batch", step), config.unprotected.batch_size
        index = torch.randint(len(images), (count,), generator=draw).to(state.device)
        at = torch.randint(len(levels), (count,), generator=draw).to(state.device)
        noise = torch.randn((count, *shape), generator=draw).to(state.device)
        present = torch.from_numpy(data.mask).to(state.device)[index]
        logits = classifier(*noisy_inputs(images[index], noise, at, levels))
        return (cross_entropy(logits, classes[index], reduction="none") * present).mean()

    def private(batch: tuple[Tensor, ...]) -> RowLosses:
        def draw(part: Microbatch) -> tuple[Tensor, Tensor]:
            return part.integers(0, len(levels)), part.normal(shape)

        def inputs(image: Tensor, _value: Tensor, at: Tensor, noise: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            return noisy_inputs(image, noise, at, levels)

        def loss(logits: Tensor, _image: Tensor, value: Tensor, _at: Tensor, _noise: Tensor) -> Tensor:
            return cross_entropy(logits, value, reduction="none")

        return RowLosses(classifier, batch, draw, inputs, loss)

    if config.classifier == "dp-sgd":
        yield from PrivateTraining(config.private, CLASSIFIER, classifier, state, (images, classes), private, present=data.mask).run()
    else:
        yield from OrdinaryTrainer(config.unprotected, CLASSIFIER, state, ordinary, private=True).run()


def drawn_values(config: P3DMConfig, state: State, request: SampleRequest) -> np.ndarray:
    """y of each sample, int64 (num_samples,), drawn evenly once and kept (Algorithm 1, line 1); of classes, the label asked for.

    In the code's form it is always 0.
    """
    if config.guidance.form == "code":
        return np.zeros(request.num_samples, np.int64)
    labels = request.label_array(state.facts.num_classes)
    if not config.attribute and labels is not None:
        return labels
    stream = state.randomness.stream(f"{request.purpose}: guidance")
    return stream.integers(0, len(values(config, state.facts)), request.num_samples)


def guide(config: P3DMConfig, state: State, wanted: np.ndarray) -> Callable[[slice], Displacement]:
    """What steers the samples of a request at their places towards (or, in the code's form, away from) `wanted` (num_samples,)."""
    levels = torch.tensor(noise_levels(config.langevin, state.facts.dimensions), dtype=torch.float32, device=state.device)
    form = FORMS[config.guidance.form]

    def of_place(place: slice) -> Displacement:
        targets = torch.from_numpy(wanted[place]).to(state.device)

        def displacement(x: Tensor, position: int, variance: float) -> Tensor:
            gradient = log_gradient(state.modules[CLASSIFIER], x, position, levels, targets)
            return form(gradient, config.guidance.scale, variance)

        return displacement

    return of_place


def log_gradient(classifier: nn.Module, x: Tensor, position: int, levels: Tensor, targets: Tensor) -> Tensor:
    """The gradient by x (B, C, H, W) of log c(y | x) at one level, y = `targets` (B,)."""
    with torch.enable_grad():
        leaf = x.detach().requires_grad_()
        at = torch.full((len(x),), position, dtype=torch.int64, device=x.device)
        logits = classifier(*noisy_inputs(leaf, torch.zeros_like(leaf), at, levels))
        judged = log_softmax(logits, dim=1).gather(1, targets[:, None]).sum()
        (gradient,) = torch.autograd.grad(judged, leaf)
    return gradient


def paper_form(gradient: Tensor, scale: float, variance: float) -> Tensor:
    """k Sigma grad log c(y|x): Algorithm 1's term, Sigma = `variance` I of the step's own noise, y drawn at random and fixed."""
    return scale * variance * gradient


def code_form(gradient: Tensor, scale: float, _variance: float) -> Tensor:
    """k grad CE(c(x), y) = -k grad log c(y|x), y always 0: the published code, which leads away from y and has no Sigma."""
    return -scale * gradient


FORMS = {"paper": paper_form, "code": code_form}
