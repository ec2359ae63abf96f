"""DataLens: steps that its published noise affords, that votes move by 2 sqrt(k) at most, and what a shared record would cost."""

import math

import pytest
import torch
from support.quick import quick_plan

from workbench.datasets import facts
from workbench.errors import WorkbenchError
from workbench.experiment import new_state
from workbench.methods.datalens import DataLensConfig, training
from workbench.methods.datalens.method import PUBLISHED
from workbench.models.teachers.config import VOTES
from workbench.planning import make_plan
from workbench.privacy.accounting.gaussian import gdp_epsilon, gdp_mu


@pytest.mark.parametrize(
    ("preset", "epsilon", "slope", "steps", "older"),
    [("published-1", 1.0, 1.6e-5, 149.7, 86.7), ("published", 10.0, 9.375e-4, 142.3, 110.2)],
)
def test_published_noise_affords_so_many_steps(preset: str, epsilon: float, slope: float, steps: float, older: float) -> None:
    """RDP of an image is slope times the order, which is mu^2 / 2; by the conversion of before 2022 fewer steps."""
    plan = make_plan("datalens", facts("mnist"), preset=preset, target="claim")
    config = plan.build().config
    assert isinstance(config, DataLensConfig)
    assert config.noise_multiplier is not None
    square = config.changes / config.noise_multiplier**2
    assert square / 15 / 2 == pytest.approx(slope, rel=1e-5)
    assert gdp_mu(epsilon, 1e-5) ** 2 / square == pytest.approx(steps, abs=0.06)
    best = math.sqrt(math.log(1e5) + epsilon) - math.sqrt(math.log(1e5))  # c + 2 sqrt(c log(1e5)), at the best order, is epsilon
    assert best**2 / (square / 2) == pytest.approx(older, abs=0.06)
    assert PUBLISHED[preset][3] == int(steps)
    assert 0.98 * epsilon < plan.bound.epsilon <= epsilon < plan.claim.epsilon


def test_200_steps_on_the_digits_at_ten_need_noise_of_126() -> None:
    settings = {"top": 8, "training.batch_size": 10, "training.steps": 200}
    plans = [make_plan("datalens", facts("digits"), delta=1e-5, settings=settings | {"noise_multiplier": s}) for s in (126.5, 125.5)]
    assert plans[0].bound.epsilon < 10.0 < plans[1].bound.epsilon


@pytest.mark.parametrize(("epsilon", "doubled"), [(1.0, 2.155), (10.0, 24.39)])
def test_a_record_of_two_teachers_doubles_the_distance(epsilon: float, doubled: float) -> None:
    """What the row of the claims table says of the 1138 records that the code's partition shares: 4000 x 15 records, 6000 of each class."""
    mnist = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]  # records of each class
    assert sum(6000 - count for count in mnist if count < 6000) == 1138
    assert gdp_epsilon(2 * gdp_mu(epsilon, 1e-5), 1e-5) == pytest.approx(doubled, rel=1e-3)


def test_votes_are_top_signs_and_turned_round_move_by_two_roots_of_k() -> None:
    draw = torch.Generator().manual_seed(0)
    wishes = torch.randn(7, 5, 20, generator=draw).sign() * torch.arange(20.0).add(1.0)
    wishes[..., :16] *= 1e-3
    votes = training.signs(wishes, 4, torch.Generator().manual_seed(1))
    assert (votes != 0).sum(dim=-1).unique().tolist() == [4]
    assert (votes[..., :16] == 0).all()
    assert votes[..., 19].tolist() == wishes[..., 19].sign().long().tolist(), "of the largest number no coin is needed"
    turned = wishes.clone()
    turned[2] *= -1.0
    other = training.signs(turned, 4, torch.Generator().manual_seed(1))
    assert torch.equal(votes[[0, 1, 3, 4, 5, 6]], other[[0, 1, 3, 4, 5, 6]])
    elsewhere = votes.clone()
    elsewhere[2] = votes[2].roll(4, dims=-1)
    for neighbour in (other, elsewhere, torch.where(torch.arange(7)[:, None, None] == 2, -votes, votes)):
        moved = (votes.sum(dim=0) - neighbour.sum(dim=0)).float().norm(dim=-1)
        assert float(moved.max()) <= 2 * math.sqrt(4)
    assert moved.tolist() == [4.0] * 5  # pyright: ignore[reportPossiblyUnboundVariable]


def test_votes_are_right_on_average() -> None:
    wishes = torch.tensor([0.5, -1.0, 0.25, 0.0]).expand(20_000, 1, 4)
    votes = training.signs(wishes, 3, torch.Generator().manual_seed(0))[:, 0].float().mean(dim=0)
    assert votes.tolist() == pytest.approx([0.5, -1.0, 0.25, 0.0], abs=0.03)


def test_images_move_where_noisy_votes_are_far_from_zero_and_the_generator_follows() -> None:
    plan = quick_plan("datalens", overrides={"threshold": 0.4, "move": 0.5})
    config, state = plan.build().config, new_state(plan, seed=0)
    assert isinstance(config, DataLensConfig)
    training.rounds.ask(config, 4, state, 1)
    assert float(training.loss(config, state).detach()) == pytest.approx(0.0, abs=1e-10)
    state.tensors[VOTES][:, 0], state.tensors[VOTES][:, 1] = -2.5, 1.9  # of 5 teachers, 2 is far enough
    assert float(training.loss(config, state).detach()) == pytest.approx(0.5**2 / 64, rel=1e-5)


def test_more_votes_than_numbers_are_refused() -> None:
    with pytest.raises(WorkbenchError, match="at most the 64 numbers of an image, got top=65"):
        make_plan("datalens", facts("digits"), epsilon=10.0, settings={"top": 65})
