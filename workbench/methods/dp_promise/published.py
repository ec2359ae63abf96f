"""The settings behind the paper's tables, by dataset and epsilon: the authors' configurations, and the paper where it differs."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.networks import UNETS

IMAGENET = 1_281_167  # images
NEXT_TO_NONE = 1e-3  # noise multiplier of the non-private column, which the paper says no more of: clipped as ever, by our reading


@dataclass(frozen=True)
class PublishedSettings:
    """What the authors' code sets for one dataset; `other_at` where an epsilon has its own values, `printed` where the paper differs.

    `noise_multipliers` by epsilon; epochs are those over the private records, or the public ones; sizes are expected batches. The
    authors take the `public_records` of `public_dataset` to be public.
    """

    title: str
    name: str
    public_dataset: str
    public_records: int
    num_records: int
    channels: int
    height: int
    delta: float
    noise_multipliers: Mapping[float, float]
    boundary: int = 900
    phase_one_batch_size: int = 32
    phase_one_epochs: int = 3
    phase_two_epochs: int = 50
    noise_multiplicity: int = 4
    phase_two_learning_rate: float = 3e-4
    pretraining_epochs: int = 50
    other_at: Mapping[float, Mapping[str, int]] = field(default_factory=dict)
    printed: Mapping[str, int] = field(default_factory=dict)
    network: Mapping[str, Any] = field(default_factory=dict)
    difference: str = ""


GREY: dict[str, Any] = {
    "num_records": 60_000,
    "channels": 1,
    "height": 28,
    "delta": 1e-5,
    "noise_multipliers": {10: 1.13, 1: 7.0, 0.2: 38.4},
    "noise_multiplicity": 32,
    "phase_two_learning_rate": 6e-4,
    "other_at": {0.2: {"phase_one_epochs": 2}},
}
COLOUR: dict[str, Any] = {
    "public_dataset": "imagenet",
    "public_records": IMAGENET,
    "channels": 3,
    "network": UNETS["paper-32"].model_dump(),
}
CELEBA: dict[str, Any] = COLOUR | {"num_records": 202_599, "delta": 1e-6}

# The order decides between equally near ones: MNIST's network before Fashion-MNIST's wider one.
PUBLISHED: tuple[PublishedSettings, ...] = (
    PublishedSettings("MNIST", "mnist", "fashion-mnist", 60_000, **GREY),
    PublishedSettings(
        "Fashion-MNIST",
        "fashion-mnist",
        "cifar-10",
        50_000,
        pretraining_epochs=1000,
        network=UNETS["paper-28-wide"].model_dump(),
        **GREY,
    ),
    PublishedSettings(
        "CIFAR-10",
        "cifar-10",
        num_records=50_000,
        height=32,
        delta=1e-5,
        noise_multipliers={10: 1.19, 5: 1.94, 1: 7.89},
        other_at={1: {"boundary": 925, "phase_one_epochs": 2}},
        difference="n is the 50 000 training images, where the paper counts 60 000.",
        **COLOUR,
    ),
    PublishedSettings(
        "CelebA at 32x32",
        "celeba-all",
        height=32,
        noise_multipliers={10: 0.73, 5: 1.01, 1: 3.66},
        phase_one_epochs=2,
        phase_two_epochs=30,
        printed={"boundary": 925, "phase_two_epochs": 50},
        difference="The paper prints S 925 and 50 epochs of phase two; n is all 202 599 images, not the 162 770 training images.",
        **CELEBA,
    ),
    PublishedSettings(
        "CelebA at 64x64",
        "celeba-all",
        height=64,
        noise_multipliers={10: 0.632, 5: 0.825, 1: 2.83},
        boundary=950,
        phase_one_batch_size=16,
        phase_one_epochs=1,
        phase_two_epochs=15,
        printed={"phase_one_batch_size": 32},
        difference="The paper prints batches of 32 in phase one at epsilon 10; n is all 202 599 images, not the 162 770 training images.",
        **CELEBA,
    ),
)


def nearest(facts: DatasetFacts) -> PublishedSettings:
    """The published dataset most like this one: by channels, then height, then name, then number of records."""

    def distance(row: PublishedSettings) -> tuple[float, ...]:
        channels, height = facts.shape[0], facts.shape[1]
        size = abs(math.log(facts.num_records / row.num_records))
        return abs(channels - row.channels), abs(math.log(height / row.height)), float(facts.name != row.name), size

    return min(PUBLISHED, key=distance)


def delta(facts: DatasetFacts) -> float:
    """The paper's delta: 1e-5, for CelebA 1e-6."""
    return nearest(facts).delta


