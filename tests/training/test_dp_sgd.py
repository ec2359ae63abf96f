"""DP-SGD as one part: what its settings promise is what its trainer does, and ordinary training beside it."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from dp_accounting import dp_event
from torch import Tensor, nn

from workbench.datasets import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.privacy.accounting.events import UnprovedDpEvent
from workbench.records import ImageKind
from workbench.training import poisson
from workbench.training.dp_sgd import DPSGD
from workbench.training.grid import gradient_grid
from workbench.training.ordinary import OrdinaryTraining
from workbench.training.ordinary_training import OrdinaryTrainer
from workbench.training.per_record import PerRecordGradients
from workbench.training.private_step import PrivateStep
from workbench.training.private_steps import Batches, FixedBatches, PermutedBatches, PoissonBatches, PrivateSteps
from workbench.training.private_training import PrivateTraining
from workbench.training.randomness import Randomness
from workbench.training.row_losses import RowLosses
from workbench.training.state import PerformanceSettings, State

FACTS = DatasetFacts(name="ramps", num_records=40, kind=ImageKind(size=(1, 2, 2)))
RAMPS = torch.linspace(-1, 1, 40 * 4).view(40, 4)


def new_state(stage: str = "private", seed: int = 1) -> State:
    """Two layers and plain SGD with rate 1 for a stage."""
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 4))
    state = State(FACTS, Randomness.from_seed(seed), PerformanceSettings(device="cpu"))
    state.modules = {"network": network}
    state.optimizers = {stage: torch.optim.SGD(network.parameters(), lr=1.0)}
    return state


def trainer(settings: DPSGD, state: State, **options: Any) -> PrivateTraining:
    """Reconstruction of the ramps."""
    network = state.modules["network"]

    def losses(batch: tuple[Tensor, ...]) -> RowLosses:
        return RowLosses(network, batch, lambda _part: (), lambda x: (x,), lambda output, x: 10 * (output - x).square().sum(1))

    return PrivateTraining(settings, "private", network, state, (RAMPS,), losses, **options)


def flat(state: State) -> Tensor:
    return torch.cat([p.detach().flatten().double() for p in state.modules["network"].parameters()])


def test_the_stage_is_read_off_the_settings() -> None:
    settings = DPSGD(noise_multiplier=1.5, batch_size=10, steps=7)
    stage = settings.stage("private", 40)
    assert stage.event == dp_event.PoissonSampledDpEvent(0.25, dp_event.GaussianDpEvent(1.5))
    assert (stage.spent, stage.steps, stage.name) == ("per_step", 7, "private")
    with pytest.raises(WorkbenchError, match="batch_size of private of at most the 9 training records"):
        settings.stage("private", 9)
    with pytest.raises(WorkbenchError, match="noise_multiplier of private, got none"):
        DPSGD(batch_size=10).stage("private", 40)


def test_the_trainer_carries_out_what_the_stage_states(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps, rate, noise and divisor, number by number: an accountant reads the stage, the records meet the trainer."""
    settings, rates = DPSGD(noise_multiplier=1.7, max_grad_norm=0.3, batch_size=8, steps=4, learning_rate=0.01), []
    whole = poisson.poisson_batch

    def batch(randomness: Randomness, purpose: str, step: int, num_records: int, rate: float) -> np.ndarray:
        rates.append((num_records, rate))
        return whole(randomness, purpose, step, num_records, rate)

    monkeypatch.setattr(poisson, "poisson_batch", batch)
    stage, single = settings.stage("private", 40), trainer(settings, new_state())
    assert [step.step for step in single.run()] == list(range(1, stage.steps + 1))
    assert isinstance(stage.event, dp_event.PoissonSampledDpEvent)
    assert isinstance(stage.event.event, dp_event.GaussianDpEvent)
    assert rates == [(40, stage.event.sampling_probability)] * stage.steps
    optimizer = single.private.optimizer
    assert (optimizer.noise_multiplier, optimizer.max_grad_norm) == (stage.event.event.noise_multiplier, settings.max_grad_norm)
    assert optimizer.divisor == single.private.expected_batch_size == stage.event.sampling_probability * 40


