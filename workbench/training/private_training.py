"""The trainer that carries out DP-SGD: one object a network and stage, made of the settings that its stage was made of."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from workbench.networks import ExponentialMovingAverage
from workbench.training.dp_sgd import DPSGD
from workbench.training.entries import Entries
from workbench.training.mixing import Losses
from workbench.training.ordinary_training import set_learning_rate
from workbench.training.poisson import poisson_batch
from workbench.training.private_step import PrivateStep
from workbench.training.state import State, Step

LossesOf = Callable[[tuple[Tensor, ...]], Losses]


class PrivateTraining:
    """DP-SGD steps of one stage on one network: spend, draw a Poisson batch, clip, add noise, step, average.

    `data` have one entry a record, (N, ...); `losses(batch)` gets the entries of the records drawn and returns what
    `PrivateStep` takes, best a `RowLosses`. The optimiser is the state's of the stage's name. `present` bool (N,) marks null
    records by False: they are drawn and counted like others and add nothing. `groups` are the beginnings of parameters' names
    that `settings.thresholds_at` has a norm for. `thresholds` and `learning_rate` of a step stand in for those of the settings:
    norms may follow from public records and earlier releases alone. Call `run` for all steps, or `step` for one where stages
    interleave.
    """

    def __init__(
        self,
        settings: DPSGD,
        stage: str,
        network: nn.Module,
        state: State,
        data: tuple[Entries, ...],
        losses: LossesOf,
        *,
        present: np.ndarray | None = None,
        average: ExponentialMovingAverage | None = None,
        groups: Sequence[str | tuple[str, ...]] = ("",),
        thresholds: Callable[[int], tuple[float, ...]] | None = None,
        learning_rate: Callable[[int], float] | None = None,
    ) -> None:
        self.settings, self.stage, self.network, self.state = settings, stage, network, state
        self.data, self.losses, self.present, self.average = data, losses, present, average
        self.thresholds_at, self.learning_rate_at = thresholds or settings.thresholds_at, learning_rate or settings.learning_rate_at
        self.optimizer = state.optimizers[stage]
        self.private = PrivateStep(
            network,
            self.optimizer,
            noise_multiplier=settings.known_noise_multiplier(stage),
            max_grad_norm=(settings.max_grad_norm,) * len(groups) if thresholds else settings.thresholds_at(1),
            expected_batch_size=settings.batch_size,
            randomness=state.randomness,
            noise_multiplicity=settings.noise_multiplicity,
            purpose=stage,
            performance=state.performance,
            group=state.group,
            records_at_once=state.records_at_once,
            parameter_groups=groups,
        )

    def run(self) -> Iterator[Step]:
        """All steps from where the state stands; one Step is yielded after each."""
        for step in range(self.state.steps.get(self.stage, 0) + 1, self.settings.steps + 1):
            yield self.step(step)

    def step(self, step: int) -> Step:
        """Step `step` of the stage, recorded as spent before a record is touched."""
        self.state.spend(self.stage, step)
        set_learning_rate(self.optimizer, self.learning_rate_at(step))
        self.private.clip_to(self.thresholds_at(step))
        chosen = self._batch(step)
        index = torch.from_numpy(chosen).to(self.data[0].device)
        loss = self.private.step(step, chosen, self.losses(tuple(values[index] for values in self.data)))
        if self.average is not None:
            self.average.update(self.network)
        self.state.steps[self.stage] = step
        return Step(self.stage, step, self.settings.steps, {} if loss is None else {"loss": loss})

    def _batch(self, step: int) -> np.ndarray:
        """The positions of the records that were drawn, less null records."""
        rate = self.settings.sample_rate(self.state.facts.num_records)
        drawn = poisson_batch(self.state.randomness, f"{self.stage} batch", step, len(self.data[0]), rate)
        return drawn if self.present is None else drawn[self.present[drawn]]
