"""What methods have in common that pre-train on public records, if any, and then train the whole network by DP-SGD."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from workbench.datasets.base import DatasetFacts
from workbench.methods.base import CalibratedField, Workload
from workbench.methods.pretrained import ROWS, SHAPES, Pretrained
from workbench.models.settings import DP_SGD, FineTunedSettings, fine_tuned_stages
from workbench.privacy.accounting.stages import Stage
from workbench.training.state import State

ConfigT = TypeVar("ConfigT", bound=FineTunedSettings)


class FineTuned(Pretrained[ConfigT]):
    """Public pre-training, if any, then DP-SGD: what is planned. The two losses and the sampler are a method's own."""

    workload: ClassVar[Workload] = Workload(
        ROWS | {DP_SGD: ("training.batch_size", "training.noise_multiplicity")},
        ("network", "training.noise_multiplicity", *SHAPES),
    )
    calibrated_fields: ClassVar[tuple[CalibratedField, ...]] = (CalibratedField("training.noise_multiplier"),)

    def stages(self, facts: DatasetFacts) -> list[Stage]:
        """Pre-training (free), DP-SGD."""
        self.config.network.check_patches(*facts.shape[1:])
        return fine_tuned_stages(self.config, facts)

    def initial_state(self, facts: DatasetFacts, state: State) -> State:
        """The network, its moving averages (with a copy from before any private record) and an Adam for each stage."""
        from workbench.models import pretrained

        return pretrained.initial_state(self.config, facts, state, self.config.training, DP_SGD)
