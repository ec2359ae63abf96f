"""What the teaching panels compute, against formulas and against what is known of the parts that they use."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import norm

from workbench.datasets import load
from workbench.datasets.base import to_unit_range
from workbench.diffusion import DiffusionConfig, build_schedule
from workbench.teaching import attacking, forward, one_step, reverse, selecting
from workbench.teaching.attacking import AttackChoices
from workbench.teaching.base import DELTA
from workbench.teaching.one_step import StepChoices
from workbench.teaching.reverse import ReverseChoices
from workbench.teaching.selecting import SelectionChoices


def delta_of(mu: float, epsilon: float) -> float:
    """delta(epsilon) of mu-GDP, written out again."""
    return float(norm.cdf(-epsilon / mu + mu / 2) - math.exp(epsilon) * norm.cdf(-epsilon / mu - mu / 2))


def test_signal_and_epsilon_over_time_are_those_of_the_schedule() -> None:
    frame = forward.over_time("cosine", (700,)).set_index("size")
    alpha = float(build_schedule(DiffusionConfig(schedule="cosine")).alphas_cumprod[700])
    small, large = frame.loc["8×8 grey"], frame.loc["64×64 colour"]
    assert small["snr"] == pytest.approx(alpha / (1 - alpha))
    assert large["snr"] == pytest.approx(64 * alpha / (1 - alpha)), "a thumbnail's pixel is the mean of 64"
    assert large["mu"] == pytest.approx(2 * math.sqrt(3 * 64 * 64 * alpha / (1 - alpha)))
    assert delta_of(small["mu"], small["epsilon"]) == pytest.approx(DELTA, rel=1e-6)


def test_noised_digits_begin_as_themselves_and_end_alike() -> None:
    noised = forward.noised_digits("linear")
    train = load("digits").train
    assert train.labels is not None
    assert (noised[0] == train.records[[int(np.flatnonzero(train.labels == label)[0]) for label in range(10)]]).all()
    signal = [abs(np.corrcoef(noised[0].ravel(), images.ravel())[0, 1]) for images in noised[[4, 12, 40]]]
    assert signal[0] > signal[1] > signal[2]
    assert signal[2] < 0.1


def test_a_step_taken_apart_is_the_engine_s_own() -> None:
    gradients, _ = one_step.gradients()
    step = one_step.take_apart(StepChoices(max_grad_norm=1.0, noise_multiplier=2.0, left_out=3))
    assert step.clipped.max() <= 1 + 1e-9
    assert (step.norms > 1).any()
    assert (step.norms < 1).any()
    total = (gradients * np.minimum(1, 1 / step.norms)[:, None]).sum(0)
    assert step.sum_norm == pytest.approx(float(np.linalg.norm(total)))
    assert step.place_with - step.place_without == pytest.approx(step.clipped[3])
    assert step.mu == pytest.approx(step.clipped[3] / 2)
    assert step.worst_mu == 0.5
    assert step.noise_norm == pytest.approx(2 * math.sqrt(step.parameters), rel=0.05)


def test_the_ideal_denoiser_finds_the_mean_of_a_gaussian_in_closed_form() -> None:
    train = load("digits").train
    vectors = to_unit_range(train.records[train.labels == 3]).reshape(-1, 64).astype(np.float64)
    mean, values, directions = vectors.mean(0), *np.linalg.eigh(np.cov(vectors.T))
    covariance = directions @ np.diag(np.maximum(values, reverse.LEAST_VARIANCE)) @ directions.T
    x_t, time = torch.randn(2, 1, 8, 8, generator=torch.Generator().manual_seed(1), dtype=torch.float64), 400
    alpha = float(build_schedule(DiffusionConfig()).alphas_cumprod[time])
    gain = np.linalg.solve(alpha * covariance + (1 - alpha) * np.eye(64), (x_t.reshape(2, 64).numpy() - math.sqrt(alpha) * mean).T).T
    prediction = reverse.ideal()(x_t, torch.full((2,), time), torch.tensor([4, 4]))
    assert prediction.reshape(2, 64).numpy() == pytest.approx(math.sqrt(1 - alpha) * gain, abs=1e-6)


def test_films_end_in_the_digit_that_was_asked_for_and_guidance_makes_samples_more_alike() -> None:
    films = reverse.by_guidance(ReverseChoices(digit=7, steps=10))
    assert [one.name for one in films] == ["guidance 0", "guidance 1", "guidance 3", "guidance 8"]
    assert 1 < films[0].margin < films[-1].margin
    assert films[0].spread > films[-1].spread
    assert all((one.frames[0] == films[0].frames[0]).all() for one in films), "all begin with the same noise"
    assert films[0].times[0] == 1000
    assert films[0].times[-1] == 0
    assert len({one.samples.tobytes() for one in reverse.by_sampler(ReverseChoices(steps=10))}) == 3


def test_rounds_of_votes_cost_what_their_plan_says_and_the_last_one_all_of_it() -> None:
    rounds = selecting.select(SelectionChoices(epsilon=2.0, rounds=2))
    assert [one.number for one in rounds] == [0, 1, 2]
    assert rounds[0].epsilon == 0
    assert rounds[1].epsilon < rounds[2].epsilon <= 2.0
    assert rounds[2].epsilon == pytest.approx(2.0, rel=0.01)
    assert (rounds[0].images != rounds[2].images).any()
    assert 0 < rounds[2].above < 1


def test_the_best_attack_does_as_well_as_its_formula_says_and_no_better_than_the_bound() -> None:
    attack = attacking.attack(AttackChoices(epsilon=10.0))
    assert attack.took_part.sum() == attacking.RUNS
    scores = attack.scores
    apart = scores[attack.took_part].mean() - scores[~attack.took_part].mean()
    assert apart == pytest.approx(attack.mu**2, rel=0.12), "log-likelihood ratios are normal, mu^2 apart and mu wide"
    assert scores[attack.took_part].std() == pytest.approx(attack.mu, rel=0.12)
    right = ((scores > 0) == attack.took_part).mean()
    assert right == pytest.approx(norm.cdf(attack.mu / 2), abs=0.04)
    rates, most = attacking.bound_curve(attack.plan)
    assert (attacking.best_curve(attack.mu)[1] <= most + 1e-9).all()
    assert norm.cdf(attack.mu / 2) < attacking.right_at_most(attack.plan) < 1
    assert len(rates) == len(most)


def test_a_visitor_s_curve_is_that_of_the_ratings() -> None:
    truth = [True, False, True, False]
    assert attacking.visitor_rates([5], truth) == []
    assert attacking.visitor_rates([5, 1, 4, 2], truth) == [(0, 0), (0, 0.5), (0, 1), (0, 1), (0.5, 1), (1, 1)]
    assert attacking.visitor_rates([3, 3, 3, 3], truth)[3] == (1, 1)
