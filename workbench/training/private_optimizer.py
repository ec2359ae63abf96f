"""The optimiser of a private step: noise on the sum of clipped gradients, division by a constant, then the step of the one it wraps."""

from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import torch
from opacus.optimizers.optimizer_fast_gradient_clipping import DPOptimizerFastGradientClipping
from torch import Tensor, nn
from torch import distributed as dist

from workbench.training.distributed import rank_and_size, share_tensors, sum_over_ranks
from workbench.training.grid import Grid, gradient_grid, noise_bits
from workbench.training.randomness import Randomness

DRAWING = ThreadPoolExecutor(1, "noise")  # threads begin with the first draw ahead


class PrivateOptimizer(DPOptimizerFastGradientClipping):
    """Opacus's optimiser for gradients that are clipped elsewhere, with noise from the run's own streams.

    Opacus draws from torch's generators, whose seeds are too short to hide a record and are not keyed by step, and adds floats,
    whose last bits tell of the sum; here `noise_step` names the stream, and the sum is released on a public grid. Its step hooks,
    and hence its accountants, work as ever: one call a step. `divisor` is what the noisy sum is divided by: the expected batch
    size, a constant, or no bound holds. `expected_batch_size` is how many clipped gradients are summed, about.
    """

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        *,
        noise_multiplier: float,
        max_grad_norm: float,
        divisor: float,
        expected_batch_size: float,
        randomness: Randomness,
        purpose: str,
        group: dist.ProcessGroup | None = None,
    ) -> None:
        super().__init__(
            optimizer, noise_multiplier=noise_multiplier, max_grad_norm=max_grad_norm, expected_batch_size=None, loss_reduction="sum"
        )
        self.divisor, self.randomness, self.purpose, self.group = divisor, randomness, purpose, group
        self.summed = expected_batch_size
        self.noise_step = 0
        self._ahead: tuple[int, Future[list[np.ndarray]]] | None = None
        self._sums: dict[nn.Parameter, Tensor] = {}

    def draw_ahead(self, step: int) -> None:
        """Draw the noise of `step` in a thread of its own, while a device works on the gradients: the same values as `step` draws."""
        if self.noise_multiplier > 0 and rank_and_size(self.group)[0] == 0:
            shapes, bits = [tuple(parameter.shape) for parameter in self.params], noise_bits(self.noise_multiplier)
            stream = self.randomness.stream(self.purpose, step)
            self._ahead = step, DRAWING.submit(lambda: [stream.floored_normal(shape, bits) for shape in shapes])

    def add_clipped(self, gradients: dict[nn.Parameter, Tensor]) -> None:
        """Add sums of clipped gradients to those of this step."""
        for parameter, gradient in gradients.items():
            earlier = self._sums.get(parameter)
            self._sums[parameter] = gradient if earlier is None else earlier.add_(gradient)

    def accumulate(self) -> None:
        """Opacus asks for the sums here; an empty batch has none, and sums to zero."""
        for parameter in self.params:
            parameter.grad = self._sums.get(parameter, torch.zeros_like(parameter))

    def add_noise(self) -> None:
        """Sum over the ranks; the first puts the sum on its grid and adds noise of deviation noise_multiplier max_grad_norm there."""
        gradients = [parameter.grad for parameter in self.params if parameter.grad is not None]
        sum_over_ranks(gradients, self.group)
        if self.noise_multiplier > 0 and rank_and_size(self.group)[0] == 0:
            self._release(gradients)
        share_tensors(gradients, self.group)

    def _release(self, sums: list[Tensor]) -> None:
        """The Gaussian mechanism on the grid, in integers, in place: what else is done to `sums` does not look at records."""
        grid = gradient_grid(self.noise_multiplier, self.max_grad_norm, self.summed, sum(value.numel() for value in sums))
        noise = self._noise([tuple(value.shape) for value in sums], grid.bits)
        if all(value.device.type == "cpu" for value in sums):
            for value, drawn in zip(sums, noise, strict=True):
                value.copy_(torch.from_numpy(grid.values(grid.rounded(value.detach().double().numpy()) + drawn)))
            return
        release_at_once(sums, noise, grid)

    def _noise(self, shapes: list[tuple[int, ...]], bits: int) -> Iterator[np.ndarray]:
        """This step's noise, a tensor at a time: as it was drawn ahead, else drawn now."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None and ahead[0] == self.noise_step:
            yield from ahead[1].result()
            return
        stream = self.randomness.stream(self.purpose, self.noise_step)
        for shape in shapes:
            yield stream.floored_normal(shape, bits)

    def scale_grad(self) -> None:
        """Divide by `divisor`."""
        for parameter in self.params:
            if parameter.grad is not None:
                parameter.grad /= self.divisor

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget this step's sums and gradients."""
        self._sums = {}
        self.original_optimizer.zero_grad(set_to_none)


def release_at_once(sums: list[Tensor], noise: Iterable[np.ndarray], grid: Grid) -> None:
    """The same release of all sums as of each, with one move from their device and one back."""
    flat = torch.cat([value.detach().flatten() for value in sums]).cpu().double().numpy()
    drawn = np.concatenate([value.ravel() for value in noise])
    released = torch.from_numpy(grid.values(grid.rounded(flat) + drawn)).to(sums[0].dtype).to(sums[0].device)
    for value, part in zip(sums, released.split([value.numel() for value in sums]), strict=True):
        value.copy_(part.view_as(value))
