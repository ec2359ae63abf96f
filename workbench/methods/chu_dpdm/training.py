"""Chu et al.'s training: the hybrid loss under an adaptive threshold, clipped by record or, as Algorithm 1 prints it, by batch."""

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from workbench import networks
from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.methods.chu_dpdm import losses
from workbench.methods.chu_dpdm.batch_clipping import BatchClippedTraining
from workbench.methods.chu_dpdm.config import ChuDPDMConfig
from workbench.methods.chu_dpdm.stages import TRAINING
from workbench.models import image_diffusion
from workbench.records import Records
from workbench.training.entries import Images
from workbench.training.microbatch import Microbatch
from workbench.training.poisson import fixed_size_batch, poisson_batch
from workbench.training.private_training import PrivateTraining
from workbench.training.row_losses import RowLosses
from workbench.training.state import State, Step

THRESHOLD = f"{TRAINING}: threshold"


def initial_state(config: ChuDPDMConfig, facts: DatasetFacts, state: State) -> State:
    """A network whose output has room for variances, its moving average and Adam."""
    network = image_diffusion.new_network(config, facts, state, outputs=2)
    state.modules = {"network": network, "ema": image_diffusion.new_ema(config, network, state)}
    state.optimizers = {TRAINING: torch.optim.Adam(network.parameters(), lr=config.training.learning_rate)}
    return state


def fit(config: ChuDPDMConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
    """Algorithm 1 in the reading of the configuration; every threshold is taken after its step is spent."""
    network, ema = state.modules["network"], state.modules["ema"]
    assert isinstance(ema, networks.ExponentialMovingAverage)
    entries = image_diffusion.entries(data, state.device)
    groups = losses.parameter_groups(config, network)

    def row_losses(batch: tuple[Tensor, ...]) -> RowLosses:
        return losses.hybrid_losses(config, network, batch)

    def learning_rate(step: int) -> float:
        epoch = int((step - 1) * config.training.sample_rate(state.facts.num_records))
        return config.training.learning_rate_at(step) * config.decay.factor(epoch)

    thresholds = _thresholds(config, entries, data.mask, public, state)
    if config.training.clipping == "batch":
        printed = BatchClippedTraining(config.training, state, entries, row_losses, data.mask, groups, thresholds, learning_rate)
        yield from printed.run()
        return
    yield from PrivateTraining(
        config.training,
        TRAINING,
        network,
        state,
        entries,
        row_losses,
        present=data.mask,
        average=ema,
        groups=groups,
        thresholds=thresholds,
        learning_rate=learning_rate,
    ).run()


def _thresholds(
    config: ChuDPDMConfig, private: tuple[Images, Tensor], present: np.ndarray, public: Records | None, state: State
) -> Callable[[int], tuple[float, ...]]:
    """The clipping norms of a step, one a group: the mean gradient norm of a public batch, or of the step's own private one."""
    network, training = state.modules["network"], config.training
    groups = losses.parameter_groups(config, network)
    if training.threshold == "public" and public is None:
        raise WorkbenchError(f"Expected public records of {config.public.dataset!r} for the clipping threshold, got none.")
    entries = private if public is None or training.threshold == "private" else image_diffusion.entries(public, state.device)

    def chosen(step: int) -> np.ndarray:
        if training.threshold == "public":
            draw = state.randomness.torch_generator(f"{THRESHOLD} batch", step)
            return torch.randint(len(entries[0]), (config.public.batch_size,), generator=draw).numpy()
        count = len(private[0])
        batch = (
            fixed_size_batch(state.randomness, f"{TRAINING} batch", step, count, round(training.batch_size))
            if training.clipping == "batch"
            else poisson_batch(state.randomness, f"{TRAINING} batch", step, count, training.sample_rate(state.facts.num_records))
        )
        return batch[present[batch]]

    def thresholds(step: int) -> tuple[float, ...]:
        places = chosen(step)
        index = torch.from_numpy(places).to(state.device)
        (scale,) = training.thresholds_at(step)
        if not len(index):
            return (scale * config.least_threshold,) * len(groups)
        found = losses.hybrid_losses(config, network, tuple(values[index] for values in entries))
        found = losses.with_draws(found, config.diffusion.timesteps, state.randomness.torch_generator(f"{THRESHOLD} draws", step))
        part = Microbatch(step, np.arange(len(index)), places, 1, state.randomness, THRESHOLD, state.device)
        return tuple(scale * norm for norm in losses.mean_norms(network, found, part, groups, config.least_threshold))

    return thresholds
