"""A private step that clips the mean gradient of its batch, once, as Chu et al. 2023 print it in Algorithm 1 (lines 2 to 11)."""

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
    """Stands where a `PrivateStep` does: `clip_to` and `step`. One record turns the clipped mean by at most twice its norm.

    A null record is at its place in the batch with a loss of zero (`present` False), so that the others keep their draws.
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
        """Step `step` on the batch of the records at `places`; the mean loss, a private value."""
        loss = self._mean_loss(step, places, losses)
        gradients = torch.autograd.grad(loss, list(self.parameters.values()))
        self.optimizer.add_clipped(self._clipped(dict(zip(self.parameters.values(), gradients, strict=True))))
        self.optimizer.noise_step = step
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return float(loss.detach())

    def _mean_loss(self, step: int, places: np.ndarray, losses: Losses) -> Tensor:
        """The mean loss of the batch; a null record's is zero."""
        purpose, randomness, device = f"{self.purpose}: draws", self.state.randomness, self.state.device
        part = Microbatch(step, np.arange(len(places)), places, self.noise_multiplicity, randomness, purpose, device)
        rows = losses(part)
        if self.present is None:
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
