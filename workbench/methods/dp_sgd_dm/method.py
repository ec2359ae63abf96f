"""DP-SGD DM, the plain baseline of dp-promise (Wang et al. 2024, section 6.1): public pre-training, then DP-SGD at all time steps."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from pydantic import Field

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import Preset, Reading
from workbench.methods.dp_promise import phases
from workbench.methods.dp_promise import published as dp_promise
from workbench.methods.pretrained import FineTuned, GuidedDiffusion, Pretrained, TunedStart
from workbench.models.settings import DP_SGD, check_model, default_network
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.training.dp_sgd import DPSGD


class Training(DPSGD):
    """DP-SGD on all time steps."""

    max_grad_norm: float = Field(default=0.01, ge=1e-6, le=1e6, description="Clipping norm C of a record's gradient.")
    noise_multiplicity: int = Field(default=2, ge=1, description="Noise samples K that a record's loss is averaged over.")


class DPSGDDMConfig(GuidedDiffusion, TunedStart):
    """Hyper-parameters of DP-SGD DM; None stands for what calibration finds."""

    training: Training = Training()  # pyright: ignore[reportIncompatibleVariableOverride]  # frozen


FORMULA = "mu = (m/n) sqrt(N (e^(1/sigma^2) - 1))"
NOTATION = {"num_records": "n", "training.batch_size": "m", "training.steps": "N", "training.noise_multiplier": "sigma"}
READINGS = {"dp-sgd-dm": Reading("DP-SGD on a diffusion model after public pre-training", "published", FORMULA, NOTATION)}


def claimed(*, sample_rate: float, steps: int, noise_multiplier: float, delta: float) -> PrivacyValue:
    """Lemma 5: mu = (m/n) sqrt(N (exp(1/sigma^2) - 1)), converted to (epsilon, delta); `sample_rate` is m/n, `steps` N."""
    both_phases = phases.claimed(
        num_dimensions=0,
        num_records=1,
        alphas_cumprod=0.0,
        batch_size_1=0,
        steps_1=0,
        sample_rate_2=sample_rate,
        steps_2=steps,
        noise_multiplier=noise_multiplier,
        delta=delta,
    )
    words = {"reason": "A central-limit value is not a bound.", "source": "Wang et al. 2024 (dp-promise), Lemma 5, of its baseline"}
    return both_phases.model_copy(update=words)


# Images of 28x28 and more: what dp-promise's defaults are there (workbench/methods/dp_promise/method.py).
LARGE: dict[str, Any] = {
    "pretraining.steps": 600,
    "pretraining.learning_rate": 6e-4,
    "training.steps": 300,
    "training.learning_rate": 6e-4,
    "training.noise_multiplicity": 1,
    "ema_decay": 0.99,
}


def published(facts: DatasetFacts, epsilon: float) -> dict[str, Any]:
    """The authors' sizes and noise for `epsilon`: "architecture and parameters as close to dp-promise as possible" (section 6.1)."""
    theirs = {name: value for name, value in dp_promise.published(facts, epsilon).items() if name not in ("boundary", "targets")}
    return {name.replace("phase_two.", "training."): value for name, value in theirs.items() if not name.startswith("phase_one.")}


def published_preset(epsilon: float) -> Preset:
    """dp-promise's settings for a claim of `epsilon`."""
    return Preset(
        f"dp-promise's published settings for epsilon {epsilon:g}, its noise too, on the published dataset most like this one; "
        "what its phase one spends stays unspent.",
        partial(published, epsilon=epsilon),
        dp_promise.delta,
        dp_promise.note,
    )


PRESETS = Pretrained.presets | {
    "published": published_preset(10),
    "published-5": published_preset(5),
    "published-1": published_preset(1),
    "published-0.2": published_preset(0.2),
    "published-infinity": published_preset(math.inf),
}


class DPSGDDM(FineTuned[DPSGDDMConfig]):
    """Public pre-training, then DP-SGD on the whole diffusion model at all time steps."""

    name = "dp-sgd-dm"
    title = "DP-SGD DM"
    source = "Wang et al. 2024, section 6.1, baseline"
    Config = DPSGDDMConfig
    implementation = "workbench.methods.dp_sgd_dm.training"
    presets: ClassVar[dict[str, Preset]] = PRESETS
    readings: ClassVar[Mapping[str, Reading]] = READINGS

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """The U-Net of the image size, and sizes that a laptop trains in minutes (8x8) or about two hours (28x28)."""
        large = facts.dimensions > 300
        size = {"training.batch_size": min(1000 if large else 450, facts.num_records)}
        return {"network": default_network(facts), **(LARGE if large else {}), **size}

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """Pre-training (free), DP-SGD."""
        check_model(self.config, facts)
        return super().stages(facts)

    def claim_of_paper(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """Lemma 5 of the paper: the central limit of DP-SGD, converted from GDP to DP."""
        return claimed(**self.config.training.terms(DP_SGD, facts.num_records), delta=delta)
