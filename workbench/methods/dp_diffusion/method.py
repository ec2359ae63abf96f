"""The method: what it needs to be planned; what trains and samples is loaded when it starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import CalibratedField, Preset, Reading, Workload
from workbench.methods.dp_diffusion import claim, presets, stages
from workbench.methods.dp_diffusion.config import DPDiffusionConfig
from workbench.methods.dp_diffusion.presets import PRESETS
from workbench.methods.dp_diffusion.stages import FINE_TUNING
from workbench.methods.pretrained import ROWS, SHAPES, Pretrained
from workbench.models.sample_request import SampleRequest, Source
from workbench.privacy.accounting.formulas import poisson_gaussian_rdp
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import Records
from workbench.training.state import State, Step

if TYPE_CHECKING:
    from workbench.models.denoising import Denoiser


class DPDiffusion(Pretrained[DPDiffusionConfig]):
    """Private fine-tuning of a whole public diffusion model, with augmentation multiplicity and a mixture of time steps."""

    name = "dp-diffusion"
    title = "DP-Diffusion"
    source = "Ghalebikesabi et al. 2023"
    Config = DPDiffusionConfig
    presets: ClassVar[dict[str, Preset]] = PRESETS
    readings: ClassVar[Mapping[str, Reading]] = claim.READINGS
    workload: ClassVar[Workload] = Workload(
        ROWS | {FINE_TUNING: ("fine_tuning.batch_size", "fine_tuning.noise_multiplicity")},
        ("network", "fine_tuning.noise_multiplicity", *SHAPES),
    )
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("fine_tuning.noise_multiplier"),)

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """The U-Net of the image size, flips for colour images, and sizes that a laptop trains in minutes (8x8) or hours (28x28)."""
        return presets.defaults(facts)

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """Pre-training (free), then DP-SGD at all time steps."""
        return stages.stages(self.config, facts)

    def claim_of_paper(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """The RDP of Poisson-sampled Gaussian steps, a bound."""
        return poisson_gaussian_rdp(**self.config.fine_tuning.terms(FINE_TUNING, facts.num_records), delta=delta, source=self.source)

    def initial_state(self, facts: DatasetFacts, state: State) -> State:
        """The network, its moving averages (with a copy from before any private record) and an Adam for each stage."""
        from workbench.models import pretrained

        return pretrained.initial_state(self.config, facts, state, self.config.fine_tuning, FINE_TUNING)

    def fit(self, data: Records, public: Records | None, state: State) -> Iterator[Step]:
        """Pre-train on public records, then fine-tune all weights on the private ones."""
        from workbench.methods.dp_diffusion import training

        yield from training.fit(self.config, data, public, state)

    def sample(self, state: State, request: SampleRequest) -> Records:
        """Images from the moving average; source "public" takes the one from before fine-tuning."""
        from workbench.models import image_diffusion, pretrained

        return pretrained.sample(self.config, state, request, image_diffusion.draw_samples)

    def denoiser(self, state: State, source: Source = "model") -> Denoiser:
        """The moving average of the weights; that of public pre-training alone for the source "public"."""
        from workbench.models import denoising, image_diffusion

        return denoising.of_diffusion(self.config, image_diffusion.averaged(state, "public_ema" if source == "public" else "ema"), state)
