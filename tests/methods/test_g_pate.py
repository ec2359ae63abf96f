"""G-PATE: steps that its published noise affords, what one teacher moves of bins and tests, and that answers follow noisy votes."""

import math

import numpy as np
import pytest
import torch
from support.quick import quick_plan

from workbench.datasets import facts
from workbench.experiment import new_state
from workbench.methods.g_pate import GPATEConfig, training
from workbench.methods.g_pate.method import PUBLISHED
from workbench.methods.protocols import DataDependentEpsilon
from workbench.models.teachers.config import VOTES
from workbench.models.teachers.ensemble import ballots_of
from workbench.planning import make_plan
from workbench.privacy.accounting.gaussian import gdp_mu
from workbench.privacy.not_dp import vote_gaps


@pytest.mark.parametrize(
    ("preset", "epsilon", "slope", "steps", "older", "unanswered"),
    [("published-1", 1.0, 1.58333e-4, 226.9, 131.5, 4311), ("published", 10.0, 0.0304167, 65.8, 51.0, 4802)],
)
def test_published_noise_affords_so_many_steps_if_all_queries_are_answered(
    preset: str, epsilon: float, slope: float, steps: float, older: float, unanswered: int
) -> None:
    """RDP of a step is slope times the order, which is mu^2 / 2; by the conversion of before 2022 fewer, and more if none is answered."""
    plan = make_plan("g-pate", facts("mnist"), preset=preset, target="claim")
    config = plan.build().config
    assert isinstance(config, GPATEConfig)
    assert config.noise_multiplier is not None
    square = config.changes / config.noise_multiplier**2
    assert square / 2 == pytest.approx(slope, rel=1e-5)
    assert gdp_mu(epsilon, 1e-5) ** 2 / square == pytest.approx(steps, abs=0.06)
    assert older_steps(epsilon, square / 2) == pytest.approx(older, abs=0.06)
    tests = config.queries / (config.noise_multiplier * config.test_noise) ** 2
    assert int(gdp_mu(epsilon, 1e-5) ** 2 / tests) == unanswered
    assert PUBLISHED[preset]["steps"] == int(steps)
    assert 0.99 * epsilon < plan.bound.epsilon <= epsilon < plan.claim.epsilon


def older_steps(epsilon: float, slope: float) -> float:
    """Steps T whose T slope a + log(1e5)/(a - 1) is epsilon at the best order a, where it is c + 2 sqrt(c log(1e5)) with c = T slope."""
    return (math.sqrt(math.log(1e5) + epsilon) - math.sqrt(math.log(1e5))) ** 2 / slope


def test_200_steps_on_the_digits_at_ten_need_noise_of_63_2() -> None:
    settings = {"directions": 4, "training.batch_size": 10, "training.steps": 200}
    plans = [make_plan("g-pate", facts("digits"), delta=1e-5, settings=settings | {"noise_multiplier": s}) for s in (63.25, 63.15)]
    assert plans[0].bound.epsilon < 10.0 < plans[1].bound.epsilon


def test_tests_that_are_left_out_cost_nothing() -> None:
    settings = {"noise_multiplier": 50.0, "test_noise": 2.0, "directions": 3, "training.batch_size": 10, "training.steps": 4}
    distances = []
    for threshold in (0.0, 0.5):
        plan = make_plan("g-pate", facts("digits"), settings={**settings, "threshold": threshold})
        stated = next(stage for stage in plan.stages if stage.name == VOTES).distances
        assert stated is not None
        assert stated.zero_out == stated.replace_one
        distances.append(stated.replace_one)
    assert distances == pytest.approx([math.sqrt(30 * 2.0) / 50, math.sqrt(30 * 2.25) / 50])


