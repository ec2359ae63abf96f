"""A private step that clips one gradient of its whole batch: the mean (Chu et al. 2023, Algorithm 1), or that of any loss of the batch.

Whatever the loss is, what is clipped has at most the clipping norm, so one record turns it by at most twice that. Poisson batches
amplify it as they do a sum, if a null record leaves the batch as it is without the record (docs/proofs.md, section 2).
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from workbench.training.microbatch import Microbatch
from workbench.training.mixing import Losses
from workbench.training.per_record.clipping import clipping_factors
from workbench.training.private_optimizer import PrivateOptimizer
from workbench.training.private_step import grouped
from workbench.training.private_steps import PrivateSteps
from workbench.training.state import State


class BatchClippedStep:
    """Stands where a `PrivateStep` does: `clip_to` and `step`. One record turns the clipped gradient by at most twice its norm.

    `losses` gives one loss a row, whose mean is taken, or a loss of the batch, a scalar; an empty batch is not asked for any.
    Where the batch keeps null records, one is at its place with a row's loss of zero (`present` False), so that the others keep
    their draws; a scalar is as it comes.
    """

    def __init__(
        self,
        steps: PrivateSteps,
        noise_multiplicity: int,
        network: nn.Module,
        state: State,
        norms: Sequence[float],
        groups: Sequence[str | tuple[str, ...]],
        present: np.ndarray | None,
    ) -> None:
        self.purpose, self.noise_multiplicity, self.state, self.thresholds = steps.name, noise_multiplicity, state, tuple(norms)
        self.present = None if present is None else torch.from_numpy(present).to(state.device)
        self.parameters = dict(network.named_parameters())
        self.groups = grouped(self.parameters, groups)
        self.optimizer = PrivateOptimizer(
            state.optimizers[steps.name],
            noise_multiplier=steps.deviation,
            max_grad_norm=1.0,
            divisor=steps.divisor,
            expected_batch_size=1.0,  # one clipped gradient is summed
            randomness=state.randomness,
            purpose=f"{steps.name}: noise",
        )

    def clip_to(self, thresholds: Sequence[float]) -> None:
        """Clip to these norms from now on, one a group of parameters, and scale the noise with them."""
        self.thresholds = tuple(thresholds)
        self.optimizer.max_grad_norm = float(np.linalg.norm(self.thresholds))

    def step(self, step: int, places: np.ndarray, losses: Losses) -> float | None:
        """Step `step` on the batch of the records at `places` (none: noise is added all the same); the loss, a private value, or None."""
        loss = self._add_gradient(step, places, losses) if len(places) else None
        self.optimizer.noise_step = step
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss

    def _add_gradient(self, step: int, places: np.ndarray, losses: Losses) -> float:
        """Hand the clipped gradient of the batch to the optimiser; the loss."""
        loss = self._mean_loss(step, places, losses)
        gradients = torch.autograd.grad(loss, list(self.parameters.values()))
        self.optimizer.add_clipped(self._clipped(dict(zip(self.parameters.values(), gradients, strict=True))))
        return float(loss.detach())

    def _mean_loss(self, step: int, places: np.ndarray, losses: Losses) -> Tensor:
        """The loss of the batch: the mean of its rows, where a null record's is zero, or a scalar as it comes."""
        purpose, randomness, device = f"{self.purpose}: draws", self.state.randomness, self.state.device
        part = Microbatch(step, np.arange(len(places)), places, self.noise_multiplicity, randomness, purpose, device)
        rows = losses(part)
        if self.present is None or rows.dim() == 0:
            return rows.mean()
        return (rows * self.present[torch.from_numpy(places).to(device)][part.rows.to(device)]).mean()

    def _clipped(self, gradients: dict[nn.Parameter, Tensor]) -> dict[nn.Parameter, Tensor]:
        """The gradient scaled down to its threshold over each group; zero over a group where it is not finite."""
        for group, threshold in zip(self.groups, self.thresholds, strict=True):
            mine = {parameter: gradients[parameter] for parameter in group.values()}
            norm = torch.stack([value.square().sum() for value in mine.values()]).sum().sqrt()
            factor = clipping_factors(norm, threshold)
            gradients |= {parameter: torch.where(norm.isfinite(), factor * value, 0.0) for parameter, value in mine.items()}
        return gradients
