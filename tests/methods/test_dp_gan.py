"""DP-GAN and DP-CGAN: the numbers they publish, how far one record moves a step, and what their generators never see."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from support.quick import QUICK, quick_dataset, quick_plan

from workbench.datasets import facts
from workbench.errors import WorkbenchError
from workbench.experiment import new_state
from workbench.methods.dp_cgan.coded import clipped_sum
from workbench.methods.dp_cgan.method import OrderedBatches
from workbench.methods.dp_gan.method import claimed_epsilon
from workbench.models.adversarial.config import AVERAGE, CRITIC
from workbench.models.adversarial.private import classes_of, cut_off, pool, row_losses
from workbench.models.embeddings.config import GENERATOR
from workbench.models.settings import DP_SGD
from workbench.networks import ExponentialMovingAverage
from workbench.plan import Plan
from workbench.planning import make_plan
from workbench.privacy.accounting.accountants import ACCOUNTANTS
from workbench.privacy.accounting.accountants.reading import mechanisms
from workbench.privacy.accounting.bounds import proved_bound
from workbench.privacy.accounting.events import UnprovedDpEvent
from workbench.privacy.accounting.formulas import gaussian_releases
from workbench.privacy.accounting.gaussian import gdp_epsilon
from workbench.records import Records
from workbench.training.microbatch import Microbatch
from workbench.training.per_record import PerRecordGradients
from workbench.training.private_step import PrivateStep
from workbench.training.randomness import Randomness
from workbench.training.state import State

METHODS = ("dp-gan", "dp-cgan")


@pytest.mark.parametrize(("epsilon", "noise"), [(9.6, 0.001686), (11.5, 0.001407), (14.0, 0.001156), (29.0, 0.000558)])
def test_dp_gan_claims_its_noise_by_the_steps_of_one_loop(epsilon: float, noise: float) -> None:
    """Noise and epsilon change places in the formula."""
    assert claimed_epsilon(noise, 64 / 60_000, 5, 1e-5) == pytest.approx(epsilon, rel=1e-3)
    assert claimed_epsilon(epsilon, 64 / 60_000, 5, 1e-5) == pytest.approx(noise, rel=1e-3)


@pytest.mark.parametrize(("steps", "bound"), [(5, 65.9), (1_000, 296.3), (100_000, 5498.0)])
def test_dp_gan_as_printed_claims_less_than_its_steps_cost(steps: int, bound: float) -> None:
    plan = make_plan("dp-gan", facts("mnist"), preset="published", settings={"training.steps": steps})
    assert plan.config["training"]["noise_multiplier"] == pytest.approx(0.1079, rel=1e-3)
    assert (plan.claim.epsilon, plan.claim.status) == (pytest.approx(9.6), "refuted")
    assert plan.bound.epsilon == pytest.approx(bound, rel=1e-3)


def test_dp_gan_as_coded_has_no_bound_and_clips_nothing() -> None:
    plan = make_plan("dp-gan", facts("mnist"), preset="published-coded")
    assert plan.bound.epsilon == math.inf
    assert "clips no gradient" in plan.bound.reason
    (training,) = [stage for stage in plan.stages if stage.name == DP_SGD]
    assert training.sampling == "no amplification"
    settings = plan.build().config.training  # pyright: ignore[reportAttributeAccessIssue]
    steps = settings.private_steps(DP_SGD, 60_000)
    assert settings.thresholds_at(1) == (1e3,)
    assert steps.deviation * 1e3 / steps.divisor == pytest.approx(0.001686 / 64, rel=1e-3)


def test_what_one_release_as_coded_would_cost_is_the_number_in_its_reason() -> None:
    """A known batch of B: a record that c_g bounds moves the mean by 1/B of it, and the noise is s_n/B; mu = 1/s_n is exact."""
    plan = make_plan("dp-gan", facts("mnist"), preset="published-coded")
    training = plan.build().config.training  # pyright: ignore[reportAttributeAccessIssue]
    steps = training.private_steps(DP_SGD, 60_000)
    mu = (1.0 / 64) / (steps.deviation * 1e3 / steps.divisor)
    epsilon = gdp_epsilon(mu, 1e-5)
    first, second = (stats.norm.logcdf(at) for at in (mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu))
    assert math.exp(first) - math.exp(epsilon + second) == pytest.approx(1e-5, rel=1e-3)
    for reason in (plan.bound.reason, plan.claim.reason):
        assert f"{round(epsilon):,}".replace(",", " ") in reason


@pytest.mark.parametrize(
    ("method", "preset", "claim", "bound"),
    [
        ("dp-gan", "published-many", 9.9697, 9.9697),
        ("dp-cgan", "published", 9.6, 8.16),
        ("dp-cgan", "published-notebook", 9.6, 7.89),
    ],
)
def test_sound_forms_claim_no_less_than_they_cost(method: str, preset: str, claim: float, bound: float) -> None:
    plan = make_plan(method, facts("mnist"), preset=preset)
    assert plan.claim.epsilon == pytest.approx(claim, rel=3e-4)
    assert plan.bound.epsilon <= bound * 1.001
    assert plan.bound.status == "proved"


def test_so_many_sound_steps_reach_ten() -> None:
    claims = [
        make_plan("dp-gan", facts("mnist"), preset="published-many", settings={"training.steps": steps}).claim.epsilon
        for steps in (452_264, 452_267)
    ]
    assert claims[0] == pytest.approx(10.0, abs=2e-5)
    assert claims[0] < 10.0 < claims[1]


@pytest.mark.parametrize(("preset", "rdp"), [("published-notebook", 8.71), ("published", 8.79)])
def test_todays_conversion_proves_less_of_dp_cgan_than_it_claims(preset: str, rdp: float) -> None:
    (training,) = [stage for stage in make_plan("dp-cgan", facts("mnist"), preset=preset).stages if stage.name == DP_SGD]
    assert ACCOUNTANTS["rdp"].epsilon(mechanisms(training.total(), "REPLACE_SPECIAL"), 1e-5) == pytest.approx(rdp, abs=5e-3)


@pytest.mark.parametrize(("noise_multiplier", "epsilon", "pld"), [(1.338, 10.0, 9.998), (8.44, 1.0, 0.9998)])
def test_500_batches_of_a_tenth_of_the_digits(noise_multiplier: float, epsilon: float, pld: float) -> None:
    settings = {"training.batch_size": 150, "training.steps": 500, "training.noise_multiplier": noise_multiplier}
    plan = make_plan("dp-gan", facts("digits"), settings=settings, delta=1e-5)
    assert plan.bound.epsilon == pytest.approx(pld, rel=6e-5)
    less = make_plan("dp-gan", facts("digits"), settings=settings | {"training.noise_multiplier": 0.999 * noise_multiplier}, delta=1e-5)
    assert plan.bound.epsilon < epsilon < less.bound.epsilon


def prepared(method: str, overrides: Mapping[str, Any] | None = None) -> tuple[Any, Records, State]:
    plan = quick_plan(method, overrides=dict(overrides or {}))
    return plan.build().config, quick_dataset(method).train, new_state(plan, seed=0)


def summed(config: Any, data: Records, state: State, places: np.ndarray) -> torch.Tensor:
    """The clipped sum of the first step over the records at `places`, flat."""
    critic = state.modules[CRITIC]
    batch = torch.from_numpy(data.records[places]).float() / 127.5 - 1.0, classes_of(data)[places]
    step = PrivateStep(
        critic, state.optimizers[DP_SGD], noise_multiplier=1.0, max_grad_norm=config.training.max_grad_norm, expected_batch_size=20.0,
        randomness=state.randomness, noise_multiplicity=config.training.noise_multiplicity,
    )  # fmt: skip
    gradients = PerRecordGradients(critic, config.training.noise_multiplicity)
    part = Microbatch(1, np.arange(len(places)), places, config.training.noise_multiplicity, state.randomness, "draws", state.device)
    losses = row_losses(config, state, batch)
    clipped = gradients.clipped_sum(lambda: losses(part), len(places), step.thresholds[0])
    return torch.cat([value.flatten() for value in clipped.gradients.values()])


@pytest.mark.parametrize("multiplicity", [2, 4])
@pytest.mark.parametrize("method", METHODS)
def test_one_record_moves_the_sum_by_the_norm_at_most_with_its_generated_images(method: str, multiplicity: int) -> None:
    """Whatever stands beside it: the others' part is the same with and without it."""
    config, data, state = prepared(method, {"training.noise_multiplicity": multiplicity, "training.max_grad_norm": 1e-3})
    places = np.arange(12)
    moved = summed(config, data, state, places) - summed(config, data, state, np.delete(places, 5))
    alone = summed(config, data, state, places[5:6])
    torch.testing.assert_close(moved, alone, rtol=1e-3, atol=1e-7)
    assert float(alone.norm()) == pytest.approx(1e-3, rel=1e-2)