def test_steps_that_are_not_those_that_were_planned_are_refused_before_any_is_taken() -> None:
    """The event of a plan and what would carry it out are held together where training begins, whichever of them is wrong."""
    settings, state = DPSGD(noise_multiplier=1.5, batch_size=10, steps=7), new_state()
    state.planned = {"private": settings.stage("private", 40, "Its words are others.")}
    trainer(settings, state)
    for others, difference in (
        ({"noise_multiplier": 1.4}, "event of private"),
        ({"batch_size": 11}, "event of private"),
        ({"steps": 8}, "steps of private: 7 against 8"),
    ):
        with pytest.raises(WorkbenchError, match=f"Expected the steps of private that were planned, got others .*{difference}"):
            trainer(settings.model_copy(update=others), state)


@pytest.mark.parametrize(
    ("batches", "event"),
    [
        (PoissonBatches(0.25), dp_event.PoissonSampledDpEvent(0.25, dp_event.GaussianDpEvent(2.0))),
        (FixedBatches(10), dp_event.GaussianDpEvent(2.0)),
        (PermutedBatches(10), dp_event.GaussianDpEvent(2.0)),
    ],
)
def test_batches_say_what_an_accountant_may_count_on_and_draw_what_they_say(batches: Batches, event: dp_event.DpEvent) -> None:
    """A record that moves the sum by three norms leaves a third of the noise multiplier; batches of one step are the same again."""
    steps = PrivateSteps("private", 3, batches, noise_multiplier=6.0, divisor=10.0, distance=3.0)
    assert steps.stage("").event == event
    thinner = replace(steps, noise_multiplier=24.0, dilution=4.0)
    assert (thinner.deviation, thinner.event) == (6.0, event)
    drawn = [batches.drawn(Randomness.from_seed(1), "batch", step, 40) for step in (1, 1, 2)]
    assert np.array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[0], drawn[2])
    assert len(set(drawn[0].tolist())) == len(drawn[0]) <= 40
    assert isinstance(batches, PoissonBatches) or len(drawn[0]) == 10


def test_a_step_that_nothing_bounds_has_no_finite_event_and_none_moves_less_than_what_is_clipped() -> None:
    steps = PrivateSteps("private", 3, FixedBatches(10), 6.0, 10.0, unproved="It follows the records.")
    assert steps.stage("").event == UnprovedDpEvent("It follows the records.")
    with pytest.raises(WorkbenchError, match=r"move the sum of private by its norm or farther, got 0\.5 of it"):
        PrivateSteps("private", 3, FixedBatches(10), 6.0, 10.0, distance=0.5)


def test_every_step_is_spent_before_it_is_taken_and_can_be_taken_alone() -> None:
    settings = DPSGD(noise_multiplier=1.0, batch_size=10, steps=3, learning_rate=0.1)
    state, whole = new_state(), new_state()
    spent: list[tuple[str, int, float]] = []
    state.spend = lambda stage, step: spent.append((stage, step, float(flat(state).sum())))
    single = trainer(settings, state)
    before = []
    for step in (1, 2, 3):
        before.append(float(flat(state).sum()))
        assert single.step(step).step == step
    assert spent == [("private", step, before[step - 1]) for step in (1, 2, 3)]
    assert [step.step for step in trainer(settings, whole).run()] == [1, 2, 3]
    assert torch.equal(flat(state), flat(whole))


def test_a_null_record_is_drawn_and_adds_nothing() -> None:
    """With every record in the batch, making one null takes its clipped gradient away and leaves the noise and the divisor."""
    settings = DPSGD(noise_multiplier=1.0, max_grad_norm=0.5, batch_size=40, steps=1, learning_rate=1.0)
    present = np.ones(40, dtype=bool)
    present[-1] = False  # the last, so that the others keep their draws
    states = [new_state(), new_state()]
    trainer(settings, states[0]).step(1)
    trainer(settings, states[1], present=present).step(1)
    network = new_state().modules["network"]
    alone = PerRecordGradients(network).clipped_sum(lambda: 10 * (network(RAMPS[-1:]) - RAMPS[-1:]).square().sum(1), 1, 0.5)
    gradient = torch.cat([alone.gradients[name].flatten().double() for name, _ in network.named_parameters()])
    torch.testing.assert_close(flat(states[1]) - flat(states[0]), gradient / 40, rtol=1e-4, atol=1e-7)


class GroupedDPSGD(DPSGD):
    """DP-SGD that clips groups of parameters, each to a norm of its own in units of max_grad_norm."""

    group_norms: tuple[float, ...]

    def thresholds_at(self, step: int) -> tuple[float, ...]:
        """The clipping norms C_g of the groups at step 1..steps."""
        (whole,) = super().thresholds_at(step)
        return tuple(whole * norm for norm in self.group_norms)


