"""The method: what it needs to be planned; what trains and samples is loaded when it starts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import Method, Workload
from workbench.methods.nonprivate import stages
from workbench.methods.nonprivate.config import NonPrivateConfig
from workbench.methods.nonprivate.stages import TRAINING
from workbench.models.sample_request import SampleRequest, Source
from workbench.models.settings import default_network
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import Records
from workbench.training.state import State, Step

if TYPE_CHECKING:
    from workbench.models.denoising import Denoiser


class NonPrivate(Method):
    """Ordinary training; it has no guarantee, and says so."""

    name = "nonprivate"
    title = "Diffusion without privacy"
    source = "Ho, Jain and Abbeel 2020"
    Config = NonPrivateConfig
    released: ClassVar[tuple[str, ...]] = ("ema",)
    sampling_fields: ClassVar[tuple[str, ...]] = ("sampler",)
    workload: ClassVar[Workload] = Workload({TRAINING: ("training.batch_size",)}, ("network",))
    config: NonPrivateConfig

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """The U-Net of the image size, a smaller learning rate from 18x18 pixels on, no batch above the records."""
        large = facts.dimensions > 300
        sizes = {"training.learning_rate": 2e-4 if large else 1e-3, "training.batch_size": min(128, facts.num_records)}
        return {"network": default_network(facts), **sizes}

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """One stage whose every step shows the gradient of private records."""
        return stages.stages(self.config, facts)

    def claim(self, facts: DatasetFacts, delta: float) -> PrivacyValue:
        """No paper claims privacy for it."""
        return PrivacyValue(
            epsilon=float("inf"),
            delta=delta,
            status="not_proved",
            reason="Ordinary training makes no privacy claim. It is here as the utility that privacy is paid from.",
            source=self.source,
        )

    def initial_state(self, facts: DatasetFacts, state: State) -> State:
        """A network, its moving average and Adam."""
        from workbench.methods.nonprivate import training

        return training.initial_state(self.config, facts, state)

    def fit(self, data: Records, public: Records | None, state: State) -> Iterator[Step]:
        """Minimise the denoising loss on the private records themselves."""
        from workbench.methods.nonprivate import training

        yield from training.fit(self.config, data, state)

    def sample(self, state: State, request: SampleRequest) -> Records:
        """Images from the moving average of the weights."""
        from workbench.models import image_diffusion

        return image_diffusion.draw_samples(self.config, image_diffusion.averaged(state), state, request)

    def denoiser(self, state: State, source: Source = "model") -> Denoiser:
        """The moving average of the weights."""
        from workbench.models import denoising, image_diffusion

        return denoising.of_diffusion(self.config, image_diffusion.averaged(state), state)
