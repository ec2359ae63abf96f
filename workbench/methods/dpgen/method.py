"""DPGEN (Chen et al. 2022): a score model that learns to recover noised records to others, which randomised response chooses.

Its claim is that of the randomised index; the triples show records verbatim, so nothing is proved. For study.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from pydantic import Field

from workbench.datasets.base import DatasetFacts
from workbench.diffusion.langevin import LangevinConfig
from workbench.errors import WorkbenchError
from workbench.methods.base import CalibratedField, Method, MethodConfig, Preset, Reading, Target
from workbench.methods.fields import with_values
from workbench.models.recovery import config as recovery
from workbench.models.recovery.claim import FORMULA, randomized_response
from workbench.models.recovery.config import Responses, ScoreTraining
from workbench.networks import UNetConfig
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue


class DPGENConfig(MethodConfig):
    """Hyper-parameters of DPGEN."""

    responses: Responses = Responses()
    training: ScoreTraining = ScoreTraining()
    ema_decay: float = Field(default=0.99, ge=0, lt=1, description="Decay of the moving average that samples come from.")
    network: UNetConfig = UNetConfig()
    langevin: LangevinConfig = LangevinConfig()


def published(_facts: DatasetFacts) -> dict[str, Any]:
    """The published code's candidates, levels and steps for images of 28x28; P3DM prints epsilon 5, 10 and 15."""
    return {
        "responses.epsilon": 10.0,
        "responses.num_candidates": 64,
        "responses.candidates": "batch",
        "responses.conditional": False,
        "langevin.largest": 50.0,
        "langevin.smallest": 0.01,
        "langevin.levels": 232,
        "langevin.steps_per_level": 5,
        "langevin.step_share": 0.062,
    }


PRESETS = Method.presets | {
    "published": Preset("Epsilon 10 over random batches of 64, with the published noise levels of 28x28 images; no labels.", published)
}


class DPGEN(Method):
    """An energy-guided score model on recovery directions that randomised response chose among neighbours."""

    name = "dpgen"
    title = "DPGEN"
    source = "Chen et al. 2022"
    Config = DPGENConfig
    implementation = "workbench.methods.dpgen.training"
    presets: ClassVar[dict[str, Preset]] = PRESETS
    readings: ClassVar[Mapping[str, Reading]] = {"dpgen": Reading("DPGEN", "published", FORMULA, {"responses.epsilon": "eps"})}
    released: ClassVar[tuple[str, ...]] = ("ema",)
    sampling_fields: ClassVar[tuple[str, ...]] = ("langevin.steps_per_level", "langevin.step_share")
    shapes: ClassVar[tuple[str, ...] | None] = ("network",)
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("responses.epsilon", high=1e3, increasing=True),)
    targets: ClassVar[frozenset[Target]] = frozenset({"claim"})
    config: DPGENConfig

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """The U-Net of the image size; fewer triples a record where there are many records."""
        return recovery.defaults(facts)

    @classmethod
    def calibrated(cls, config: MethodConfig, facts: DatasetFacts, epsilon: float, delta: float, target: Target) -> Self:
        """The randomised response that claims `epsilon`; no bound can be met."""
        if target == "bound":
            raise WorkbenchError(f"No setting bounds this run. {recovery.REASON} Use the target 'claim'.")
        return cls(with_values(config, {"responses.epsilon": epsilon}))

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """The triples, which nothing bounds, and the network that learns from them."""
        self.config.network.check_patches(*facts.shape[1:])
        return recovery.stages(self.config)

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """The randomised response's epsilon."""
        return randomized_response(epsilon=self.config.responses.epsilon, delta=delta, source=self.source)

    def claimed_stages(self, facts: DatasetFacts) -> list[Stage]:
        """The randomised response of an index, once."""
        return recovery.claimed_stages(self.config)