@pytest.mark.parametrize("method", METHODS)
def test_every_other_row_is_an_image_of_the_pool_that_the_records_place_decides(method: str) -> None:
    config, _, state = prepared(method, {"training.noise_multiplicity": 4})
    losses = row_losses(config, state, (torch.zeros(3, 1, 8, 8), torch.zeros(3, dtype=torch.int64)))
    images, classes = pool(config, state, 40, 1)
    part = Microbatch(1, np.arange(3), np.array([7, 2, 21]), 4, state.randomness, "draws", state.device)
    drawn, labels, real = losses.draw(part)
    assert real.tolist() == [True, False] * 6
    wanted = [14, 14, 15, 15, 4, 4, 5, 5, 2, 2, 3, 3]
    assert torch.equal(labels, classes[wanted])
    torch.testing.assert_close(drawn, images[wanted])


def test_the_pool_is_another_at_every_step() -> None:
    config, _, state = prepared("dp-cgan")
    (first, _), (second, _), (again, _) = (pool(config, state, 20, step) for step in (1, 2, 1))
    assert not torch.equal(first, second)
    assert torch.equal(first, again)


@pytest.mark.parametrize("method", METHODS)
def test_samples_come_from_the_average_of_the_generator(method: str) -> None:
    plan, data = quick_plan(method), quick_dataset(method).train
    state = new_state(plan, seed=0)
    for _ in plan.build().fit(data, None, state):
        pass
    assert state.steps == {DP_SGD: 5, GENERATOR: 2}
    average = state.modules[AVERAGE]
    assert isinstance(average, ExponentialMovingAverage)
    assert int(average.num_updates) == 2
    assert plan.build().released_parts == (AVERAGE,)


