"""The optimiser of a private step: noise on the sum of clipped gradients, division by a constant, then the step of the one it wraps."""

import torch
from opacus.optimizers.optimizer_fast_gradient_clipping import DPOptimizerFastGradientClipping
from torch import Tensor, nn
from torch import distributed as dist

from workbench.training.distributed import rank_and_size, share_tensors, sum_over_ranks
from workbench.training.grid import gradient_grid
from workbench.training.randomness import Randomness


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
        self._sums: dict[nn.Parameter, Tensor] = {}

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
        stream = self.randomness.stream(self.purpose, self.noise_step)
        for value in sums:
            steps = grid.rounded(value.detach().cpu().double().numpy())
            value.copy_(torch.from_numpy(grid.values(steps + stream.floored_normal(steps.shape, grid.bits))))

    def scale_grad(self) -> None:
        """Divide by `divisor`."""
        for parameter in self.params:
            if parameter.grad is not None:
                parameter.grad /= self.divisor

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget this step's sums and gradients."""
        self._sums = {}
        self.original_optimizer.zero_grad(set_to_none)
