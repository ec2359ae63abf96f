"""Presets of DP-SAD: what suits a dataset's size, and settings at which its claim can be read."""

from functools import partial
from typing import Any

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import Method, Preset
from workbench.methods.dp_sad.config import Mode
from workbench.methods.pretrained import SELECTED
from workbench.models.settings import default_network

# Images of 28x28 and more.
LARGE: dict[str, Any] = {
    "pretraining.steps": 600,
    "pretraining.learning_rate": 6e-4,
    "unprotected_teacher.steps": 2000,
    "private_teacher.steps": 200,
    "student.steps": 200,
    "student.learning_rate": 6e-4,
    "student.noise_multiplicity": 1,
    "discriminator.steps": 200,
    "ema_decay": 0.99,
}


def defaults(facts: DatasetFacts) -> dict[str, Any]:
    """The U-Net of the image size, and sizes that a laptop trains in minutes (8x8) or hours (28x28)."""
    large = facts.dimensions > 300
    batch = min(1000 if large else 450, facts.num_records)
    return {
        "network": default_network(facts),
        "private_teacher.batch_size": batch,
        "student.batch_size": batch,
        "unprotected_teacher.batch_size": min(128, facts.num_records),
        **(LARGE if large else {}),
    }


def own_labels(facts: DatasetFacts) -> dict[str, Any]:
    """The paper's labels of images that have none: k-means on features that a network learned without labels."""
    return {} if facts.classes else {"labels.source": "self-supervised"}


def paper(facts: DatasetFacts, mode: Mode) -> dict[str, Any]:
    """A mode of the paper in minutes: one time step a batch, as printed; few steps on large batches, which the claim favours."""
    return {
        "mode": mode,
        **own_labels(facts),
        "diffusion.timesteps": 1000,
        "diffusion.prediction": "epsilon",
        "timestep_per": "batch",
        "student.steps": 300,
        "student.batch_size": min(300, facts.num_records),
        "student.noise_multiplicity": 1,
        "student.learning_rate": 2e-3,
        "discriminator.steps": 300,
    }


def published(facts: DatasetFacts, mode: Mode, noise_multiplier: float) -> dict[str, Any]:
    """T = 500 and lambda = 1 are the paper's; batch, steps and noise are ours, as it prints none."""
    sound = mode == "sound"
    return {
        "mode": mode,
        **({} if sound else own_labels(facts)),
        "diffusion.timesteps": 500,
        "diffusion.prediction": "epsilon",
        "adversarial_weight": 1.0,
        "compared": "image",
        "timestep_per": "batch",
        "student.batch_size": facts.num_records / 15 if sound else min(64, facts.num_records),
        "student.steps": 4500 if sound else 1000,
        "student.noise_multiplier": noise_multiplier,
        "student.noise_multiplicity": 1,
    }


def delta(_facts: DatasetFacts) -> float:
    """The paper's."""
    return 1e-5


PRESETS = Method.presets | {
    "selected": SELECTED,
    "eq15": Preset(
        "The paper's mode with the whole gradient clipped; losses compare predicted noise. Minutes; it rests on its claim.",
        partial(paper, mode="eq15"),
    ),
    "eq17": Preset(
        "The paper's mode with the output clipped; losses compare predicted noise. Minutes; it rests on its claim.",
        partial(paper, mode="eq17"),
    ),
    "published": Preset(
        "The paper's T and lambda with the output clipped, at noise that claims 10 for MNIST.",
        partial(published, mode="eq17", noise_multiplier=7500),
        delta,
    ),
    "published-eq15": Preset(
        "The paper's T and lambda with the gradient clipped, at noise that claims 10 for MNIST: 340 000 times the clipping norm.",
        partial(published, mode="eq15", noise_multiplier=340_000),
        delta,
    ),
    "published-sound": Preset(
        "The paper's T and lambda with a public teacher and private steps on the student, at MNIST's rate 1/15 for a bound of 10.",
        partial(published, mode="sound", noise_multiplier=2.487),
        delta,
    ),
}
