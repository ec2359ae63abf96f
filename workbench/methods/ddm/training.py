"""The denoiser's training: cross-entropy of the clean record, by DP-SGD or by ordinary steps on the records themselves."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from workbench import networks
from workbench.datasets.base import DatasetFacts
from workbench.diffusion.discrete import DiscreteDiffusion, build_discrete
from workbench.methods.ddm.config import DDMConfig
from workbench.methods.ddm.stages import DP_SGD, TRAINING
from workbench.models.table_columns import rows, sizes
from workbench.records import Records
from workbench.training.microbatch import Microbatch
from workbench.training.ordinary_training import OrdinaryTrainer
from workbench.training.private_training import PrivateTraining
from workbench.training.row_losses import RowLosses
from workbench.training.state import State, Step


def initial_state(config: DDMConfig, facts: DatasetFacts, state: State) -> State:
    """A denoiser for the table's columns, its moving average and Adam."""
    process = diffusion(config, facts)
    network = networks.initialized(
        lambda: networks.TableDenoiser(config.network, process.num_values, process.timesteps),
        state.randomness.torch_generator("initialisation"),
    ).to(state.device)
    ema = networks.ExponentialMovingAverage(network, config.ema_decay).to(state.device)
    state.modules = {"network": network, "ema": ema}
    stage, settings = (DP_SGD, config.training) if config.private else (TRAINING, config.unprotected)
    state.optimizers = {stage: torch.optim.Adam(network.parameters(), lr=settings.learning_rate)}
    return state


def fit(config: DDMConfig, data: Records, state: State) -> Iterator[Step]:
    """By private steps, or by ordinary ones."""
    yield from private_steps(config, data, state) if config.private else ordinary_steps(config, data, state)


def private_steps(config: DDMConfig, data: Records, state: State) -> Iterator[Step]:
    """DP-SGD on the whole network."""
    process, network, ema = diffusion(config, state.facts), state.modules["network"], state.modules["ema"]
    assert isinstance(ema, networks.ExponentialMovingAverage)
    yield from PrivateTraining(
        config.training,
        DP_SGD,
        network,
        state,
        (entries(data, state),),
        lambda batch: row_losses(process, network, batch),
        present=data.mask,
        average=ema,
    ).run()


def row_losses(process: DiscreteDiffusion, network: nn.Module, batch: tuple[Tensor, ...]) -> RowLosses:
    """The cross-entropies of a batch's rows for a private step, at times drawn from 1..T and one uniform value a cell."""

    def draw(part: Microbatch) -> tuple[Tensor, Tensor]:
        return part.integers(1, process.timesteps + 1), part.uniforms((process.num_columns,))

    def inputs(row: Tensor, time: Tensor, uniform: Tensor) -> tuple[Tensor, Tensor]:
        return process.encode(process.add_noise(row, uniform, time), time), time

    def loss(output: Tensor, row: Tensor, time: Tensor, uniform: Tensor) -> Tensor:
        return process.loss(output, row, process.add_noise(row, uniform, time), time)

    return RowLosses(network, batch, draw, inputs, loss)


def ordinary_steps(config: DDMConfig, data: Records, state: State) -> Iterator[Step]:
    """Minimise the loss on the private records themselves."""
    loss = ordinary_loss(config, data, state)
    yield from OrdinaryTrainer(config.unprotected, TRAINING, state, loss, private=True, averages={"ema": "network"}).run()


def ordinary_loss(config: DDMConfig, data: Records, state: State) -> Callable[[int], Tensor]:
    """The mean cross-entropy of a step: records drawn evenly, times, noise; a null record is drawn like any other and adds zero."""
    process, network = diffusion(config, state.facts), state.modules["network"]
    table, present = entries(data, state), torch.from_numpy(data.mask).to(state.device)

    def loss(step: int) -> Tensor:
        generator = state.randomness.torch_generator(f"{TRAINING} batch", step)
        count = config.unprotected.batch_size
        index = torch.randint(len(table), (count,), generator=generator).to(table.device)
        times = torch.randint(1, process.timesteps + 1, (count,), generator=generator).to(table.device)
        uniform = torch.rand((count, process.num_columns), generator=generator).to(table.device)
        x_t = process.add_noise(table[index], uniform, times)
        return (process.loss(network(process.encode(x_t, times), times), table[index], x_t, times) * present[index]).mean()

    return loss


def entries(data: Records, state: State) -> Tensor:
    """The model's columns of every record, int64 (N, n), on the state's device."""
    return torch.from_numpy(rows(state.facts, data)).to(state.device)


def diffusion(config: DDMConfig, facts: DatasetFacts) -> DiscreteDiffusion:
    """The process over the table's columns and its class."""
    return build_discrete(config.diffusion, sizes(facts))
