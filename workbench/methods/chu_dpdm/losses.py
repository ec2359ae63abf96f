"""The hybrid loss of a batch, and the clipping thresholds that follow from a batch's gradients."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn

from workbench.diffusion import build_diffusion
from workbench.diffusion.learned_variance import LearnedVariances
from workbench.methods.chu_dpdm.config import ChuDPDMConfig
from workbench.training.microbatch import Microbatch
from workbench.training.per_record import PerRecordGradients
from workbench.training.row_losses import RowLosses


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
    found = gradients.gradients(lambda: losses(part), len(part.records))
    squares = {name: value.flatten(1).square().sum(dim=1) for name, value in found.items()}  # (R,)
    means = [torch.stack([squares[name] for name in group]).sum(dim=0).sqrt().mean() for group in groups]
    return tuple(max(least, value) if value < float("inf") else least for value in map(float, means))
