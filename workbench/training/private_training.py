"""The trainer that carries out private steps: one object a network and stage, made of the `PrivateSteps` that its stage was made of."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from workbench.errors import WorkbenchError
from workbench.networks import ExponentialMovingAverage
from workbench.privacy.accounting.persons import of_persons
from workbench.privacy.accounting.stages import difference
from workbench.training.batch_clipping import BatchClippedStep
from workbench.training.dp_sgd import DPSGD
from workbench.training.entries import Entries
from workbench.training.mixing import Losses
from workbench.training.ordinary_training import set_learning_rate
from workbench.training.private_step import PrivateStep
from workbench.training.private_steps import PrivateSteps
from workbench.training.state import State, Step

LossesOf = Callable[[tuple[Tensor, ...]], Losses]
Groups = Sequence[str | tuple[str, ...]]


class PrivateTraining:
    """The private steps of one stage on one network: spend, draw a batch, clip, add noise, step, average.

    Batches, noise, divisor and number of steps are those of `settings.private_steps`, which gave the plan its event; where the state
    has a plan whose event is another, nothing is begun.

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
        groups: Groups = ("",),
        thresholds: Callable[[int], tuple[float, ...]] | None = None,
        learning_rate: Callable[[int], float] | None = None,
    ) -> None:
        self.settings, self.stage, self.network, self.state = settings, stage, network, state
        self.data, self.losses, self.present, self.average = data, losses, present, average
        self.thresholds_at, self.learning_rate_at = thresholds or settings.thresholds_at, learning_rate or settings.learning_rate_at
        self.optimizer = state.optimizers[stage]
        self.planned = settings.private_steps(stage, state.facts.num_records)
        check_planned(self.planned, state)
        norms = (settings.max_grad_norm,) * len(groups) if thresholds else settings.thresholds_at(1)
        self.private = CARRIED_OUT[self.planned.clipped](
            self.planned, settings.noise_multiplicity, network, state, norms, groups, self.present
        )

    def run(self) -> Iterator[Step]:
        """All steps from where the state stands; one Step is yielded after each."""
        for step in range(self.state.steps.get(self.stage, 0) + 1, self.planned.steps + 1):
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
        return Step(self.stage, step, self.planned.steps, {} if loss is None else {"loss": loss})

    def _batch(self, step: int) -> np.ndarray:
        """The positions of the records that were drawn, less null records, unless the batch counts these."""
        drawn = self.planned.batches.drawn(self.state.randomness, f"{self.stage} batch", step, len(self.data[0]))
        return drawn if self.present is None or self.planned.keeps_null else drawn[self.present[drawn]]


def check_planned(steps: PrivateSteps, state: State) -> None:
    """Refuse steps that are not those that the state's plan has for the stage, if it has a plan."""
    if (planned := state.planned.get(steps.name)) is None:
        return
    carried_out = [steps.stage("")] if state.facts.persons is None else of_persons([steps.stage("")], *person_of(state))
    if other := difference([planned], carried_out):
        raise WorkbenchError(f"Expected the steps of {steps.name} that were planned, got others ({other}). Make a new plan.")


def person_of(state: State) -> tuple[int, str]:
    """The most rows of a person, and the column that tells persons apart."""
    assert state.facts.persons is not None
    return state.facts.persons.most_rows, state.facts.persons.column


def clipped_by_record(
    steps: PrivateSteps,
    noise_multiplicity: int,
    network: nn.Module,
    state: State,
    norms: tuple[float, ...],
    groups: Groups,
    _present: np.ndarray | None,
) -> PrivateStep:
    """Steps on gradients that are clipped record by record."""
    return PrivateStep(
        network,
        state.optimizers[steps.name],
        noise_multiplier=steps.deviation,
        max_grad_norm=norms,
        expected_batch_size=steps.divisor,
        randomness=state.randomness,
        noise_multiplicity=noise_multiplicity,
        purpose=steps.name,
        performance=state.performance,
        group=state.group,
        records_at_once=state.records_at_once,
        keep_size=state.keep_size,
        parameter_groups=groups,
    )


CARRIED_OUT: dict[str, Callable[..., PrivateStep | BatchClippedStep]] = {"record": clipped_by_record, "batch": BatchClippedStep}
