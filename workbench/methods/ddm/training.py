"""The denoiser's training: cross-entropy of the clean record, by DP-SGD or by ordinary steps on the records themselves."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from workbench import networks
from workbench.datasets.base import DatasetFacts
from workbench.diffusion.discrete import Denoise, DiscreteDiffusion, alphas_cumprod, build_discrete, denoiser, generate
from workbench.diffusion.discrete import bound_terms as discrete_bound_terms
from workbench.errors import WorkbenchError
from workbench.methods.ddm.method import DP_SGD, TRAINING, DDMConfig
from workbench.models.sample_request import SampleRequest
from workbench.models.table_columns import records, rows, sizes
from workbench.networks import ExponentialMovingAverage
from workbench.privacy.not_dp.discrete_chain import DiscreteChain
from workbench.privacy.not_dp.per_instance import DenoiserError, Leakage, denoiser_gap, marginal_gap
from workbench.privacy.not_dp.released_chain import chain_leakage
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


def fit(config: DDMConfig, data: Records, public: Records | None, state: State) -> Iterator[Step]:
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


SAMPLE_BATCH = 4_000
MOST_BATCHES = 100  # of rows drawn for a class that is asked for


def sample(config: DDMConfig, state: State, request: SampleRequest) -> Records:
    """Rows as the model draws them, classes in the shares that it learned; of classes that are asked for, those rows alone."""
    labels = request.asked_labels(state.facts.num_classes)
    if labels is not None:
        return records(state.facts, of_classes(config, state, replace(request, labels=labels), labels), request)
    drawn = np.concatenate([batch(config, state, request, number) for number in range(-(-request.num_samples // SAMPLE_BATCH))])
    return records(state.facts, drawn[: request.num_samples], request)


def of_classes(config: DDMConfig, state: State, request: SampleRequest, labels: np.ndarray) -> np.ndarray:
    """Rows of the model whose class is the one asked for at each place, drawn until there are enough: (N, n)."""
    missing = np.bincount(labels, minlength=state.facts.num_classes)
    kept: dict[int, list[np.ndarray]] = {label: [] for label in np.flatnonzero(missing).tolist()}
    for number in range(MOST_BATCHES):
        drawn = batch(config, state, request, number)
        for label, parts in kept.items():
            chosen = drawn[drawn[:, -1] == label][: missing[label]]
            missing[label] -= len(chosen)
            parts.append(chosen)
        if not missing.any():
            break
    else:
        name = state.facts.classes[int(missing.argmax())]
        tried = MOST_BATCHES * SAMPLE_BATCH
        raise WorkbenchError(f"Expected rows of class {name!r}, got too few in {tried} that the model drew. Ask for no class.")
    made = np.empty((len(labels), state.facts.dimensions + 1), np.int64)
    for label, parts in kept.items():
        made[labels == label] = np.concatenate(parts)
    return made


def batch(config: DDMConfig, state: State, request: SampleRequest, number: int) -> np.ndarray:
    """The request's `number`-th batch of rows with their class: int64 (SAMPLE_BATCH or all that are asked for, n)."""
    generator = state.randomness.torch_generator(request.purpose, number, state.device)
    process = diffusion(config, state.facts)
    count = SAMPLE_BATCH if request.labels is not None else min(SAMPLE_BATCH, request.num_samples - number * SAMPLE_BATCH)
    with state.performance.autocast(state.device):
        values = generate(averaged_denoiser(config, state), process, count, generator, release_time=config.release_time)
    return values.cpu().numpy()


def bound_terms(config: DDMConfig, state: State, data: Records, seed: int) -> dict[str, np.ndarray]:
    """Each term of the bound for every record, in nats, float64 (N,)."""
    process, denoise = diffusion(config, state.facts), averaged_denoiser(config, state)
    generator = torch.Generator(state.device).manual_seed(seed)
    parts = [discrete_bound_terms(denoise, process, part, generator) for part in entries(data, state).split(SAMPLE_BATCH)]
    return {name: torch.cat([part[name] for part in parts]).double().cpu().numpy() for name in parts[0]}