def test_weights_are_cut_off_after_every_step() -> None:
    plan, data = quick_plan("dp-gan", overrides={"weight_limit": 1e-3}), quick_dataset("dp-gan").train
    state = new_state(plan, seed=0)
    for step in plan.build().fit(data, None, state):
        if step.stage == DP_SGD:
            assert max(float(p.detach().abs().max()) for p in state.modules[CRITIC].parameters()) == pytest.approx(1e-3)
    layer = torch.nn.Linear(2, 2)
    cut_off(layer, 0.0)
    assert not layer.weight.any()


def test_proved_bound_counts_every_critic_step() -> None:
    plan = quick_plan("dp-cgan")
    (training,) = [stage for stage in plan.stages if stage.name == DP_SGD]
    assert training.steps == 5
    assert proved_bound([training], plan.delta).epsilon == pytest.approx(plan.bound.epsilon)


def test_dp_cgan_as_coded_has_no_bound_and_takes_slices_in_one_order() -> None:
    plan = make_plan("dp-cgan", facts("mnist"), preset="published-coded")
    assert (plan.claim.status, plan.bound.epsilon) == ("not_proved", math.inf)
    assert "297.8" in plan.bound.reason
    training, following = plan.stages
    assert (training.name, following.name, following.spent) == (DP_SGD, GENERATOR, "per_step")
    assert all(isinstance(stage.event, UnprovedDpEvent) for stage in plan.stages)
    batches = OrderedBatches(3)
    drawn = [batches.drawn(Randomness.from_seed(0), "", step, 10).tolist() for step in range(1, 5)]
    assert drawn == [[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 1, 2]]


@pytest.mark.parametrize(
    ("preset", "epochs", "epsilon"), [("published-coded", 152, 297.8), ("published", 249, 151.8)], ids=["notebook", "paper"]
)
def test_what_one_order_alone_makes_of_the_claim(preset: str, epochs: int, epsilon: float) -> None:
    """A record is in one batch of each epoch begun."""
    training = make_plan("dp-cgan", facts("mnist"), preset=preset).config["training"]
    assert math.ceil(training["steps"] * training["batch_size"] / 60_000) == epochs
    assert gaussian_releases(training["noise_multiplier"], epochs, 1e-5, "").epsilon == pytest.approx(epsilon, abs=0.05)


def coded_plan() -> Plan:
    settings = QUICK["dp-cgan"] | {"training.form": "coded", "training.noise_multiplier": 1.0, "generator.critic_steps": 1}
    return make_plan("dp-cgan", quick_dataset("dp-cgan").facts, settings=settings)


def test_as_coded_a_record_changes_the_clipped_gradients_of_others() -> None:
    """One record of twelve moves the sum farther than its own gradient could, which is at most twice the norm."""
    critic = new_state(coded_plan(), seed=0).modules[CRITIC].train()
    images, labels = torch.rand(12, 1, 8, 8, generator=torch.Generator().manual_seed(0)) * 2 - 1, torch.arange(12) % 10
    other = images.clone()
    other[0] = 100.0
    sums = [
        torch.cat([value.flatten() for value in clipped_sum(critic(shown, labels), critic, 1e-3).values()]) for shown in (images, other)
    ]
    assert float((sums[1] - sums[0]).norm()) > 2.5e-3


def test_as_coded_the_generator_learns_from_the_labels_of_the_batch() -> None:
    """Both steps spend; with other labels the generator goes elsewhere, although the critic stands where it stood."""
    plan, data = coded_plan(), quick_dataset("dp-cgan").train
    assert data.labels is not None
    weights: list[torch.Tensor] = []
    for labels in (data.labels, (data.labels + 1) % 10):
        state, spent = new_state(plan, seed=0), list[str]()
        state.spend = lambda stage, _step, spent=spent: spent.append(stage)
        state.steps = {DP_SGD: 1}
        steps = plan.build().fit(replace(data, labels=labels), None, state)
        assert next(steps).stage == GENERATOR
        assert spent == [GENERATOR]
        weights.append(torch.cat([value.detach().flatten() for value in state.modules[GENERATOR].parameters()]))
    assert not torch.equal(*weights)


def test_as_coded_batches_of_one_are_refused() -> None:
    with pytest.raises(WorkbenchError, match="two records"):
        make_plan(
            "dp-cgan", facts("digits"), settings={"training.form": "coded", "training.batch_size": 1, "training.noise_multiplier": 1.0}
        )
