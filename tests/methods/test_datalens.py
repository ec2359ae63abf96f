"""DataLens: steps that its published noise affords, that votes move by 2 sqrt(k) at most, and what a shared record would cost."""

import math

import numpy as np
import pytest
import torch
from support.quick import QUICK, quick_plan
from torch import Tensor

from workbench.claims.unbuilt import UNBUILT
from workbench.datasets import facts
from workbench.errors import WorkbenchError
from workbench.experiment import new_state
from workbench.methods.datalens import DataLensConfig, training
from workbench.methods.datalens.method import PUBLISHED
from workbench.models.teachers.config import VOTES
from workbench.plan import Plan
from workbench.planning import make_plan
from workbench.privacy.accounting.gaussian import gdp_epsilon, gdp_mu
from workbench.records import Records
from workbench.training.grid import Grid
from workbench.training.randomness import Randomness


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
    row = UNBUILT["datalens-coded"].row("datalens-coded")
    sound = make_plan("datalens", facts("mnist"), preset="published").bound.epsilon
    assert row.bound.epsilon == pytest.approx(gdp_epsilon(2 * gdp_mu(sound, 1e-5), 1e-5))
    assert (row.claim.status, row.bound.status) == ("refuted", "proved")


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


FEW = 12  # records, of a teacher each, so that a teacher learns what its record is
TAUGHT = {"teachers.number": FEW, "teachers.updates": 30, "teachers.learning_rate": 0.05, "noise_multiplier": 2.0, "training.steps": 3}


def voted(plan: Plan, data: Records, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Tensor], list[np.ndarray]]:
    """Every teacher's votes (K, B, D) of each round, and their sums as released, in deviations of the noise.

    What follows a release is the same whatever it says, so that rounds after the first differ by what teachers learned alone.
    """
    each, sums = list[Tensor](), list[np.ndarray]()
    signs = training.signs

    def kept(wishes: Tensor, top: int, draw: torch.Generator) -> Tensor:
        each.append(signs(wishes, top, draw))
        return each[-1]

    def recorded(_self: Randomness, purpose: str, step: int, total: np.ndarray, grid: Grid) -> np.ndarray:
        assert purpose == VOTES
        sums.append(total * grid.spacing / grid.deviation)
        return 5.0 * np.random.default_rng(step).normal(size=total.shape)

    with monkeypatch.context() as patch:
        patch.setattr(training, "signs", kept)
        patch.setattr(Randomness, "release", recorded)
        for _ in plan.build().fit(data, None, new_state(plan, seed=0)):
            pass
    return each, sums


@pytest.mark.parametrize(("position", "top", "least"), [(0, 3, 0.55), (7, 3, 0.7), (7, 64, 0.6)])
def test_a_replaced_record_moves_the_released_votes_by_the_stated_distance_at_most(
    position: int, top: int, least: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A black image in the place of a white one: its own teacher votes otherwise, in every round, and no other does."""
    labels = np.zeros(FEW, np.int64)
    records = np.full((FEW, 1, 8, 8), 255, np.uint8)
    others = records.copy()
    others[position] = 0
    facts_of_few = facts("digits").model_copy(update={"num_records": FEW})
    plan = make_plan("datalens", facts_of_few, settings=QUICK["datalens"] | TAUGHT | {"top": top}, delta=1e-3)
    (stated,) = [stage.distances for stage in plan.stages if stage.name == VOTES]
    assert stated is not None
    (votes, sums), (other_votes, other_sums) = (voted(plan, Records(one, labels), monkeypatch) for one in (records, others))
    assert len(votes) == len(sums) == 3
    for one, other in zip(votes, other_votes, strict=True):
        assert [number for number in range(FEW) if not torch.equal(one[number], other[number])] == [position]
    moved = [float(np.linalg.norm(one - other)) for one, other in zip(sums, other_sums, strict=True)]
    assert least * stated.replace_one < max(moved) <= stated.replace_one


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
