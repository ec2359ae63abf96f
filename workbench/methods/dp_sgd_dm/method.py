"""The method: what it needs to be planned; what trains and samples is loaded when it starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import Preset, Reading
from workbench.methods.dp_sgd_dm import claim, presets
from workbench.methods.dp_sgd_dm.config import DPSGDDMConfig
from workbench.methods.fine_tuned import FineTuned
from workbench.models.sample_request import SampleRequest, Source
from workbench.models.settings import DP_SGD, check_model
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import Records
from workbench.training.state import State, Step

if TYPE_CHECKING:
    from workbench.models.denoising import Denoiser


class DPSGDDM(FineTuned[DPSGDDMConfig]):
    """Public pre-training, then DP-SGD on the whole diffusion model at all time steps."""

    name = "dp-sgd-dm"
    title = "DP-SGD DM"
    source = "Wang et al. 2024, section 6.1, baseline"
    Config = DPSGDDMConfig
    presets: ClassVar[dict[str, Preset]] = presets.PRESETS
    readings: ClassVar[Mapping[str, Reading]] = claim.READINGS

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """The U-Net of the image size, and sizes that a laptop trains in minutes (8x8) or about two hours (28x28)."""
        return presets.defaults(facts)

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """Pre-training (free), DP-SGD."""
        check_model(self.config, facts)
        return super().stages(facts)

    def claim_of_paper(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """Lemma 5 of the paper: the central limit of DP-SGD, converted from GDP to DP."""
        return claim.claimed(**self.config.training.terms(DP_SGD, facts.num_records), delta=delta)

    def fit(self, data: Records, public: Records | None, state: State) -> Iterator[Step]:
        """Pre-train on public records, then DP-SGD."""
        from workbench.methods.dp_sgd_dm import training

        yield from training.fit(self.config, data, public, state)

    def sample(self, state: State, request: SampleRequest) -> Records:
        """Images from the moving average; source 'public' takes the one from before DP-SGD."""
        from workbench.models import image_diffusion, pretrained

        return pretrained.sample(self.config, state, request, image_diffusion.draw_samples)

    def denoiser(self, state: State, source: Source = "model") -> Denoiser:
        """The moving average of the weights; that of public pre-training alone for the source "public"."""
        from workbench.models import denoising, image_diffusion

        return denoising.of_diffusion(self.config, image_diffusion.averaged(state, "public_ema" if source == "public" else "ema"), state)
