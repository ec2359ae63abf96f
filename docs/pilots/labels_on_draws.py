"""What a private classifier's labels make of the draws of cluster moments, within one bound: labels, soft labels, weights, mixtures.

`python -m docs.pilots.labels_on_draws --bound 1 --seed 0` prints a table: what is taught, and what a CNN on it tells of held-out records.
Half of mu^2 is for the draws and half for the classifier, where there is one. Nothing here looks at test records. It needs
Fashion-MNIST's IDX files in the folder that WORKBENCH_DATA names, and half an hour of a core.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from docs.pilots.asked import Asked
from workbench.datasets import Dataset
from workbench.datasets.base import to_unit_range
from workbench.evaluation.learners import BATCH_SIZE, LEARNING_RATE, STEPS, Classifier, build_cnn
from workbench.experiment import fit, make_plan, new_state, sample
from workbench.methods.private_classifier.training import chances, classifier, component_features, scattering_of
from workbench.plan import Plan
from workbench.privacy.accounting.gaussian import gdp_epsilon
from workbench.records import Records
from workbench.training.state import State

SAMPLES = 10_000
BETA = 0.4  # of the shares of a mixture of two draws (Zhang et al. 2018)


def trained(
    method: str, dataset: Dataset, mu: float, delta: float, seed: int, settings: Mapping[str, Any] | None = None
) -> tuple[Plan, State]:
    """A finished state of `method` at a Gaussian bound of `mu`."""
    plan = make_plan(method, dataset.facts, epsilon=gdp_epsilon(mu, delta), delta=delta, settings=settings)
    state = new_state(plan, seed=seed)
    for _ in fit(plan, dataset, state):
        pass
    return plan, state


def given_chances(plan: Plan, state: State, records: Records) -> np.ndarray:
    """The chance (N, classes) that the released classifier gives each class."""
    config = plan.build().config
    features = component_features(scattering_of(config, state.facts)(records.records), state)  # type: ignore[arg-type]
    return chances(features @ classifier(config, state))  # type: ignore[arg-type]


def accuracy(images: np.ndarray, targets: np.ndarray, weights: np.ndarray, held_out: Records, seed: int) -> float:
    """Of the CNN of `accuracy_cnn`, by its own steps and rates, taught targets (N, classes) with weights (N,)."""
    x, y, w = torch.from_numpy(images), torch.from_numpy(targets.astype(np.float32)), torch.from_numpy(weights.astype(np.float32))
    module, generator = build_cnn(images.shape[1:], targets.shape[1], seed), torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(module.parameters(), lr=LEARNING_RATE)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=STEPS)
    passes = math.ceil(STEPS * BATCH_SIZE / len(x))
    order = torch.cat([torch.randperm(len(x), generator=generator) for _ in range(passes)])
    for chosen in order[: STEPS * BATCH_SIZE].split(BATCH_SIZE):
        optimizer.zero_grad()
        losses = torch.nn.functional.cross_entropy(module(x[chosen]), y[chosen], reduction="none")
        (losses * w[chosen]).mean().backward()
        optimizer.step()
        schedule.step()
    told = Classifier(module.eval().requires_grad_(False)).predict(held_out)
    return float((told == held_out.labels).mean())


def mixed(images: np.ndarray, targets: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Each image and its target mixed with another's, by a share of the beta distribution."""
    draw = np.random.default_rng(seed)
    others, share = draw.permutation(len(images)), draw.beta(BETA, BETA, len(images)).astype(np.float32)
    share = np.maximum(share, 1 - share)
    pictures = share[:, None, None, None] * images + (1 - share)[:, None, None, None] * images[others]
    return pictures, share[:, None] * targets + (1 - share)[:, None] * targets[others]


def main() -> None:
    """The table, a row at a time."""
    asked = Asked.of_command_line(__doc__, bound=1.0)
    dataset, delta, mu = asked.dataset, asked.delta, asked.mu
    classes, held_out = dataset.facts.num_classes, dataset.held_out

    def drawn(part: float) -> tuple[np.ndarray, np.ndarray, Records]:
        plan, state = trained("cluster-moments", dataset, mu * math.sqrt(part), delta, asked.seed)
        records = sample(plan, state, SAMPLES)
        assert records.labels is not None
        return to_unit_range(records.records), np.eye(classes)[records.labels], records

    def show(what: str, *taught: np.ndarray) -> None:
        weights = taught[2] if len(taught) == 3 else np.ones(len(taught[0]))
        print(f"| {what} | {accuracy(taught[0], taught[1], weights, held_out, asked.seed):.3f} |", flush=True)

    print(f"{asked}\n\n| what is taught | accuracy |\n|---|---|")
    images, own, _ = drawn(1.0)
    show("draws with all of the budget, their own labels", images, own)
    show("mixtures of two of these, by their own labels", *mixed(images, own, asked.seed))
    images, own, records = drawn(0.5)
    show("draws with half of the budget, their own labels", images, own)
    plan, state = trained("private-classifier", dataset, mu * math.sqrt(0.5), delta, asked.seed)
    print(f"| (the classifier itself, of the other half) | {(plan.build().classify(state, held_out) == held_out.labels).mean():.3f} |")  # type: ignore[attr-defined]
    given = given_chances(plan, state, records)
    ways: dict[str, Callable[[], tuple[np.ndarray, ...]]] = {
        "the classifier's labels": lambda: (images, np.eye(classes)[given.argmax(axis=1)]),
        "its chances as soft labels": lambda: (images, given),
        "means of own and soft labels": lambda: (images, (own + given) / 2),
        "own labels, weighed by its chance of them": lambda: (images, own, weighed((own * given).sum(axis=1))),
        "own labels, weighed by its margin for them": lambda: (images, own, weighed(np.maximum(margins(own, given), 0.0))),
        "mixtures of two, by soft labels": lambda: mixed(images, given, asked.seed),
        "mixtures of two, by means of own and soft labels": lambda: mixed(images, (own + given) / 2, asked.seed),
    }
    for what, make in ways.items():
        show(what, *make())


def weighed(weights: np.ndarray) -> np.ndarray:
    """Weights of mean 1."""
    return weights / max(float(weights.mean()), 1e-12)


def margins(own: np.ndarray, given: np.ndarray) -> np.ndarray:
    """How far the chance of a draw's own class is above any other's."""
    return (own * given).sum(axis=1) - np.where(own > 0, -1.0, given).max(axis=1)


if __name__ == "__main__":
    main()
