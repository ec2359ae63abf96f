"""DP-FETA: the published vectors, what a record moves by either divisor, and that only what is released warms the network up."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from dp_accounting import dp_event
from support.quick import quick_dataset, quick_plan

from workbench.datasets import facts, load
from workbench.errors import WorkbenchError
from workbench.experiment import fit, new_state
from workbench.methods.dp_feta import CENTRAL, WARM_UP, training
from workbench.methods.dp_feta.method import GENERATED, CentralImages, queries_claim
from workbench.methods.dp_merf import RELEASE
from workbench.models.embeddings.config import GENERATOR
from workbench.models.settings import DP_SGD
from workbench.planning import make_plan
from workbench.privacy.accounting.accountants import ACCOUNTANTS
from workbench.privacy.accounting.accountants.reading import mechanisms
from workbench.privacy.accounting.bounds import proved_bound
from workbench.privacy.accounting.stages import Stage
from workbench.records import Records
from workbench.training.grid import Grid
from workbench.training.randomness import Randomness
from workbench.training.state import State

MNIST, DIGITS = facts("mnist"), load("digits")


@pytest.mark.parametrize(
    ("preset", "claim", "bound"),
    [("published", 10, 9.276), ("published-1", 1, 0.914), ("published-pro", 10, 9.276), ("published-pro-1", 1, 0.914)],
)
def test_published_settings_claim_what_the_paper_claims(preset: str, claim: float, bound: float) -> None:
    plan = make_plan("dp-feta", MNIST, preset=preset, target="claim")
    assert plan.claim.epsilon == pytest.approx(claim, rel=3e-4)
    assert plan.bound.epsilon == pytest.approx(bound, rel=1e-3)


@pytest.mark.parametrize(("noise", "rdp", "pld"), [(5.0, 0.1883, 0.1646), (20.0, None, 0.0318), (5.0 / 1.107, None, 0.1874)])
def test_queries_alone(noise: float, rdp: float | None, pld: float) -> None:
    """By RDP and by PLD; the last is what class 5 of MNIST has where its mean is over its own records: 1.107 times the unit."""
    central = CentralImages(noise_multiplier=noise, sample_rate=0.1, batches=5)
    assert proved_bound([central.round_stage(MNIST)], 1e-5).epsilon == pytest.approx(pld, rel=3e-3)
    if rdp is not None:
        assert queries_claim(central, 1e-5).epsilon == pytest.approx(rdp, rel=1e-3)


@pytest.mark.parametrize(("preset", "noise_multiplier", "epsilon"), [("published-1", 12.851, 1.0), ("published", 1.8360, 10.0)])
def test_noise_without_the_query_is_hardly_less(preset: str, noise_multiplier: float, epsilon: float) -> None:
    """At the noise that the steps alone need, the query makes the claim too large."""
    plan = make_plan("dp-feta", MNIST, preset=preset, settings={"training.noise_multiplier": noise_multiplier})
    (steps,) = [stage for stage in plan.stages if stage.name == DP_SGD]
    assert ACCOUNTANTS["rdp"].epsilon(mechanisms(steps.total(), "REPLACE_SPECIAL"), 1e-5) == pytest.approx(epsilon, rel=1e-4)
    assert epsilon < plan.claim.epsilon < 1.03 * epsilon


def test_the_embedding_of_feta_pro_is_a_gaussian_of_26_6_for_a_null_record() -> None:
    plan = make_plan("dp-feta", MNIST, preset="published-pro", target="claim")
    stage = next(stage for stage in plan.stages if stage.name == RELEASE)
    assert stage.distances is not None
    assert stage.distances.zero_out == pytest.approx(1 / 26.6)
    assert proved_bound([stage], 1e-5).epsilon == pytest.approx(0.1172, rel=1e-3)
    twice = Stage(RELEASE, dp_event.GaussianDpEvent(13.3), "once")
    assert proved_bound([twice], 1e-5).epsilon == pytest.approx(0.2497, rel=1e-3), "of a record replaced"


def test_means_over_what_was_drawn_have_the_bound_of_a_record_alone_in_its_class() -> None:
    plan = make_plan("dp-feta", MNIST, preset="published-realised", target="claim")
    assert plan.claim.epsilon == pytest.approx(10, rel=3e-4), "the paper's words are the same"
    assert plan.bound.epsilon > 10_000
    stage = next(stage for stage in plan.stages if stage.name == CENTRAL)
    assert stage.distances is not None
    assert stage.distances.zero_out == pytest.approx(600 / 5.0)


def moved(config: CentralImages, one: Records, two: Records) -> float:
    """The distance of two sums without noise, in deviations of the noise."""
    grid = training.grid_of(config, DIGITS.facts)
    apart = training.sums(config, one, grid, DIGITS.facts) - training.sums(config, two, grid, DIGITS.facts)
    return float(np.linalg.norm(grid.values(apart))) / grid.deviation


@pytest.mark.parametrize("pooling", [1, 2])
@pytest.mark.parametrize("divisor", ["constant", "realised"])
def test_one_record_moves_a_release_as_far_as_stated_and_some_as_far(divisor: str, pooling: int) -> None:
    """A white image, made null or replaced by a black one of another class, in a batch that has no other of its class."""
    config = CentralImages.model_validate({"noise_multiplier": 3.0, "divisor": divisor, "pooling": pooling})
    stated = config.round_stage(DIGITS.facts).distances
    assert stated is not None
    assert DIGITS.train.labels is not None
    batch = DIGITS.train.take(np.flatnonzero(DIGITS.train.labels != 3)[:40])
    assert batch.labels is not None
    images, labels = batch.records.copy(), batch.labels.copy()
    images[0], labels[0] = 255, 3
    white = replace(batch, records=images, labels=labels)
    nulled = moved(config, white, white.without(0))
    assert stated.zero_out * 0.9999 < nulled <= stated.zero_out
    assert nulled * 0.9999 < moved(config, white, batch) <= stated.replace_one
    among = moved(config, batch, batch.without(1))
    assert among < (0.7 if divisor == "constant" else 0.2) * stated.zero_out, "an image of a digit, and one of several of its class"


def central(config: CentralImages, data: Records) -> np.ndarray:
    """Central images of a release of its own, (batches, classes, C, H, W)."""
    state = State(DIGITS.facts, Randomness.from_seed(0))
    state.tensors["central"] = torch.zeros((config.batches, 10, *config.pooled_shape(DIGITS.facts)), dtype=torch.float64)
    assert [step.step for step in training.release_central(config, data, state)] == list(range(1, config.batches + 1))
    return training.means(config, state).numpy()


def test_central_images_are_means_of_their_class() -> None:
    """Where classes are not alike in number, a constant divisor makes those of the rarer darker; that is its price."""
    labels = DIGITS.train.labels
    assert labels is not None
    images = DIGITS.train.records / 255
    for divisor, count in (("constant", np.full(10, 150.0)), ("realised", np.bincount(labels))):
        config = CentralImages.model_validate({"noise_multiplier": 0.01, "divisor": divisor})
        central_images = central(config, DIGITS.train)[0]
        means = np.stack([images[labels == label].sum(0) / count[label] for label in range(10)])
        assert np.abs(central_images - means).max() < 0.01


def test_noise_of_a_mean_is_that_of_the_expected_number_of_records() -> None:
    """The two divisors have the same noise in a mean: 5 white images' norms over 15 records expected."""
    nobody = DIGITS.train.without(np.arange(len(DIGITS.train)))
    for divisor in ("constant", "realised"):
        config = CentralImages.model_validate({"noise_multiplier": 5.0, "sample_rate": 0.1, "batches": 5, "divisor": divisor})
        assert central(config, nobody).std() == pytest.approx(5.0 * 8.0 / 15.0, rel=0.05)


