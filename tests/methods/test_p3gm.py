"""P3GM: the published vectors, what a record moves of each release, that mixtures find what is there, and what the exact mean costs."""

import math

import numpy as np
import pytest
import torch
from dp_accounting import dp_event
from support.quick import quick_plan

from workbench.datasets import facts, load
from workbench.experiment import new_state
from workbench.methods.p3gm import training
from workbench.methods.p3gm.method import CENTRE, COMPONENTS, MIXTURE, P3GMConfig
from workbench.planning import make_plan
from workbench.privacy.accounting.accountants.moments import sampled_gaussian
from workbench.privacy.accounting.bounds import proved_bound
from workbench.privacy.accounting.events import RealisedBatchSizeDpEvent
from workbench.privacy.accounting.formulas import OLDER_ORDERS
from workbench.privacy.accounting.stages import Stage
from workbench.records import Records
from workbench.training.grid import Grid
from workbench.training.randomness import Randomness
from workbench.training.state import State

MNIST, DIGITS = facts("mnist"), load("digits")
SPECIAL = ("REPLACE_SPECIAL",)


def test_published_settings_claim_what_the_code_claims() -> None:
    plan = make_plan("p3gm", MNIST, preset="published", target="claim")
    assert plan.claim.epsilon == pytest.approx(0.9925, rel=1e-4)
    assert plan.bound.epsilon == pytest.approx(0.9067, rel=1e-3)
    paid = [stage for stage in plan.stages if stage.spent != "free"]
    alone = {stage.name: proved_bound([stage], 1e-5).epsilon for stage in paid}
    assert alone == pytest.approx({COMPONENTS: 0.726, MIXTURE: 0.258, "DP-SGD": 0.425}, rel=5e-3)


def test_the_older_conversion_claims_more_of_the_same_releases() -> None:
    """By the divergences of sampled steps, components and mixture, added up and converted as of old."""
    config = make_plan("p3gm", MNIST, preset="published", target="claim").build().config
    assert isinstance(config, P3GMConfig)
    training, orders = config.training.terms("DP-SGD", 60_000), np.array(OLDER_ORDERS)
    assert (training["steps"], training["sample_rate"], training["noise_multiplier"]) == (800, 0.005, 1.4)
    sampled = 800 * sampled_gaussian(0.005, 1.4, orders)
    assert (config.components.noise_multiplier, config.mixture.steps) == (5.0, 20)
    divergence = sampled + (1 / 5**2 + 3 * 20 / 100**2) * orders / 2  # weights, means and variances in each of 20 rounds
    assert float(np.min(divergence + math.log(1e5) / (orders - 1))) == pytest.approx(1.213, abs=5e-4)


def test_the_settings_of_the_codes_script_for_mnist_claim_about_as_much() -> None:
    """40 epochs of lots of 1500 with noise 5, components with noise 10, the mixture as ever."""
    settings = {
        "training.batch_size": 1_500,
        "training.noise_multiplier": 5.0,
        "training.steps": 1_600,
        "components.noise_multiplier": 10.0,
    }
    assert make_plan("p3gm", MNIST, preset="published", settings=settings).claim.epsilon == pytest.approx(0.967, abs=5e-4)


def test_fixed_blocks_whose_coins_are_seen_cost_ten_times_as_much() -> None:
    """What the row of the exact mean says beside it: a record's block is drawn Bin(800, 1/200) times."""
    blocks = Stage("blocks", RealisedBatchSizeDpEvent(1 / 200, 1.4), "per_step", 800, SPECIAL)
    beside = [Stage("p", dp_event.GaussianDpEvent(5.0), "once"), Stage("e", dp_event.GaussianDpEvent(100.0), "per_step", 60)]
    assert proved_bound([blocks, *beside], 1e-5).epsilon == pytest.approx(9.56, rel=1e-3)


def test_the_exact_mean_has_no_bound() -> None:
    plan = make_plan("p3gm", MNIST, preset="published-exact", target="claim")
    assert plan.claim.epsilon == pytest.approx(0.9925, rel=1e-4)
    assert (plan.bound.status, plan.bound.epsilon) == ("refuted", math.inf)


class Unnoised(Randomness):
    """Releases without their noise."""

    def release(self, purpose: str, step: int, total: np.ndarray, grid: Grid) -> np.ndarray:
        """The sum as it is, in deviations of the noise."""
        self.last = total * grid.spacing / grid.deviation
        return grid.values(total)


def released(config: P3GMConfig, data: Records, name: str, state: State) -> np.ndarray:
    """What is released under a name, without noise and in its deviations."""
    randomness = Unnoised(bytes(16))
    state.randomness = randomness
    if name == MIXTURE:
        training.release_mixture(config, data, state, 2)
    else:
        {CENTRE: training.release_centre, COMPONENTS: training.release_components}[name](config, data, state)
    return randomness.last


