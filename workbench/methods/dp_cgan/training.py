"""DP-CGAN's training: private steps of the discriminator, and ordinary ones of the generator between them."""

from collections.abc import Iterator

from workbench.methods.dp_cgan.method import DPCGANConfig
from workbench.models.adversarial import private
from workbench.models.adversarial.private import initial_state, sample
from workbench.records import Records
from workbench.training.state import State, Step

__all__ = ["fit", "initial_state", "sample"]


def fit(config: DPCGANConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """Counts of labels if asked for; then the two networks in turns."""
    yield from private.fit(config, data, state)
