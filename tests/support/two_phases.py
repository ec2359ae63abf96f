"""dp-promise's two phases by numbers alone, written down apart from the method: the example that accounting is tested on."""

import math
from dataclasses import dataclass

import numpy as np
from dp_accounting import dp_event

from workbench.privacy.accounting.events import FixedBatchGaussianDpEvent, UnprovedDpEvent
from workbench.privacy.accounting.stages import Stage


@dataclass(frozen=True)
class TwoPhases:
    """dp-promise on 28x28 images: linear betas 1e-4..2e-2, T = 1000; the published MNIST setting by default."""

    num_dimensions: int = 784
    num_records: int = 60_000
    boundary: int = 900
    batch_size_1: int = 32
    steps_1: int = 5_625
    sample_rate_2: float = 1 / 15
    steps_2: int = 750
    noise_multiplier: float = 1.13

    @property
    def alphas_cumprod(self) -> float:
        """The cumulative product of 1 - beta at the boundary S."""
        return float(np.prod(1.0 - np.linspace(1e-4, 2e-2, 1000)[: self.boundary]))

    @property
    def phase_one_multiplier(self) -> float:
        """Noise over the replace-one distance 2 sqrt(d abar/(1-abar)) of a noised image."""
        return 0.5 / math.sqrt(self.num_dimensions * self.alphas_cumprod / (1 - self.alphas_cumprod))

    def terms(self) -> dict[str, float | int]:
        """The arguments of the paper's formula, delta left out."""
        names = ("num_dimensions", "num_records", "batch_size_1", "steps_1", "sample_rate_2", "steps_2", "noise_multiplier")
        return {name: getattr(self, name) for name in names} | {"alphas_cumprod": self.alphas_cumprod}

    def paper_stages(self) -> list[Stage]:
        """Phase I as printed, whose regression targets are not covered by the proof, and phase II."""
        event = UnprovedDpEvent("The regression target of phase I gives the record back.", "refuted")
        return [Stage("phase I", event, "per_step", self.steps_1, sampling="Poisson batches"), self.phase_2()]

    def renoised_stages(self) -> list[Stage]:
        """Phase I on renoised targets and phase II."""
        event = FixedBatchGaussianDpEvent(self.num_records, self.batch_size_1, self.phase_one_multiplier)
        return [Stage("phase I", event, "per_step", self.steps_1, ("REPLACE_SPECIAL", "REPLACE_ONE"), "fixed-size batches"), self.phase_2()]

    def phase_2(self) -> Stage:
        """DP-SGD on the small time steps."""
        event = dp_event.PoissonSampledDpEvent(self.sample_rate_2, dp_event.GaussianDpEvent(self.noise_multiplier))
        return Stage("DP-SGD", event, "per_step", self.steps_2, sampling="Poisson batches")
