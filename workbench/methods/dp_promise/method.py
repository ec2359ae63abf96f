"""The method: what it needs to be planned; what trains and samples is loaded when it starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.base import CalibratedField, MethodConfig, Preset, Reading, Target, Workload
from workbench.methods.dp_promise import claim, phase_one, presets, smaller, stages
from workbench.methods.dp_promise.config import DPPromiseConfig
from workbench.methods.dp_promise.presets import PRESETS
from workbench.methods.dp_promise.stages import PHASE_ONE, PHASE_TWO, RELEASE
from workbench.methods.fields import with_values
from workbench.methods.pretrained import ROWS, SHAPES, Pretrained
from workbench.models.sample_request import SampleRequest, Source
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import Records
from workbench.training.state import State, Step

if TYPE_CHECKING:
    from workbench.models.denoising import Denoiser


class DPPromise(Pretrained[DPPromiseConfig]):
    """Two-phase training with public pre-training, private labels in phase two only, and a frozen time embedding."""

    name = "dp-promise"
    title = "dp-promise"
    source = "Wang et al. 2024, Algorithm 1"
    Config = DPPromiseConfig
    presets: ClassVar[dict[str, Preset]] = PRESETS
    readings: ClassVar[Mapping[str, Reading]] = claim.READINGS
    workload: ClassVar[Workload] = Workload(
        ROWS
        | {
            RELEASE: ("num_records",),
            PHASE_ONE: ("phase_one.batch_size", "phase_one.draws"),
            PHASE_TWO: ("phase_two.batch_size", "phase_two.noise_multiplicity"),
        },
        ("network", "phase_one.draws", "phase_two.noise_multiplicity", "targets", *SHAPES),
    )
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("phase_two.noise_multiplier"),)

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """The U-Net of the image size, and sizes that a laptop trains in minutes (8x8) or about two hours (28x28)."""
        return presets.defaults(facts)

    @classmethod
    def adapted(
        cls, config: MethodConfig, facts: DatasetFacts, epsilon: float, delta: float, target: Target, given: Set[str]
    ) -> tuple[MethodConfig, str]:
        """A smaller phase one, or none, where the usual one cannot keep to its share of `epsilon`."""
        assert isinstance(config, DPPromiseConfig)
        if target == "bound" and config.targets == "paper":
            return config, ""  # `calibrated` refuses it
        return smaller.adapted(config, smaller.Aim(facts, epsilon, delta, target), given)

    @classmethod
    def calibrated(cls, config: MethodConfig, facts: DatasetFacts, epsilon: float, delta: float, target: Target) -> Self:
        """The boundary (unless given) whose phase one fits its share, then the noise multiplier that meets `epsilon`."""
        assert isinstance(config, DPPromiseConfig)
        if target == "bound" and config.targets == "paper" and config.phase_one.steps:
            raise WorkbenchError(f"No noise multiplier bounds this run. {phase_one.REFUTED} Use targets=renoised, or the target 'claim'.")
        if config.boundary is None and config.phase_one.steps:
            config = with_values(config, {"boundary": phase_one.smallest_boundary(config, facts, epsilon, delta, target)})
        return super().calibrated(config, facts, epsilon, delta, target)

    @property
    def draws_labels(self) -> bool:
        """Unless it is planned without labels."""
        return self.config.conditional

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """Pre-training (free), phase one, phase two."""
        return stages.stages(self.config, facts)

    def claim_of_paper(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """Theorem 2 of the paper: the central limit of both phases, converted from GDP to DP."""
        phase_two = self.config.phase_two
        return claim.claimed(
            **phase_one.terms(self.config, facts),
            sample_rate_2=phase_two.sample_rate(facts.num_records),
            steps_2=phase_two.steps,
            noise_multiplier=phase_two.known_noise_multiplier(PHASE_TWO),
            delta=delta,
        )

    def claimed_stages(self, facts: DatasetFacts) -> list[Stage]:
        """Both phases as Poisson-sampled Gaussians, phase one's noise that of its images (Lemmas 4 and 5)."""
        return stages.claimed_stages(self.config, facts)

    def initial_state(self, facts: DatasetFacts, state: State) -> State:
        """The network, its moving averages (with a copy from before any private record) and an Adam for each stage."""
        from workbench.methods.dp_promise import training

        return training.initial_state(self.config, facts, state)

    def fit(self, data: Records, public: Records | None, state: State) -> Iterator[Step]:
        """Algorithm 1: pre-train on public records, then phase one, then phase two."""
        from workbench.methods.dp_promise import training

        yield from training.fit(self.config, data, public, state)

    def sample(self, state: State, request: SampleRequest) -> Records:
        """Algorithm 2 with the moving average; source 'public' takes the one from before phase one."""
        from workbench.models import image_diffusion, pretrained

        asked = replace(request, labelled=self.config.conditional)
        return pretrained.sample(self.config, state, asked, image_diffusion.draw_samples)

    def denoiser(self, state: State, source: Source = "model") -> Denoiser:
        """The moving average of the weights; that of public pre-training alone for the source "public"."""
        from workbench.models import denoising, image_diffusion

        return denoising.of_diffusion(self.config, image_diffusion.averaged(state, "public_ema" if source == "public" else "ema"), state)
