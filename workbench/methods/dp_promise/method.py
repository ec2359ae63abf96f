"""dp-promise (Wang et al. 2024): the diffusion's own noise protects the late time steps, DP-SGD the early ones.

Phase I trains the time steps after the boundary S on records that the forward process has noised, phase II the steps up to
S by DP-SGD. The paper's regression target in phase I reveals the record (docs/proofs.md, section 3); the default here regresses on a
renoised release instead, which has a proof (docs/proofs.md, section 4).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from functools import partial
from typing import Any, ClassVar, Self

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.base import CalibratedField, MethodConfig, Preset, Reading, Target
from workbench.methods.dp_promise import phases, published, smaller
from workbench.methods.dp_promise.phases import PHASE_TWO, DPPromiseConfig
from workbench.methods.fields import with_values
from workbench.methods.pretrained import SHAPES, Pretrained
from workbench.models.settings import default_network
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue

# Images of 28x28 and more: two hours on two cores (workbench/recipes/mnist.json).
LARGE: dict[str, Any] = {
    "pretraining.steps": 600,
    "pretraining.learning_rate": 6e-4,
    "phase_one.steps": 600,
    "phase_one.draws": 2,
    "phase_two.steps": 300,
    "phase_two.learning_rate": 6e-4,
    "phase_two.noise_multiplicity": 1,
    "ema_decay": 0.99,
}


def published_preset(epsilon: float) -> Preset:
    """The authors' settings for a claim of `epsilon`."""
    return Preset(
        f"The authors' settings for epsilon {epsilon:g} on the published dataset most like this one: the paper's targets, "
        "the sizes, noise and realised sampling rate of their code, the paper's delta.",
        partial(published.published, epsilon=epsilon),
        published.delta,
        published.note,
    )


PRESETS = Pretrained.presets | {
    "published": published_preset(10),
    "published-5": published_preset(5),
    "published-1": published_preset(1),
    "published-0.2": published_preset(0.2),
    "published-infinity": published_preset(math.inf),
    "published-renoised": Preset(
        "The authors' settings for epsilon 10, with the renoised targets, which have a proof.",
        published.renoised_settings,
        published.delta,
        published.note,
    ),
    "published-one-shot": Preset(
        "The authors' settings for epsilon 10, phase one on one noised copy of every record, which has a proof.",
        published.one_shot,
        published.delta,
        published.note,
    ),
    "printed": Preset(
        "The settings at epsilon 10 as the paper prints them, sampling rate and steps too.",
        published.printed_settings,
        published.delta,
        published.printed_note,
    ),
}


class DPPromise(Pretrained[DPPromiseConfig]):
    """Two-phase training with public pre-training, private labels in phase two only, and a frozen time embedding."""

    name = "dp-promise"
    title = "dp-promise"
    source = "Wang et al. 2024, Algorithm 1"
    Config = DPPromiseConfig
    implementation = "workbench.methods.dp_promise.training"
    presets: ClassVar[dict[str, Preset]] = PRESETS
    readings: ClassVar[Mapping[str, Reading]] = phases.READINGS
    shapes: ClassVar[tuple[str, ...] | None] = ("network", "phase_one.draws", "phase_two.noise_multiplicity", "targets", *SHAPES)
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("phase_two.noise_multiplier"),)
    interruptible: ClassVar[tuple[str, ...]] = (PHASE_TWO,)

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """The U-Net of the image size, and sizes that a laptop trains in minutes (8x8) or about two hours (28x28)."""
        values: dict[str, Any] = {"network": default_network(facts)}
        if facts.dimensions <= 300:
            sizes = {"phase_one.batch_size": 16, "phase_two.batch_size": 450}
        else:
            values, sizes = values | LARGE, {"phase_one.batch_size": 32, "phase_two.batch_size": 1000}
        return values | {name: min(size, facts.num_records) for name, size in sizes.items()}

    @classmethod
    def adapted(
        cls, config: MethodConfig, facts: DatasetFacts, epsilon: float, delta: float, target: Target, given: Set[str]
    ) -> tuple[MethodConfig, str]:
        """A smaller phase one, or none, where the usual one cannot keep to its share of `epsilon`."""
        assert isinstance(config, DPPromiseConfig)
        if target == "bound" and config.targets == "paper":
            return config, ""  # `calibrated` refuses it
        return smaller.adapted_config(config, smaller.Aim(facts, epsilon, delta, target), given)

    @classmethod
    def calibrated(cls, config: MethodConfig, facts: DatasetFacts, epsilon: float, delta: float, target: Target) -> Self:
        """The boundary (unless given) whose phase one fits its share, then the noise multiplier that meets `epsilon`."""
        assert isinstance(config, DPPromiseConfig)
        if target == "bound" and config.targets == "paper" and config.phase_one.steps:
            raise WorkbenchError(f"No noise multiplier bounds this run. {phases.REFUTED} Use targets=renoised, or the target 'claim'.")
        if config.boundary is None and config.phase_one.steps:
            config = with_values(config, {"boundary": phases.smallest_boundary(config, facts, epsilon, delta, target)})
        return super().calibrated(config, facts, epsilon, delta, target)

    @property
    def draws_labels(self) -> bool:
        """Unless it is planned without labels."""
        return self.config.conditional

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """Pre-training (free), phase one, phase two."""
        return phases.stages(self.config, facts)

    def claim_of_paper(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """Theorem 2 of the paper: the central limit of both phases, converted from GDP to DP."""
        phase_two = self.config.phase_two
        return phases.claimed(
            **phases.terms(self.config, facts),
            sample_rate_2=phase_two.sample_rate(facts.num_records),
            steps_2=phase_two.steps,
            noise_multiplier=phase_two.known_noise_multiplier(PHASE_TWO),
            delta=delta,
        )

    def claimed_stages(self, facts: DatasetFacts) -> list[Stage]:
        """Both phases as Poisson-sampled Gaussians, phase one's noise that of its images (Lemmas 4 and 5)."""
        return phases.claimed_stages(self.config, facts)