def averaged_denoiser(config: DDMConfig, state: State) -> Denoise:
    """What the moving average of the weights says of clean records."""
    ema = state.modules["ema"]
    assert isinstance(ema, ExponentialMovingAverage)
    return denoiser(diffusion(config, state.facts), ema.module)


def per_instance(
    config: DDMConfig,
    facts: DatasetFacts,
    data: Records,
    num_draws: int,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> Leakage:
    """J of every record (N,), exactly where the table is small, else by `num_draws` chains; 0 for null records."""
    present, categories = np.flatnonzero(data.mask), np.array(sizes(facts))
    informed = informative(facts)
    leakage = chain_leakage(
        rows(facts, data)[present][:, informed],
        categories[informed],
        alphas_cumprod(config.diffusion),
        num_draws=num_draws,
        seed=seed,
        release_step=config.release_time,
        smoothing=config.diffusion.smoothing,
        progress=progress,
    )
    names = ("per_step", "total", "standard_error", "first_error")
    whole = {name: np.zeros((*getattr(leakage, name).shape[:-1], len(data))) for name in names}
    for name in names:
        whole[name][..., present] = getattr(leakage, name)
    return replace(leakage, **whole)


def informative(facts: DatasetFacts) -> np.ndarray:
    """Which columns of the model have more than one category, bool (n,): the others tell nothing."""
    return np.array(sizes(facts)) > 1


NUM_TIMES = 8  # time steps that are looked at, evenly over all
DENOISED = 300  # noised records that the two denoisers are compared on: each meets every record
PATHS = 2_000  # draws of either process whose marginals are compared


def denoiser_error(config: DDMConfig, state: State, data: Records, seed: int) -> DenoiserError:
    """gamma_t and gamma~_t of the averaged denoiser at some time steps, the first and the last among them."""
    informed, facts = informative(state.facts), state.facts
    table, categories = rows(facts, data)[data.mask][:, informed], np.array(sizes(facts))[informed]
    chain = DiscreteChain.of(table, categories, alphas_cumprod(config.diffusion), config.diffusion.smoothing)
    process, denoise = diffusion(config, facts), averaged_denoiser(config, state)
    times = np.unique(np.linspace(1, chain.timesteps, NUM_TIMES).round().astype(np.int64))
    predict = predictor(denoise, state.device, informed, chain.width)
    paths = reverse_paths(denoise, process, times, torch.Generator(state.device).manual_seed(seed))
    draw = np.random.default_rng(seed)
    forward = {t: (chain.forward_draws(t, PATHS, draw), chain.forward_draws(t, PATHS, draw)) for t in times.tolist()}
    return DenoiserError(
        timesteps=times,
        gamma=np.array([denoiser_gap(chain, t, predict, DENOISED, seed) for t in times.tolist()]),
        gamma_tilde=np.array([marginal_gap(forward[t][0], paths[t][:, informed], categories) for t in times.tolist()]),
        floor=np.array([marginal_gap(*forward[t], categories) for t in times.tolist()]),
    )


def predictor(denoise: Denoise, device: torch.device, columns: np.ndarray, width: int) -> Callable[[np.ndarray, int], np.ndarray]:
    """What the denoiser says of the columns `columns`: (values (B, n), t) -> probabilities (B, n, width)."""

    def predict(values: np.ndarray, t: int) -> np.ndarray:
        whole = np.zeros((len(values), len(columns)), np.int64)
        whole[:, columns] = values
        with torch.no_grad():
            chances = denoise(torch.from_numpy(whole).to(device), torch.full((len(values),), t, device=device))
        return chances.double().cpu().numpy()[:, columns, :width]

    return predict


def reverse_paths(denoise: Denoise, process: DiscreteDiffusion, times: np.ndarray, generator: torch.Generator) -> dict[int, np.ndarray]:
    """Where the trained reverse chain stands at each of `times`: int64 (PATHS, n)."""
    start = torch.rand((PATHS, process.num_columns), generator=generator, device=generator.device)
    first = (start * process.tables(generator.device).categories).long()
    paths = {process.timesteps: first.cpu().numpy()}

    def keep(done: int, x: Tensor) -> None:
        if (t := process.timesteps - done) in times:
            paths[t] = x.cpu().numpy()

    generate(denoise, process, PATHS, generator, on_step=keep)
    return paths
