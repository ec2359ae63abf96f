"""Presets of DP-Diffusion: what suits a dataset's size, and the settings by which its results are compared."""

from functools import partial
from typing import Any

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import Preset
from workbench.methods.pretrained import Pretrained
from workbench.models.settings import default_network

# Images of 28x28 and more.
LARGE: dict[str, Any] = {
    "pretraining.steps": 600,
    "pretraining.learning_rate": 6e-4,
    "fine_tuning.steps": 300,
    "fine_tuning.learning_rate": 6e-4,
    "fine_tuning.noise_multiplicity": 2,
    "ema_decay": 0.99,
}


def defaults(facts: DatasetFacts) -> dict[str, Any]:
    """The U-Net of the image size, flips for colour images (photographs have no reading direction), sizes of minutes or hours."""
    large = facts.dimensions > 300
    return {
        "network": default_network(facts),
        "augmentation.flips": facts.shape[0] == 3,
        **(LARGE if large else {}),
        "fine_tuning.batch_size": min(1000 if large else 450, facts.num_records),
    }


def published(facts: DatasetFacts, noise_multiplier: float) -> dict[str, Any]:
    """150 epochs at a sampling rate of 1/15 with 128 draws a record; K, C and the mixture are the paper's."""
    return {
        "fine_tuning.noise_multiplier": noise_multiplier,
        "fine_tuning.batch_size": facts.num_records / 15,
        "fine_tuning.steps": 2250,
        "fine_tuning.noise_multiplicity": 128,
        "fine_tuning.max_grad_norm": 1e-3,
        "fine_tuning.learning_rate": 3e-4,
        "timestep_mixture.ends": (0.03, 0.6, 1.0),
        "timestep_mixture.weights": (0.015, 0.785, 0.2),
        "diffusion.prediction": "epsilon",
        "ema_decay": 0.9999,
    }


def published_preset(epsilon: float, noise_multiplier: float) -> Preset:
    """The setting that results at `epsilon` are compared at."""
    return Preset(
        f"The paper's clipping norm, multiplicity and time-step mixture in the protocol of DPImageBench (150 epochs of MNIST at a sampling "
        f"rate of 1/15), with the noise that claims epsilon {epsilon:g} at delta 1e-5: the paper does not print its own for these images.",
        partial(published, noise_multiplier=noise_multiplier),
        lambda _facts: 1e-5,
    )


PRESETS = Pretrained.presets | {"published": published_preset(10, 1.836), "published-1": published_preset(1, 12.851)}
