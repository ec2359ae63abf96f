"""One training step of a U-Net, non-private and by every way of making it private: same loss, data, threads and layout.

A variant's `gradient()` ends with what the optimiser needs (for private ones: the clipped sum), `finish()` adds noise, takes
the optimiser's step and updates the moving average. Private variants all run in the same microbatches.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import torch
from opacus import GradSampleModule
from opacus.grad_sample import GradSampleModuleFastGradientClipping
from opacus.optimizers import DPOptimizer, DPOptimizerFastGradientClipping
from opacus.utils.fast_gradient_clipping_utils import DPTensorFastGradientClipping
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap

from workbench.networks import ExponentialMovingAverage, UNet, UNetConfig
from workbench.training.microbatch import Microbatch
from workbench.training.private_step import PrivateStep
from workbench.training.randomness import Randomness
from workbench.training.row_losses import RowLosses
from workbench.training.state import PerformanceSettings

NOISE_MULTIPLIER, MAX_GRAD_NORM, LEARNING_RATE = 1.0, 0.01, 1e-4


def new_network(base_channels: int) -> UNet:
    """The U-Net of 28 x 28 images (1.6 M parameters at 32 channels, 6.5 M at 64) with no layer left at zero."""
    torch.manual_seed(0)
    config = UNetConfig(base_channels=base_channels, channel_multipliers=(1, 2, 2), num_res_blocks=2, attention_resolutions=(7,))
    network = UNet(config, 1, 28, 10)
    for parameter in network.parameters():
        if not parameter.any():
            nn.init.normal_(parameter, std=0.02)
    return network


class Variant(ABC):
    """A way of taking a step on `images` rows, `noise_multiplicity` of them a record."""

    name: ClassVar[str]
    note: ClassVar[str] = ""

    def __init__(self, base_channels: int, images: int, noise_multiplicity: int, microbatch_size: int) -> None:
        self.network = new_network(base_channels)
        self.images, self.noise_multiplicity = images, noise_multiplicity
        self.records = images // noise_multiplicity
        self.microbatch_size = max(microbatch_size, noise_multiplicity)
        self.x, self.noise = torch.randn(images, 1, 28, 28), torch.randn(images, 1, 28, 28)
        self.t = torch.randint(1, 1000, (images,))
        self.labels = torch.randint(0, 11, (self.records,)).repeat_interleave(noise_multiplicity)
        self.ema = ExponentialMovingAverage(self.network)
        self.adam = torch.optim.Adam(self.network.parameters(), lr=LEARNING_RATE)

    @abstractmethod
    def gradient(self) -> None:
        """Forward, backward and clipping."""

    @abstractmethod
    def finish(self) -> None:
        """Noise, optimiser, moving average."""

    def losses(self, rows: slice, network: nn.Module) -> Tensor:
        """The loss of each row."""
        return (network(self.x[rows], self.t[rows], self.labels[rows]) - self.noise[rows]).square().flatten(1).mean(1)

    def microbatches(self) -> Iterator[tuple[slice, bool]]:
        """Rows that run at once, and whether more follow."""
        for start in range(0, self.images, self.microbatch_size):
            yield slice(start, start + self.microbatch_size), start + self.microbatch_size < self.images


class NotPrivate(Variant):
    """An ordinary step on the whole batch."""

    name = "not private"

    def gradient(self) -> None:
        self.losses(slice(None), self.network).mean().backward()

    def finish(self) -> None:
        self.adam.step()
        self.adam.zero_grad()
        self.ema.update(self.network)


class NotPrivateInMicrobatches(NotPrivate):
    """An ordinary step with gradients accumulated over the private variants' microbatches."""

    name = "not private, microbatches"

    def gradient(self) -> None:
        for rows, _ in self.microbatches():
            (self.losses(rows, self.network).sum() / self.images).backward()


class NotPrivateChannelsLast(NotPrivate):
    """An ordinary step with channels-last weights and images."""

    name = "not private, channels last"

    def __init__(self, base_channels: int, images: int, noise_multiplicity: int, microbatch_size: int) -> None:
        super().__init__(base_channels, images, noise_multiplicity, microbatch_size)
        self.network.to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue]
        self.x = self.x.to(memory_format=torch.channels_last)


class Ours(Variant):
    """`PrivateStep`."""

    name = "ours"

    def __init__(self, base_channels: int, images: int, noise_multiplicity: int, microbatch_size: int) -> None:
        super().__init__(base_channels, images, noise_multiplicity, microbatch_size)
        self.private = PrivateStep(
            self.network,
            self.adam,
            noise_multiplier=NOISE_MULTIPLIER,
            max_grad_norm=MAX_GRAD_NORM,
            expected_batch_size=self.records,
            randomness=Randomness.from_seed(0),
            noise_multiplicity=noise_multiplicity,
            performance=PerformanceSettings(device="cpu", microbatch_size=self.microbatch_size),
        )
        self._losses = RowLosses(
            self.network,
            (),
            self._rows,
            lambda x, t, labels, _noise: (x, t, labels),
            lambda output, _x, _t, _labels, noise: (output - noise).square().flatten(1).mean(1),
        )
        self._step = 0

    def gradient(self) -> None:
        self._step += 1
        self.private.accumulate(self._step, np.arange(self.records), self._losses)

    def _rows(self, part: Microbatch) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        first = int(part.records[0]) * self.noise_multiplicity
        rows = slice(first, first + len(part.rows))
        return self.x[rows], self.t[rows], self.labels[rows], self.noise[rows]

    def finish(self) -> None:
        self.private.apply(self._step, self.records)
        self.ema.update(self.network)


