"""Chu et al.'s training: the hybrid loss under an adaptive threshold, clipped by record or, as Algorithm 1 prints it, by batch."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn

from workbench import networks
from workbench.datasets.base import DatasetFacts
from workbench.diffusion import GaussianDiffusion, SamplerConfig, build_diffusion, generate
from workbench.diffusion.guidance import Model
from workbench.diffusion.learned_variance import LearnedVariances, learned_ancestral
from workbench.errors import WorkbenchError
from workbench.methods.chu_dpdm.method import TRAINING, ChuDPDMConfig
from workbench.models import denoising, image_diffusion
from workbench.models.denoising import Denoiser
from workbench.models.sample_request import SampleRequest, Source
from workbench.records import Records
from workbench.training.entries import Images
from workbench.training.microbatch import Microbatch
from workbench.training.per_record import PerRecordGradients
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
    groups = parameter_groups(config, network)

    def row_losses(batch: tuple[Tensor, ...]) -> RowLosses:
        return hybrid_losses(config, network, batch)

    def learning_rate(step: int) -> float:
        epoch = int((step - 1) * config.training.sample_rate(state.facts.num_records))
        return config.training.learning_rate_at(step) * config.decay.factor(epoch)

    thresholds = _thresholds(config, entries, data.mask, public, state)
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
    groups = parameter_groups(config, network)
    if training.threshold == "public" and public is None:
        raise WorkbenchError(f"Expected public records of {config.public.dataset!r} for the clipping threshold, got none.")
    entries = private if public is None or training.threshold == "private" else image_diffusion.entries(public, state.device)

    def chosen(step: int) -> np.ndarray:
        if training.threshold == "public":
            draw = state.randomness.torch_generator(f"{THRESHOLD} batch", step)
            return torch.randint(len(entries[0]), (config.public.batch_size,), generator=draw).numpy()
        batches = training.private_steps(TRAINING, state.facts.num_records).batches
        batch = batches.drawn(state.randomness, f"{TRAINING} batch", step, len(private[0]))
        return batch[present[batch]]

    def thresholds(step: int) -> tuple[float, ...]:
        places = chosen(step)
        index = torch.from_numpy(places).to(state.device)
        (scale,) = training.thresholds_at(step)
        if not len(index):
            return (scale * config.least_threshold,) * len(groups)
        losses = hybrid_losses(config, network, tuple(values[index] for values in entries))
        losses = with_draws(losses, config.diffusion.timesteps, state.randomness.torch_generator(f"{THRESHOLD} draws", step))
        part = Microbatch(step, np.arange(len(index)), places, 1, state.randomness, THRESHOLD, state.device)
        return tuple(scale * norm for norm in mean_norms(network, losses, part, groups, config.least_threshold))

    return thresholds


def hybrid_losses(config: ChuDPDMConfig, network: nn.Module, batch: tuple[Tensor, ...]) -> RowLosses:
    """L_simple + lambda L_vlb of images and label rows, at time steps drawn from 1..T (Chu et al. 2023, eq. 6-8)."""
    diffusion, shape = build_diffusion(config.diffusion), tuple(batch[0].shape[1:])
    variances = LearnedVariances(diffusion)

    def draw(part: Microbatch) -> tuple[Tensor, Tensor]:
        return part.integers(1, diffusion.timesteps + 1), part.normal(shape)

    def inputs(image: Tensor, label: Tensor, time: Tensor, noise: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return diffusion.add_noise(image, noise, time), time, label

    def loss(output: Tensor, image: Tensor, _label: Tensor, time: Tensor, noise: Tensor) -> Tensor:
        return variances.hybrid_loss(output, image, noise, time, config.vlb_weight)

    return RowLosses(network, batch, draw, inputs, loss)


def with_draws(losses: RowLosses, timesteps: int, generator: torch.Generator) -> RowLosses:
    """The same losses at time steps and noise from `generator`, which no guarantee rests on."""
    shape, device = losses.data[0].shape, losses.data[0].device

    def draw(part: Microbatch) -> tuple[Tensor, Tensor]:
        times = torch.randint(1, timesteps + 1, (len(part.rows),), generator=generator)
        return times.to(device), torch.randn((len(part.rows), *shape[1:]), generator=generator).to(device)

    return replace(losses, draw=draw)


def parameter_groups(config: ChuDPDMConfig, network: nn.Module) -> tuple[tuple[str, ...], ...]:
    """Names of the parameters that share a threshold, group by group (section IV.B: "weights and biases of different layers")."""
    names = [name for name, _ in network.named_parameters()]
    of: dict[str, Callable[[str], str]] = {
        "all": lambda _name: "",
        "weights and biases": lambda name: name.rpartition(".")[2],
        "layers": lambda name: name.rpartition(".")[0],
    }
    key = of[config.training.groups]
    return tuple(tuple(name for name in names if key(name) == group) for group in dict.fromkeys(map(key, names)))


def mean_norms(
    network: nn.Module, losses: Callable[[Microbatch], Tensor], part: Microbatch, groups: Sequence[tuple[str, ...]], least: float
) -> tuple[float, ...]:
    """The mean Euclidean norm of the records' gradients over each group of parameters, and `least` where it is less or not finite."""
    gradients = PerRecordGradients(network, part.noise_multiplicity)
    by_parameter = gradients.gradients(lambda: losses(part), len(part.records))
    squares = {name: value.flatten(1).square().sum(dim=1) for name, value in by_parameter.items()}  # (R,)
    means = [torch.stack([squares[name] for name in group]).sum(dim=0).sqrt().mean() for group in groups]
    return tuple(max(least, value) if value < float("inf") else least for value in map(float, means))


def sample(config: ChuDPDMConfig, state: State, request: SampleRequest) -> Records:
    """Images from the moving average of the weights."""
    return image_diffusion.draw_samples(config, image_diffusion.averaged(state), state, request, draw=drawn_images)


def drawn_images(
    model: Model,
    x: Tensor,
    diffusion: GaussianDiffusion,
    sampler: SamplerConfig,
    generator: torch.Generator,
    *,
    labels: Tensor | None = None,
    start: int | None = None,
) -> Tensor:
    """Records from noise `x`, as `generate`: ddpm draws with the learned variances."""
    if sampler.name == "ddpm":
        return learned_ancestral(model, x, diffusion, sampler, generator, labels=labels, start=start)

    def predicted(x_t: Tensor, t: Tensor, rows: Tensor | None) -> Tensor:
        return model(x_t, t, rows).chunk(2, dim=1)[0]

    return generate(predicted, x, diffusion, sampler, generator, labels=labels, start=start)


def bits_per_dimension(config: ChuDPDMConfig, state: State, data: Records, seed: int) -> np.ndarray:
    """L_vlb of every record under the moving average, with its label, in bits per dimension, float64 (N,)."""
    variances = LearnedVariances(build_diffusion(config.diffusion))
    model = image_diffusion.ordinary(image_diffusion.averaged(state), state)
    images, rows = image_diffusion.entries(data, state.device)
    generator = torch.Generator(state.device).manual_seed(seed)
    parts = torch.arange(len(images)).split(image_diffusion.SAMPLE_BATCH[state.device.type])
    bounds = [variances.bound(model, images[part], generator, rows[part.to(rows.device)]) for part in parts]
    return np.concatenate([np.zeros(0), *(part.double().cpu().numpy() for part in bounds)])


def denoiser(config: ChuDPDMConfig, state: State, source: Source) -> Denoiser:
    """The moving average of the weights."""
    return denoising.of_diffusion(config, image_diffusion.averaged(state), state)