def published(facts: DatasetFacts, epsilon: float = 10) -> dict[str, Any]:
    """The paper's targets with the authors' sizes and noise for `epsilon`; the sampling rate is the one their code realises.

    That is 1/ceil(n/4096) for ceil(n/4096) steps an epoch. An infinite epsilon takes those for 10, with NEXT_TO_NONE for noise. Refuses
    an epsilon that the paper has no result for.
    """
    row = nearest(facts)
    settings = phase_settings(row, epsilon)
    batches = math.ceil(facts.num_records / 4096)
    first = min(settings["phase_one_batch_size"], facts.num_records)
    return common(row, facts, epsilon) | {
        "boundary": settings["boundary"],
        "phase_one.batch_size": first,
        "phase_one.steps": settings["phase_one_epochs"] * math.ceil(facts.num_records / first),
        "phase_two.batch_size": facts.num_records / batches,
        "phase_two.steps": settings["phase_two_epochs"] * batches,
    }


def renoised_settings(facts: DatasetFacts) -> dict[str, Any]:
    """The same for epsilon 10 with the renoised targets in place of the paper's."""
    return published(facts) | {"targets": "renoised"}


def one_shot(facts: DatasetFacts) -> dict[str, Any]:
    """The same for epsilon 10 with one noised copy of every record."""
    return published(facts) | {"targets": "one-shot"}


def printed_settings(facts: DatasetFacts) -> dict[str, Any]:
    """The settings at epsilon 10 as the paper prints them: the sampling rate 4096/n, and N n/4096 steps for N epochs."""
    row = nearest(facts)
    settings = phase_settings(row, 10) | dict(row.printed)
    size = min(4096, facts.num_records)
    first = min(settings["phase_one_batch_size"], facts.num_records)
    return common(row, facts, 10) | {
        "boundary": settings["boundary"],
        "phase_one.batch_size": first,
        "phase_one.steps": settings["phase_one_epochs"] * facts.num_records // first,
        "phase_two.batch_size": size,
        "phase_two.steps": math.ceil(settings["phase_two_epochs"] * facts.num_records / size),
    }


def phase_settings(row: PublishedSettings, epsilon: float) -> dict[str, int]:
    """What the phases of `row` take at `epsilon`."""
    if epsilon not in row.noise_multipliers and epsilon != math.inf:
        known = ", ".join(f"{value:g}" for value in row.noise_multipliers)
        raise WorkbenchError(f"Expected an epsilon that the paper has a result for on {row.title} ({known}), got {epsilon:g}.")
    names = ("boundary", "phase_one_batch_size", "phase_one_epochs", "phase_two_epochs")
    return {name: getattr(row, name) for name in names} | dict(row.other_at.get(epsilon, {}))


def common(row: PublishedSettings, facts: DatasetFacts, epsilon: float) -> dict[str, Any]:
    """What does not follow from the number of records."""
    values = {
        "targets": "paper",
        "phase_two.noise_multiplier": NEXT_TO_NONE if epsilon == math.inf else row.noise_multipliers[epsilon],
        "phase_one.learning_rate": 3e-4,
        "phase_two.learning_rate": row.phase_two_learning_rate,
        "phase_two.noise_multiplicity": row.noise_multiplicity,
        "phase_two.max_grad_norm": 0.01,
        "ema_decay": 0.9999,
        "pretraining.dataset": row.public_dataset,
        "pretraining.records": row.public_records,
        "pretraining.steps": row.pretraining_epochs * row.public_records // 128,
        "pretraining.batch_size": 128,
        "pretraining.learning_rate": 2e-4,
        "pretraining.schedule": "constant",
        "diffusion": {"schedule": "linear", "timesteps": 1000, "prediction": "epsilon"},
        "sampler": {"name": "ddim", "num_inference_steps": 200, "eta": 1.0, "guidance_scale": 0.0},
    }
    return values | ({"network": dict(row.network)} if row.network else {})


def note(facts: DatasetFacts) -> str:
    """Which published settings a dataset gets, if that needs saying, and where the authors' code and the paper differ."""
    row = nearest(facts)
    same = (facts.num_records, *facts.shape[:2]) == (row.num_records, row.channels, row.height)
    if same and not row.difference:
        return ""
    return f"Settings of {row.title} ({row.num_records} records), as in the authors' code. {row.difference}".strip()


def printed_note(facts: DatasetFacts) -> str:
    """Which published settings a dataset gets as the paper prints them."""
    row = nearest(facts)
    return f"Settings of {row.title} ({row.num_records} records) as the paper prints them, with the noise of the authors' code."
