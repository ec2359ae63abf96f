"""DP-GAN's training: private steps of the critic, and ordinary ones of the generator between them."""

from collections.abc import Iterator

from workbench.datasets.base import DatasetFacts
from workbench.methods.dp_gan.method import DPGANConfig
from workbench.models.adversarial import private
from workbench.models.adversarial.private import sample
from workbench.records import Records
from workbench.training.state import State, Step

__all__ = ["fit", "initial_state", "sample"]


def initial_state(config: DPGANConfig, facts: DatasetFacts, state: State) -> State:
    """Generator and critic with their optimisers, and the generator's average."""
    return private.initial_state(config, facts, state)


def fit(config: DPGANConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """Counts of labels if asked for; then the two networks in turns, the critic's weights cut off."""
    yield from private.fit(config, data, state, weight_limit=config.weight_limit)