def test_large_images_are_smoothed_and_keep_their_strokes() -> None:
    config = CentralImages(noise_multiplier=1.0, pooling=2)
    state = State(MNIST, Randomness.from_seed(0))
    clean = np.zeros((1, 10, 1, 14, 14))
    clean[..., 3:11, 6:9] = 1.0
    noisy = clean + 0.117 * np.random.default_rng(0).normal(size=clean.shape)
    state.tensors["central"] = torch.from_numpy(noisy * config.expected_batch(MNIST))
    images = training.central_images(config, state).records / 255
    assert images.shape == (10, 1, 28, 28)
    assert images[:, :, 10:18, 14:16].mean() > 0.9
    assert images[:, :, :, :8].mean() < 0.1
    assert images[:, :, :, :8].std() < 0.117 / 2


def test_the_stages_of_feta_and_of_pro() -> None:
    plain = [stage.name for stage in quick_plan("dp-feta").stages]
    pro = [stage.name for stage in quick_plan("dp-feta", preset="pro").stages]
    assert plain == ["central images", WARM_UP, DP_SGD]
    assert pro == ["central images", WARM_UP, RELEASE, GENERATOR, GENERATED, DP_SGD]


def test_shares_of_the_target() -> None:
    plan = make_plan("dp-feta", DIGITS.facts, epsilon=3.0, preset="pro")
    config = plan.build().config
    mu = [1 / config.central.noise_multiplier, 1 / config.embedding.noise_multiplier]  # pyright: ignore[reportAttributeAccessIssue]
    assert mu[1] / mu[0] == pytest.approx(math.sqrt(3)), "shares of .3 and .1"
    assert 0.995 * 3 <= plan.bound.epsilon <= 3
    with pytest.raises(WorkbenchError, match=r"Expected central to leave something of epsilon 3"):
        make_plan("dp-feta", DIGITS.facts, epsilon=3.0, settings={"central.noise_multiplier": 0.1})


def test_the_warm_up_learns_released_images_alone() -> None:
    """Its loss is of 20 central images, whatever the records are, and the network that DP-SGD starts from is its average."""
    plan = quick_plan("dp-feta", overrides={"warm_up.steps": 3})
    state = new_state(plan, seed=0)
    for step in fit(plan, quick_dataset("dp-feta"), state):
        assert step.private == (step.stage in (CENTRAL, DP_SGD))
    images = training.central_images(plan.build().config.central, state)  # pyright: ignore[reportAttributeAccessIssue]
    assert images.records.shape == (20, 1, 8, 8)
    assert images.labels is not None
    assert images.labels.tolist() == list(range(10)) * 2


def test_a_grid_of_means_is_finer_by_the_expected_number() -> None:
    config = CentralImages(noise_multiplier=5.0)
    constant = training.grid_of(config, DIGITS.facts)
    realised = training.grid_of(config.model_copy(update={"divisor": "realised"}), DIGITS.facts)
    assert isinstance(constant, Grid)
    assert constant.deviation / realised.deviation == pytest.approx(150.0)
