"""The method: one stage of ordinary steps, which have no guarantee."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from workbench.datasets.base import DatasetFacts
from workbench.lazy import torch
from workbench.methods.base import Method, SampleRequest, Workload
from workbench.methods.nonprivate.config import NonPrivateConfig
from workbench.models import image_diffusion
from workbench.privacy.accounting.stages import Stage
from workbench.privacy.accounting.values import PrivacyValue
from workbench.records import Records
from workbench.training.state import State, Step

STAGE = "training"


class NonPrivate(Method):
    """Ordinary training; it has no guarantee, and says so."""

    name = "nonprivate"
    title = "Diffusion without privacy"
    source = "Ho, Jain and Abbeel 2020"
    Config = NonPrivateConfig
    released: ClassVar[tuple[str, ...]] = ("ema",)
    workload: ClassVar[Workload] = Workload({STAGE: ("training.batch_size",)}, ("network",))
    config: NonPrivateConfig

    @classmethod
    def defaults(cls, facts: DatasetFacts) -> dict[str, Any]:
        """The U-Net of the image size, a smaller learning rate from 18x18 pixels on, no batch above the records."""
        large = facts.dimensions > 300
        sizes = {"training.learning_rate": 2e-4 if large else 1e-3, "training.batch_size": min(128, facts.num_records)}
        return {"network": image_diffusion.default_network(facts), **sizes}

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """One stage whose every step shows the gradient of private records."""
        image_diffusion.check_sampler(self.config)
        return [self.config.training.unprotected_stage(STAGE, facts.num_records)]

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
        network = image_diffusion.new_network(self.config, facts, state)
        state.modules = {"network": network, "ema": image_diffusion.new_ema(self.config, network, state)}
        state.optimizers = {STAGE: torch.optim.Adam(network.parameters(), lr=self.config.training.learning_rate)}
        return state

    def fit(self, data: Records, public: Records | None, state: State) -> Iterator[Step]:
        """Minimise the denoising loss on the private records themselves."""
        from workbench.training.ordinary_training import OrdinaryTrainer

        settings = self.config.training
        loss = image_diffusion.ordinary_loss(self.config, data, state, STAGE, settings.batch_size, self.config.label_dropout)
        yield from OrdinaryTrainer(settings, STAGE, state, loss, private=True, averages={"ema": "network"}).run()

    def sample(self, state: State, request: SampleRequest) -> Records:
        """Images from the moving average of the weights."""
        return image_diffusion.draw_samples(self.config, image_diffusion.averaged(state), state, request)
