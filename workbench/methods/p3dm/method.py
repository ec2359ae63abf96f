"""The method: what it needs to be planned; what trains and samples is loaded when it starts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.base import CalibratedField, Method, MethodConfig, Preset, Reading, Target, Workload
from workbench.methods.fields import with_values
from workbench.methods.p3dm import presets, stages
from workbench.methods.p3dm.config import P3DMConfig
from workbench.methods.p3dm.stages import CLASSIFIER
from workbench.models.recovery import config as recovery
from workbench.models.recovery.claim import FORMULA, randomized_response
from workbench.models.sample_request import SampleRequest
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import Records
from workbench.training.state import State, Step

if TYPE_CHECKING:
    from workbench.privacy.not_dp.pac import PacNoise

SHAPES = ("network", "classifier", "unprotected.batch_size", "private.batch_size", "private.noise_multiplicity")


class P3DM(Method):
    """DPGEN's score model with a classifier of noised private records that steers Langevin sampling."""

    name = "p3dm"
    title = "P3DM"
    source = "Xu et al. 2024, sections 3.2 and 4"
    Config = P3DMConfig
    presets: ClassVar[dict[str, Preset]] = presets.PRESETS
    readings: ClassVar[Mapping[str, Reading]] = {
        "p3dm": Reading(
            "P3DM", "published", f"{FORMULA}; PAC privacy beside it: MI(X; M(X) + B) <= v + beta", {"responses.epsilon": "eps"}, "celeba"
        )
    }
    released: ClassVar[tuple[str, ...]] = ("ema",)
    kept_private: ClassVar[tuple[str, ...]] = (CLASSIFIER,)
    sampling_fields: ClassVar[tuple[str, ...]] = ("guidance.scale", "guidance.step", "langevin.steps_per_level", "langevin.step_share")
    workload: ClassVar[Workload] = Workload({recovery.SCORE: ("training.batch_size",)}, SHAPES)
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("responses.epsilon", high=1e3, increasing=True),)
    targets: ClassVar[frozenset[Target]] = frozenset({"claim"})
    config: P3DMConfig

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """The U-Net of the image size; fewer triples where there are many records; the first attribute where there are no classes."""
        return presets.defaults(facts)

    @classmethod
    def calibrated(cls, config: MethodConfig, facts: DatasetFacts, epsilon: float, delta: float, target: Target) -> Self:
        """The randomised response that claims `epsilon`; no bound can be met."""
        if target == "bound":
            raise WorkbenchError(f"No setting bounds this run. {recovery.REASON} Use the target 'claim'.")
        return cls(with_values(config, {"responses.epsilon": epsilon}))

    @property
    def guiding_attribute(self) -> str:
        """The attribute that samples are steered by; empty where it is their class."""
        return self.config.attribute

    @property
    def private_guides(self) -> tuple[str, ...]:
        """The classifier."""
        return (CLASSIFIER,)

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """The triples, which nothing bounds, what learns from them, the classifier, and the noise determination."""
        return stages.stages(self.config, facts)

    def sampling_stages(self, facts: DatasetFacts, request: SampleRequest) -> list[Stage]:
        """Each request asks the classifier again: infinity, unless DP-SGD trained it."""
        return stages.sampling_stages(self.config)

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """The randomised response's epsilon, in the paper's words a hyperparameter."""
        return randomized_response(epsilon=self.config.responses.epsilon, delta=delta, source=self.source)

    def pac_noise(self, state: State, request: SampleRequest) -> PacNoise:
        """Algorithm 3 on samples of the one model that there is, which bounds nothing; the labels say so."""
        from workbench.methods.p3dm import training

        return training.pac_noise(self.config, state, request)

    def claimed_stages(self, facts: DatasetFacts) -> list[Stage]:
        """The randomised response of an index, once."""
        return recovery.claimed_stages(self.config)

    def initial_state(self, facts: DatasetFacts, state: State) -> State:
        """The score network, its moving average, the classifier, an Adam each, and room for triples."""
        from workbench.methods.p3dm import training

        return training.initial_state(self.config, facts, state)

    def fit(self, data: Records, public: Records | None, state: State) -> Iterator[Step]:
        """Triples, score network, classifier, noise determination."""
        from workbench.methods.p3dm import training

        yield from training.fit(self.config, data, state)

    def sample(self, state: State, request: SampleRequest) -> Records:
        """Images steered to values drawn at random."""
        from workbench.methods.p3dm import training

        return training.sample(self.config, state, request)