def test_groups_are_clipped_each_to_its_norm_and_the_noise_covers_them_together() -> None:
    settings = GroupedDPSGD(noise_multiplier=2.0, max_grad_norm=0.1, group_norms=(3.0, 4.0), batch_size=40, steps=1, learning_rate=1.0)
    assert settings.thresholds_at(1) == pytest.approx((0.3, 0.4))
    private = trainer(settings, new_state(), groups=("0.", "2.")).private
    assert private.optimizer.max_grad_norm == pytest.approx(0.5)
    network, state = private.gradients.module, new_state()
    one = PerRecordGradients(network).clipped_sum(
        lambda: 1e4 * (network(RAMPS[:1]) - RAMPS[:1]).square().sum(1), 1, list(zip(private.groups, private.thresholds, strict=True))
    )
    for beginning, norm in (("0.", 0.3), ("2.", 0.4)):
        length = torch.cat([value.flatten() for name, value in one.gradients.items() if name.startswith(beginning)]).norm()
        assert float(length) == pytest.approx(norm, rel=1e-4)
    with pytest.raises(WorkbenchError, match="clipping norm for each of 1 groups of parameters, got 2"):
        trainer(settings, state)
    with pytest.raises(WorkbenchError, match=r"2.weight is in none"):
        trainer(settings, state, groups=("0.", "1."))


def test_the_noise_follows_the_clipping_norm_from_step_to_step() -> None:
    """On no record at all, a step is noise of deviation noise_multiplier C_step over the batch size."""
    settings = DPSGD(noise_multiplier=3.0, max_grad_norm=0.2, clipping_schedule="cosine", batch_size=10, steps=2, learning_rate=1.0)
    thresholds = [settings.thresholds_at(step)[0] for step in (1, 2)]
    assert thresholds == pytest.approx([0.2, 0.1])
    state = new_state()
    private = trainer(settings, state, present=np.zeros(40, dtype=bool))
    for step, threshold in zip((1, 2), thresholds, strict=True):
        before = flat(state)
        private.step(step)
        moved = (before - flat(state)) * 10 / (3.0 * threshold)
        drawn = state.randomness.stream("private: noise", step)
        bits, parameters = gradient_grid(3.0, threshold, 10.0, 1).bits, state.modules["network"].parameters()
        expected = np.concatenate([drawn.floored_normal(tuple(p.shape), bits).ravel() * 2.0**-bits for p in parameters])
        torch.testing.assert_close(moved, torch.from_numpy(expected), rtol=1e-3, atol=1e-4)


def test_a_private_step_takes_one_norm_or_one_a_group() -> None:
    network = nn.Linear(2, 2)
    options = {"noise_multiplier": 1.0, "expected_batch_size": 2.0, "randomness": Randomness.from_seed(0)}
    optimizer = torch.optim.SGD(network.parameters(), lr=1.0)
    assert PrivateStep(network, optimizer, max_grad_norm=0.7, **options).thresholds == (0.7,)
    with pytest.raises(WorkbenchError, match=r"above 0, got 0\.5, 0"):
        PrivateStep(network, optimizer, max_grad_norm=(0.5, 0), parameter_groups=("w", "b"), **options)


@pytest.mark.parametrize("private", [True, False])
def test_ordinary_steps_are_spent_where_they_are_private(private: bool) -> None:
    settings = OrdinaryTraining(steps=4, learning_rate=0.5)
    state, spent, rates = new_state("plain"), [], []
    state.spend = lambda stage, step: spent.append((stage, step))

    def loss(_step: int) -> Tensor:
        rates.append(state.optimizers["plain"].param_groups[0]["lr"])
        return (state.modules["network"](RAMPS) - RAMPS).square().mean()

    steps = list(OrdinaryTrainer(settings, "plain", state, loss, private=private).run())
    assert spent == ([("plain", step) for step in (1, 2, 3, 4)] if private else [])
    assert rates == pytest.approx([0.5 * (1 + math.cos(math.pi * done)) / 2 for done in (0, 0.25, 0.5, 0.75)])
    assert [step.private for step in steps] == [private] * 4
    assert steps[-1].values["loss"] < steps[0].values["loss"]