@pytest.mark.parametrize("name", [CENTRE, COMPONENTS, MIXTURE])
def test_one_record_moves_a_release_as_far_as_stated_and_some_as_far(name: str) -> None:
    """A white image, whose difference from a black centre is the longest there is; it is projected to the border of the ball."""
    plan = quick_plan("p3gm", overrides={"components.max_norm": 4.0})
    config, data = plan.build().config, DIGITS.train.take(slice(50))
    assert isinstance(config, P3GMConfig)
    assert data.labels is not None
    stated = next(stage for stage in plan.stages if stage.name == name).distances
    assert stated is not None
    images = data.records.copy()
    images[0] = 255
    white = Records(images, data.labels)
    black = Records(np.concatenate([np.zeros((1, 1, 8, 8), np.uint8), data.records[1:]]), np.roll(data.labels, 1))
    others = Records(black.records, np.concatenate([[(data.labels[0] + 1) % 10], data.labels[1:]]))

    def moved(other: Records) -> float:
        releases = []
        for records in (white, other):
            state = new_state(plan, seed=0)
            state.tensors["second_moment"] += torch.from_numpy(training.triangle(np.ones((64, 64))))
            state.tensors["sums"][:, 0, 0] += 1.0
            releases.append(released(config, records, name, state))
        return float(np.linalg.norm(releases[0] - releases[1]))

    nulled = moved(white.without(0))
    least = 0.7 if name == MIXTURE else 0.99  # one number of a projection of length 1 and its square: not quite the norm 3, and shared
    assert least * stated.zero_out < nulled <= stated.zero_out * 1.0001
    assert moved(others) <= stated.replace_one * 1.0001


def mixture_of(components: int, rounds: int, projections: np.ndarray) -> training.Gaussians:
    """Gaussians after expectation and maximisation without noise on projections (N, 2) of one class."""
    plan = quick_plan("p3gm", overrides={"components.number": 2, "mixture.components": components, "mixture.steps": rounds})
    state, labels = new_state(plan, seed=0), np.zeros(len(projections), np.int64)
    mixture = training.Gaussians.first((10, components, 2))
    for _ in range(rounds):
        added = training.joint_vectors(projections, mixture.responsibilities(projections, labels))
        assert float(np.linalg.norm(added, axis=1).max()) <= math.sqrt(3.0)
        state.tensors["sums"][0] = torch.from_numpy(added.sum(axis=0)).view(components, 5)
        mixture = training.Gaussians.of(state)
    return mixture


def test_a_mixture_finds_two_heaps() -> None:
    draw = np.random.default_rng(0)
    projections = np.concatenate([0.05 * draw.normal(size=(500, 2)) + [0.5, 0.3], 0.05 * draw.normal(size=(1000, 2)) - [0.4, 0.2]])
    mixture = mixture_of(2, 15, projections)
    means, counts = mixture.means[0], mixture.counts[0]
    order = np.argsort(means[:, 0])
    assert means[order] == pytest.approx(np.array([[-0.4, -0.2], [0.5, 0.3]]), abs=0.02)
    assert counts[order] == pytest.approx([1000, 500], rel=0.02)
    assert np.sqrt(mixture.variances[0]) == pytest.approx(np.full((2, 2), 0.05), rel=0.15)


def test_counts_that_noise_drowns_do_not_divide() -> None:
    mixture = mixture_of(1, 1, np.array([[0.9, 0.1]] * 3))
    assert np.isfinite(mixture.means).all()
    assert float(np.linalg.norm(mixture.means, axis=-1).max()) <= 1.0 + 1e-9
    assert float(mixture.variances.min()) >= training.LEAST_VARIANCE


def test_the_divergence_from_one_gaussian_is_the_closed_form() -> None:
    mean, logarithms = torch.tensor([[0.3, -0.2]]), torch.tensor([[-1.0, 0.2]])
    means, variances = torch.tensor([[[0.1, 0.4]]]), torch.tensor([[[0.5, 2.0]]])
    ours = training.divergence(mean, logarithms, torch.ones(1, 1), means, variances)
    theirs = torch.distributions.kl_divergence(
        torch.distributions.Normal(mean, (0.5 * logarithms).exp()), torch.distributions.Normal(means[0], variances[0].sqrt())
    ).sum()
    assert float(ours) == pytest.approx(float(theirs), rel=1e-5)


def test_components_are_the_widest_directions_first() -> None:
    draw = np.random.default_rng(0)
    images = np.full((400, 64), 128.0)
    images[:, :32] += 60 * draw.choice([-1, 1], (400, 1))
    images[:, 32:48] += 30 * draw.choice([-1, 1], (400, 1))
    data = Records(np.clip(images, 0, 255).astype(np.uint8).reshape(-1, 1, 8, 8), np.zeros(400, np.int64))
    settings = {"components.number": 2, "components.max_norm": 4.0, "components.noise_multiplier": 0.01}
    given = {f"{part}.noise_multiplier": 1.0 for part in ("centre", "mixture", "training")}
    plan = quick_plan("p3gm", epsilon=None, overrides=settings | given)
    config, state = plan.build().config, new_state(plan, seed=0)
    state.tensors["centre"] += 128 / 255
    training.release_components(config, data, state)  # pyright: ignore[reportArgumentType]
    axes = np.abs(training.Projection.of(config, state, 2).axes)  # pyright: ignore[reportArgumentType]
    assert axes[:32, 0] == pytest.approx(np.full(32, 32**-0.5), abs=0.01)
    assert axes[32:48, 1] == pytest.approx(np.full(16, 0.25), abs=0.01)
