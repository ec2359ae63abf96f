"""The method: what it needs to be planned; what trains and samples is loaded when it starts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods import votes
from workbench.methods.base import CalibratedField, Method, MethodConfig, Preset, Reading, Target, Workload
from workbench.methods.dp_sad import claim, presets, stages
from workbench.methods.dp_sad.config import DPSADConfig
from workbench.methods.dp_sad.stages import DISCRIMINATOR, STUDENT
from workbench.methods.pretrained import ROWS, SHAPES, UNCLAIMED
from workbench.models.sample_request import SampleRequest
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import Records
from workbench.training.state import State, Step

LABELLING = ("labels.source", "labels.clusters", "labels.rounds", "labels.self_supervision.batch_size")  # what decides its time


class DPSAD(Method):
    """A student distilled from a teacher by private steps, beside a discriminator of both."""

    name = "dp-sad"
    title = "DP-SAD"
    source = "Liu et al. 2024, with a sound mode of ours"
    Config = DPSADConfig
    presets: ClassVar[dict[str, Preset]] = presets.PRESETS
    readings: ClassVar[Mapping[str, Reading]] = claim.READINGS
    released: ClassVar[tuple[str, ...]] = ("ema", "teacher_ema", "public_ema")
    sampling_fields: ClassVar[tuple[str, ...]] = ("sampler", "drawn_from")
    workload: ClassVar[Workload] = Workload(
        {
            **ROWS,
            STUDENT: ("student.batch_size", "student.noise_multiplicity"),
            DISCRIMINATOR: ("discriminator.batch_size",),
        },
        (
            "network",
            "student.noise_multiplicity",
            "private_teacher.batch_size",
            "private_teacher.noise_multiplicity",
            "unprotected_teacher.batch_size",
            "mode",
            "teacher",
            "adversarial_weight",
            *LABELLING,
            *SHAPES,
        ),
    )
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("student.noise_multiplier", high=1e6),)
    config: DPSADConfig

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """The U-Net of the image size, and sizes that a laptop trains in minutes (8x8) or hours (28x28)."""
        return presets.defaults(facts)

    @classmethod
    def calibrated(cls, config: MethodConfig, facts: DatasetFacts, epsilon: float, delta: float, target: Target) -> Self:
        """The student's noise, and with it a private teacher's, that meets `epsilon`; the paper's modes meet a claim alone.

        DP k-means and votes take their shares before it.
        """
        assert isinstance(config, DPSADConfig)
        if target == "bound" and not config.is_sound:
            reason = stages.EQ15 if config.mode == "eq15" else stages.EQ17
            raise WorkbenchError(f"The mode {config.mode} takes no bound to meet. {reason} Use mode=sound, or the target 'claim'.")
        if config.labels.are_paid_for:
            config = votes.fitted(config, "labels", config.labels.share, facts, epsilon, delta)
        if config.selected.takes_place:
            config = votes.fitted(config, "selected.selection", config.selected.share, facts, epsilon, delta)
        return super().calibrated(config, facts, epsilon, delta, target)

    @property
    def public_dataset(self) -> str | None:
        """The dataset of the teacher's public steps, or None."""
        return self.config.pretraining.dataset if self.config.learns_in_public else None

    @property
    def public_records(self) -> int | None:
        """How many of its records are used."""
        return self.config.pretraining.records

    @property
    def has_public_model(self) -> bool:
        """The teacher as its public steps left it."""
        return self.config.has_public_model

    @property
    def selects_public(self) -> bool:
        """Where the teacher began with a selection."""
        return self.config.selected.takes_place

    @property
    def draws_labels(self) -> bool:
        """Where they are the dataset's own."""
        return self.config.labels.are_given

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """Teacher, student, discriminator, by the mode."""
        return stages.stages(self.config, facts)

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """Theorem 4 of the paper, where it begins as the paper does."""
        if self.config.selected.takes_place:
            return PrivacyValue(epsilon=math.inf, delta=delta, status="not_evaluated", reason=UNCLAIMED, source=self.source)
        return claim.claim(self.config, facts, delta)

    def claimed_stages(self, facts: DatasetFacts) -> list[Stage]:
        """The student's steps, every coordinate of every record of a batch counted (Theorem 4)."""
        return claim.claimed_stages(self.config, facts)

    def initial_state(self, facts: DatasetFacts, state: State) -> State:
        """Teacher, student and discriminator, the moving averages of the first two, and an Adam a stage."""
        from workbench.methods.dp_sad import training

        return training.initial_state(self.config, facts, state)

    def fit(self, data: Records, public: Records | None, state: State) -> Iterator[Step]:
        """The teacher, then the student's and the discriminator's steps in turn."""
        from workbench.methods.dp_sad import training

        yield from training.fit(self.config, data, public, state)

    def sample(self, state: State, request: SampleRequest) -> Records:
        """Images of the student; source 'public' takes the teacher as public images left it."""
        from workbench.methods.dp_sad import sampling

        return sampling.sample(self.config, state, request)
