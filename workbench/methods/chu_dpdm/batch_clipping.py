"""Algorithm 1 as it is printed: the mean gradient of a batch is clipped once, and noise of deviation C sigma/m is added."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from workbench import networks
from workbench.methods.chu_dpdm.config import Training
from workbench.methods.chu_dpdm.stages import TRAINING
from workbench.training.entries import Entries
from workbench.training.microbatch import Microbatch
from workbench.training.ordinary_training import set_learning_rate
from workbench.training.per_record.clipping import clipping_factors
from workbench.training.poisson import fixed_size_batch
from workbench.training.private_optimizer import PrivateOptimizer
from workbench.training.private_step import grouped
from workbench.training.private_training import LossesOf
from workbench.training.state import State, Step


class BatchClippedTraining:
    """Noisy steps on fixed-size batches (lines 2 to 11): a record moves the clipped mean by at most 2 C, so sigma/(2m) is its multiplier.

    Arguments as those of `PrivateTraining`; the network is the state's, and `present` marks null records by False.
    """

    def __init__(
        self,
        settings: Training,
        state: State,
        data: tuple[Entries, ...],
        losses: LossesOf,
        present: np.ndarray,
        groups: Sequence[str | tuple[str, ...]],
        thresholds: Callable[[int], tuple[float, ...]],
        learning_rate: Callable[[int], float],
    ) -> None:
        self.settings, self.state, self.data, self.losses = settings, state, data, losses
        self.present = torch.from_numpy(present).to(state.device)
        self.network, self.thresholds_at, self.learning_rate_at = state.modules["network"], thresholds, learning_rate
        self.parameters = dict(self.network.named_parameters())
        self.groups = grouped(self.parameters, groups)
        self.batch_size = round(settings.batch_size)
        self.optimizer = PrivateOptimizer(
            state.optimizers[TRAINING],
            noise_multiplier=settings.known_noise_multiplier(TRAINING) / self.batch_size,
            max_grad_norm=1.0,
            divisor=1.0,
            expected_batch_size=1.0,
            randomness=state.randomness,
            purpose=f"{TRAINING}: noise",
        )

    def run(self) -> Iterator[Step]:
        """All steps from where the state stands; one Step is yielded after each."""
        for step in range(self.state.steps.get(TRAINING, 0) + 1, self.settings.known_steps() + 1):
            yield self.step(step)

    def step(self, step: int) -> Step:
        """Step `step`, recorded as spent before a record is touched."""
        self.state.spend(TRAINING, step)
        set_learning_rate(self.optimizer.original_optimizer, self.learning_rate_at(step))
        thresholds = self.thresholds_at(step)
        loss = self._mean_loss(step)
        gradients = torch.autograd.grad(loss, list(self.parameters.values()))
        self.optimizer.add_clipped(self._clipped(dict(zip(self.parameters.values(), gradients, strict=True)), thresholds))
        self.optimizer.max_grad_norm, self.optimizer.noise_step = float(np.linalg.norm(thresholds)), step
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        average = self.state.modules["ema"]
        assert isinstance(average, networks.ExponentialMovingAverage)
        average.update(self.network)
        self.state.steps[TRAINING] = step
        return Step(TRAINING, step, self.settings.known_steps(), {"loss": float(loss.detach())})

    def _mean_loss(self, step: int) -> Tensor:
        """The mean loss of the step's batch; a null record's is zero."""
        chosen = fixed_size_batch(self.state.randomness, f"{TRAINING} batch", step, len(self.data[0]), self.batch_size)
        index = torch.from_numpy(chosen).to(self.state.device)
        purpose, randomness = f"{TRAINING}: draws", self.state.randomness
        part = Microbatch(step, np.arange(len(index)), chosen, self.settings.noise_multiplicity, randomness, purpose, self.state.device)
        rows = self.losses(tuple(values[index] for values in self.data))(part)
        return (rows * self.present[index][part.rows.to(self.state.device)]).mean()

    def _clipped(self, gradients: dict[torch.nn.Parameter, Tensor], thresholds: Sequence[float]) -> dict[torch.nn.Parameter, Tensor]:
        """The gradient scaled down to its threshold over each group; zero over a group where it is not finite."""
        for group, threshold in zip(self.groups, thresholds, strict=True):
            mine = {parameter: gradients[parameter] for parameter in group.values()}
            norm = torch.stack([value.square().sum() for value in mine.values()]).sum().sqrt()
            factor = clipping_factors(norm, threshold)
            gradients |= {parameter: torch.where(norm.isfinite(), factor * value, 0.0) for parameter, value in mine.items()}
        return gradients