def test_one_teacher_moves_two_bins_of_every_query_and_the_largest_count_by_one() -> None:
    config = GPATEConfig(directions=2, bins=10, clip=0.1)
    wishes = torch.zeros(30, 4, 2)
    wishes[3:, :, 0], wishes[:, :, 1] = 5.0, -0.099
    others = wishes.clone()
    others[7] = torch.tensor([-0.05, 0.02])
    one, two = training.histograms(wishes, config), training.histograms(others, config)
    assert one.sum(axis=2).tolist() == [[30, 30]] * 4
    assert one[0, 0].tolist() == [0, 0, 0, 0, 0, 3, 0, 0, 0, 27]
    assert one[0, 1].tolist() == [30, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    assert float(np.linalg.norm(one - two)) == pytest.approx(math.sqrt(2 * 4 * 2))
    assert np.abs(one.max(axis=2) - two.max(axis=2)).max() == 1


def test_a_teacher_that_diverged_votes_once_like_every_other() -> None:
    """An error would tell of the records that it learned from."""
    wishes = torch.full((3, 4, 2), -1.0)
    wishes[1] = math.nan
    assert training.histograms(wishes, GPATEConfig(directions=2, bins=4))[0, 0].tolist() == [2, 0, 1, 0]


def test_answers_are_centres_of_the_fullest_bins_and_zero_where_a_test_fails() -> None:
    plan = quick_plan("g-pate", epsilon=None, overrides={"threshold": 0.5, "noise_multiplier": 2.0, "clip": 0.4})
    config, state = plan.build().config, new_state(plan, seed=0)
    assert isinstance(config, GPATEConfig)
    assert config.queries == 8
    state.tensors[VOTES][: 8 * 4].view(8, 4)[:, 2] = 3.0
    state.tensors[VOTES][8 * 4 :] = torch.tensor([0.4, 0.45] * 4, dtype=torch.float64)  # of a deviation of 6; half of 5 teachers is 2.5
    answers = training.answers(config, state)
    assert answers.shape == (4, 2)
    assert answers[:, 0].tolist() == [0.0] * 4
    assert answers[:, 1].tolist() == pytest.approx([0.1] * 4)


def test_true_votes_are_kept_of_answered_queries_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of 5 teachers is 2.5; with hardly any noise a test lets 3 through and 2 not."""
    counts = np.array([[[3, 2, 0, 0], [2, 2, 1, 0]]] * 4)
    monkeypatch.setattr(training, "histograms", lambda *_: counts)
    kept = {}
    for threshold in (0.5, 0.0):
        plan = quick_plan("g-pate", epsilon=None, overrides={"threshold": threshold, "noise_multiplier": 1e-3})
        config, state = plan.build().config, new_state(plan, seed=0)
        assert isinstance(config, GPATEConfig)
        training.vote(config, state, 2)
        kept[threshold] = ballots_of(state).counts.tolist()
        assert "ballots" not in plan.build().released_parts
    nothing = [[0] * 4] * 8
    assert kept[0.5] == [nothing, [[3, 2, 0, 0], [0, 0, 0, 0]] * 4, nothing]
    assert kept[0.0] == [nothing, counts.reshape(8, 4).tolist(), nothing]


def test_unanswered_queries_cost_their_test_and_answers_what_their_votes_say() -> None:
    """RDP of c a is epsilon c + 2 sqrt(c log(1/delta)) at the best order; 24 queries, and noise of 12 and 60."""
    settings = {"threshold": 0.5, "noise_multiplier": 12.0, "test_noise": 5.0, "teachers.number": 400}
    plan = quick_plan("g-pate", epsilon=None, overrides=settings)
    method, state = plan.build(), new_state(plan, seed=0)
    assert isinstance(method, DataDependentEpsilon)
    tests, answers = 24 / (2 * 60.0**2), 24 / 12.0**2
    alone, at_worst = (slope + 2 * math.sqrt(slope * math.log(1e5)) for slope in (tests, tests + answers))
    values = {}
    for name, votes in (("unanswered", (0, 0, 0, 0)), ("tied", (200, 200, 0, 0)), ("agreed", (400, 0, 0, 0)), ("near", (220, 180, 0, 0))):
        ballots_of(state).counts[:] = torch.tensor(votes)
        values[name] = method.vote_gap_epsilon(state, 1e-5)
        assert values[name].queries == 24
        assert values[name].worst_case == pytest.approx(at_worst, rel=1e-3)
    assert values["unanswered"].epsilon == pytest.approx(alone, rel=1e-3)
    assert values["tied"].epsilon == pytest.approx(at_worst, rel=1e-3)
    assert alone <= values["agreed"].epsilon < 1.2 * alone
    turned = np.array([0.5 * (math.erfc(40 / (2 * 12.0)) + 2 * math.erfc(220 / (2 * 12.0)))])
    rdp = 24 * vote_gaps.gnmax_rdp(turned, 12.0)[0] + tests * vote_gaps.ORDERS
    assert values["near"].epsilon == pytest.approx(vote_gaps.rdp_epsilon(rdp, 1e-5), rel=1e-9)
    assert values["agreed"].epsilon < values["near"].epsilon < values["tied"].epsilon
    state.steps[VOTES] = 1
    assert method.vote_gap_epsilon(state, 1e-5).queries == 8
