"""DP-CGAN's training: private steps of the discriminator, and ordinary ones of the generator between them."""

from collections.abc import Iterator

from workbench.datasets.base import DatasetFacts
from workbench.methods.dp_cgan import coded
from workbench.methods.dp_cgan.method import DPCGANConfig
from workbench.models import label_counts
from workbench.models.adversarial import private
from workbench.models.adversarial.private import sample
from workbench.records import Records
from workbench.training.state import State, Step

__all__ = ["fit", "initial_state", "sample"]


def initial_state(config: DPCGANConfig, facts: DatasetFacts, state: State) -> State:
    """Generator, discriminator and their optimisers; as coded, the discriminator normalises over batches."""
    shape = config.critic if config.training.form == "clipped" else config.critic.model_copy(update={"normalization": "group"})
    change = coded.normalise_over_batches if config.training.form == "coded" else None
    return private.initial_state(config.model_copy(update={"critic": shape}), facts, state, change)


def fit(config: DPCGANConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """Counts of labels if asked for; then the two networks in turns, or as coded."""
    if config.training.form == "coded":
        yield from label_counts.release(config.labels, data, state)
        yield from coded.fit(config, data, state)
        return
    yield from private.fit(config, data, state)
