"""The method: what it needs to be planned; what trains and samples is loaded when it starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.base import CalibratedField, Method, MethodConfig, Preset, Reading, Target, Workload
from workbench.methods.dpgen import presets
from workbench.methods.dpgen.config import DPGENConfig
from workbench.methods.fields import with_values
from workbench.models.recovery import config as recovery
from workbench.models.recovery.claim import FORMULA, randomized_response
from workbench.models.sample_request import SampleRequest
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import Records
from workbench.training.state import State, Step


class DPGEN(Method):
    """An energy-guided score model on recovery directions that randomised response chose among neighbours."""

    name = "dpgen"
    title = "DPGEN"
    source = "Chen et al. 2022"
    Config = DPGENConfig
    presets: ClassVar[dict[str, Preset]] = presets.PRESETS
    readings: ClassVar[Mapping[str, Reading]] = {"dpgen": Reading("DPGEN", "published", FORMULA, {"responses.epsilon": "eps"})}
    released: ClassVar[tuple[str, ...]] = ("ema",)
    sampling_fields: ClassVar[tuple[str, ...]] = ("langevin.steps_per_level", "langevin.step_share")
    workload: ClassVar[Workload] = Workload({recovery.SCORE: ("training.batch_size",)}, ("network",))
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

    def initial_state(self, facts: DatasetFacts, state: State) -> State:
        """The network, its moving average, an Adam, and room for triples."""
        from workbench.models.recovery import scores

        return scores.initial_state(self.config, facts, state)

    def fit(self, data: Records, public: Records | None, state: State) -> Iterator[Step]:
        """Make the triples once, then train on them alone."""
        from workbench.diffusion.langevin import noise_levels
        from workbench.models.recovery import scores, triples

        yield from triples.release(self.config, data, noise_levels(self.config.langevin, state.facts.dimensions), state)
        yield from scores.trainer(self.config, state).run()

    def sample(self, state: State, request: SampleRequest) -> Records:
        """Images by annealed Langevin sampling."""
        from workbench.models.recovery import scores

        return scores.draw_samples(self.config, state, request)
