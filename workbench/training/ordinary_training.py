"""The trainer that carries out ordinary training, of any number of networks together."""

from collections.abc import Callable, Iterator, Mapping

import torch
from torch import Tensor

from workbench.networks import ExponentialMovingAverage
from workbench.training.ordinary import OrdinaryTraining
from workbench.training.state import State, Step


class OrdinaryTrainer:
    """Optimiser steps of one stage: spend where it is `private`, take the loss, step, average.

    `loss(step)` draws what it needs from the state's randomness and returns the mean loss of step `step`, a scalar. The
    optimiser is the state's of the stage's name, over all networks that the stage trains. `averages` names the state's moving
    averages and the network that each follows. Call `run` for all steps, or `step` for one where stages interleave.
    """

    def __init__(
        self,
        settings: OrdinaryTraining,
        stage: str,
        state: State,
        loss: Callable[[int], Tensor],
        *,
        private: bool,
        averages: Mapping[str, str] | None = None,
    ) -> None:
        self.settings, self.stage, self.state, self.loss, self.private = settings, stage, state, loss, private
        self.optimizer = state.optimizers[stage]
        self.averages = averages or {}

    def run(self) -> Iterator[Step]:
        """All steps from where the state stands; one Step is yielded after each."""
        for step in range(self.state.steps.get(self.stage, 0) + 1, self.settings.steps + 1):
            yield self.step(step)

    def step(self, step: int) -> Step:
        """Step `step` of the stage; of a private one, recorded as spent before a record is touched."""
        if self.private:
            self.state.spend(self.stage, step)
        set_learning_rate(self.optimizer, self.settings.learning_rate_at(step))
        with self.state.performance.autocast(self.state.device):
            loss = self.loss(step)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        for average, network in self.averages.items():
            following = self.state.modules[average]
            assert isinstance(following, ExponentialMovingAverage)
            following.update(self.state.modules[network])
        self.state.steps[self.stage] = step
        return Step(self.stage, step, self.settings.steps, {"loss": float(loss.detach())}, private=self.private)


def set_learning_rate(optimizer: torch.optim.Optimizer, learning_rate: float) -> None:
    """The learning rate of the next step, for all parameters."""
    for group in optimizer.param_groups:
        group["lr"] = learning_rate