class OpacusHooks(Variant):
    """Opacus's hooks: a gradient per row, averaged here over a record's rows, as the forks for noise multiplicity do."""

    name = "opacus hooks"
    force_functorch: ClassVar[bool] = False

    def __init__(self, base_channels: int, images: int, noise_multiplicity: int, microbatch_size: int) -> None:
        super().__init__(base_channels, images, noise_multiplicity, microbatch_size)
        self.wrapped = GradSampleModule(self.network, loss_reduction="mean", force_functorch=self.force_functorch)
        self.optimizer = DPOptimizer(
            self.adam, noise_multiplier=NOISE_MULTIPLIER, max_grad_norm=MAX_GRAD_NORM, expected_batch_size=self.records
        )

    def gradient(self) -> None:
        for rows, more in self.microbatches():
            self.losses(rows, self.wrapped).mean().backward()
            for parameter in self.optimizer.params if self.noise_multiplicity > 1 else ():
                by_row = getattr(parameter, "grad_sample").view(-1, self.noise_multiplicity, *parameter.shape)  # noqa: B009
                setattr(parameter, "grad_sample", by_row.mean(1))  # noqa: B010
            if more:
                self.optimizer.signal_skip_step()
                self.optimizer.step()
                self.optimizer.zero_grad()
        self.optimizer.clip_and_accumulate()

    def finish(self) -> None:
        for parameter in self.optimizer.params:  # clipped above, so that clipping counts as part of the gradient
            setattr(parameter, "grad_sample", parameter.new_zeros(0, *parameter.shape))  # noqa: B010
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.ema.update(self.network)


class OpacusFunctorch(OpacusHooks):
    """Opacus with every layer's per-row gradient through functorch."""

    name = "opacus functorch"
    force_functorch = True


class OpacusGhost(Variant):
    """Opacus's ghost clipping: norms first, then a second backward pass."""

    name = "opacus ghost"
    note = "clips every row: its public interface has no noise multiplicity"

    def __init__(self, base_channels: int, images: int, noise_multiplicity: int, microbatch_size: int) -> None:
        super().__init__(base_channels, images, noise_multiplicity, microbatch_size)
        self.wrapped = GradSampleModuleFastGradientClipping(
            self.network,
            loss_reduction="mean",
            max_grad_norm=MAX_GRAD_NORM,  # pyright: ignore[reportArgumentType]
            use_ghost_clipping=True,
        )
        self.optimizer = DPOptimizerFastGradientClipping(
            self.adam, noise_multiplier=NOISE_MULTIPLIER, max_grad_norm=MAX_GRAD_NORM, expected_batch_size=self.images
        )

    def gradient(self) -> None:
        for rows, more in self.microbatches():
            DPTensorFastGradientClipping(self.wrapped, self.optimizer, self.losses(rows, self.wrapped)).backward()
            if more:
                self.optimizer.signal_skip_step()
                self.optimizer.step()
                self.optimizer.zero_grad()

    def finish(self) -> None:
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.ema.update(self.network)


class TorchFunc(Variant):
    """`torch.func`: vmap of grad over the records of a microbatch."""

    name = "torch.func"

    def __init__(self, base_channels: int, images: int, noise_multiplicity: int, microbatch_size: int) -> None:
        super().__init__(base_channels, images, noise_multiplicity, microbatch_size)
        self.parameters = dict(self.network.named_parameters())

    def gradient(self) -> None:
        self.sums = {name: torch.zeros_like(p) for name, p in self.parameters.items()}
        values = {name: p.detach() for name, p in self.parameters.items()}
        for rows, _ in self.microbatches():
            records = [tensor[rows].unflatten(0, (-1, self.noise_multiplicity)) for tensor in (self.x, self.t, self.labels, self.noise)]
            gradients = vmap(grad(self._record_loss), (None, 0, 0, 0, 0))(values, *records)
            norms = torch.stack([g.flatten(1).norm(dim=1) for g in gradients.values()]).norm(dim=0)
            factors = (MAX_GRAD_NORM / (norms + 1e-6)).clamp(max=1.0)
            for name, gradient in gradients.items():
                self.sums[name] += torch.einsum("r,r...->...", factors, gradient)

    def _record_loss(self, values: dict[str, Tensor], x: Tensor, t: Tensor, labels: Tensor, noise: Tensor) -> Tensor:
        return (functional_call(self.network, values, (x, t, labels)) - noise).square().mean()

    def finish(self) -> None:
        for name, parameter in self.parameters.items():
            noise = torch.randn_like(parameter) * NOISE_MULTIPLIER * MAX_GRAD_NORM
            parameter.grad = (self.sums[name] + noise) / self.records
        self.adam.step()
        self.adam.zero_grad()
        self.ema.update(self.network)


VARIANTS: dict[str, type[Variant]] = {
    variant.name: variant
    for variant in (
        NotPrivate,
        NotPrivateInMicrobatches,
        NotPrivateChannelsLast,
        Ours,
        OpacusHooks,
        OpacusFunctorch,
        OpacusGhost,
        TorchFunc,
    )
}
