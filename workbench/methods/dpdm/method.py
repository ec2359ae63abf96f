"""The method: what it needs to be planned; what trains and samples is loaded when it starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import Preset, Reading
from workbench.methods.dpdm import claim, presets
from workbench.methods.dpdm.config import DPDMConfig
from workbench.methods.fine_tuned import FineTuned
from workbench.models.sample_request import SampleRequest, Source
from workbench.models.settings import DP_SGD
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import Records
from workbench.training.state import State, Step

if TYPE_CHECKING:
    from workbench.models.denoising import Denoiser


class DPDM(FineTuned[DPDMConfig]):
    """DP-SGD on EDM's denoiser at log-normal noise levels, with noise multiplicity."""

    name = "dpdm"
    title = "DPDM"
    source = "Dockhorn et al. 2023, Algorithm 1"
    Config = DPDMConfig
    presets: ClassVar[dict[str, Preset]] = presets.PRESETS
    readings: ClassVar[Mapping[str, Reading]] = claim.READINGS

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """The U-Net of the image size, and sizes that a laptop trains in minutes (8x8) or about two hours (28x28)."""
        return presets.defaults(facts)

    def claim_of_paper(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """The RDP of all steps."""
        return claim.claimed(**self.config.training.terms(DP_SGD, facts.num_records), delta=delta)

    def fit(self, data: Records, public: Records | None, state: State) -> Iterator[Step]:
        """DP-SGD from scratch, or after public pre-training."""
        from workbench.methods.dpdm import training

        yield from training.fit(self.config, data, public, state)

    def sample(self, state: State, request: SampleRequest) -> Records:
        """Images from the moving average; source 'public' takes the one from before DP-SGD."""
        from workbench.models import edm_images, pretrained

        return pretrained.sample(self.config, state, request, edm_images.draw_samples)

    def denoiser(self, state: State, source: Source = "model") -> Denoiser:
        """The moving average of the weights; that of public pre-training alone for the source "public"."""
        from workbench.models import denoising, image_diffusion

        return denoising.of_edm(self.config, image_diffusion.averaged(state, "public_ema" if source == "public" else "ema"), state)
