"""DP-MEPF: the paper's vectors, how far a replaced record really moves each moment, and what the network of features is."""

import math

import numpy as np
import pytest
import torch
from support.quick import quick_plan

from workbench.datasets import facts, load
from workbench.experiment import new_state
from workbench.methods.dp_mepf.method import FIRST, SECOND, claimed
from workbench.methods.dp_mepf.training import PROTOTYPES, features_of, nearest_prototype, network_of, unit
from workbench.plan import Plan
from workbench.planning import make_plan
from workbench.privacy.accounting.gaussian import gdp_epsilon
from workbench.records import Records
from workbench.training.grid import Grid
from workbench.training.randomness import Randomness

DIGITS = load("digits").train


@pytest.mark.parametrize(
    ("noise_multiplier", "releases", "epsilon"),
    [(16.304, 1, 0.2), (3.7306, 1, 1.0), (0.49989, 1, 10.0), (23.058, 2, 0.2), (5.2759, 2, 1.0), (0.70695, 2, 10.0)],
)
def test_the_papers_noise_claims_the_papers_epsilon(noise_multiplier: float, releases: int, epsilon: float) -> None:
    assert claimed(noise_multiplier=noise_multiplier, releases=releases, delta=1e-5).epsilon == pytest.approx(epsilon, rel=2e-4)


@pytest.mark.parametrize(
    ("noise_multiplier", "claim", "replaced", "without_negatives"), [(5.2759, 1, 1.25, 1.13), (0.70695, 10, 12.87, 11.48)]
)
def test_both_moments_as_published_cost_a_replaced_record_more(
    noise_multiplier: float, claim: float, replaced: float, without_negatives: float
) -> None:
    settings = {"noise_multiplier": noise_multiplier}
    plan = make_plan("dp-mepf", facts("digits"), preset="published", settings=settings, target="claim", delta=1e-5)
    assert plan.claim.epsilon == pytest.approx(claim, rel=2e-4)
    assert plan.claim.status == "not_proved"
    assert plan.replace_one is not None
    assert plan.replace_one.epsilon == pytest.approx(replaced, rel=1e-3)
    assert plan.bound.epsilon == pytest.approx(gdp_epsilon(math.sqrt(1.25) / noise_multiplier, 1e-5), rel=1e-6)
    assert gdp_epsilon(math.sqrt(2.5) / noise_multiplier, 1e-5) == pytest.approx(without_negatives, rel=1e-3), "first moments"
    sound = make_plan("dp-mepf", facts("digits"), settings={"moments": "both"} | settings, delta=1e-5)
    assert sound.replace_one is not None
    assert sound.replace_one.epsilon == pytest.approx(claim, rel=2e-4), "the same number holds at noise of the right distance"


def totals(plan: Plan, records: Records, monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[np.ndarray, Grid]]:
    """The sums that `fit` releases, in steps of their grids, by stage."""
    seen: dict[str, tuple[np.ndarray, Grid]] = {}
    release = Randomness.release

    def recorded(self: Randomness, purpose: str, step: int, total: np.ndarray, grid: Grid) -> np.ndarray:
        seen[purpose] = total.copy(), grid
        return release(self, purpose, step, total, grid)

    with monkeypatch.context() as patch:
        patch.setattr(Randomness, "release", recorded)
        for step in plan.build().fit(records, None, new_state(plan, seed=0)):
            if step.stage == SECOND:
                break
    return seen


@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize(("moments", "distance"), [("both", math.sqrt(2)), ("published", 1.0)])
def test_a_replaced_record_moves_the_mean_of_squares_by_the_root_of_two(
    moments: str, distance: float, balanced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by 1: that is what a record made null moves it by. The noise is told apart from the distance that it is scaled to."""
    plan = quick_plan(
        "dp-mepf", epsilon=None, overrides={"moments": moments, "balanced": balanced, "noise_multiplier": 3.0, "features.steps": 0}
    )
    few = DIGITS.take(slice(60))
    assert few.labels is not None
    facts_of_few = plan.facts.model_copy(update={"num_records": 60})
    plan = make_plan("dp-mepf", facts_of_few, settings=plan.request.settings, delta=1e-4)
    labels = few.labels.copy()
    labels[7] = (labels[7] + 1) % 10
    before, elsewhere, gone = (totals(plan, data, monkeypatch) for data in (few, Records(few.records, labels), few.without(7)))
    (stage,) = [stage for stage in plan.stages if stage.name == SECOND]
    stated = stage.distances
    assert stated is not None
    total, grid = before[SECOND]
    assert grid.deviation == pytest.approx(3.0 * distance)
    replaced, nulled = (float(np.linalg.norm((other[SECOND][0] - total) * grid.spacing)) for other in (elsewhere, gone))
    assert replaced == pytest.approx(math.sqrt(2), rel=1e-4)
    assert nulled == pytest.approx(1.0, rel=1e-4)
    assert stated.replace_one == pytest.approx(replaced / grid.deviation, rel=1e-4)
    assert stated.zero_out == pytest.approx(nulled / grid.deviation, rel=1e-4)
    assert (total >= 0).all()
    assert before[FIRST][1].deviation == pytest.approx(6.0)


def test_features_are_of_all_layers_and_balanced_ones_weigh_alike() -> None:
    plan = quick_plan("dp-mepf")
    network = network_of(new_state(plan, seed=0))
    images = torch.rand(3, 1, 8, 8, generator=torch.Generator().manual_seed(0)) * 2 - 1
    sizes = [4 * 16, 8 * 16, 128]  # after the pooling, after the last convolution, and the layer before the classes
    features, balanced = (features_of(network, images, balanced) for balanced in (False, True))
    assert features.shape[1] == sum(sizes)
    layers = balanced.split([64, *sizes], dim=1)
    assert torch.allclose(layers[0], unit(images.flatten(1)))
    for layer, own in zip(layers[1:], features.split(sizes, dim=1), strict=True):
        assert torch.allclose(layer, unit(own))
        assert torch.allclose(layer.norm(dim=1), torch.ones(3))
    assert torch.allclose(unit(features).norm(dim=1), torch.ones(3))
    assert not unit(torch.zeros(2, 5)).any()


def test_public_images_without_classes_are_told_apart_by_the_first_of_them() -> None:
    images = torch.rand(200, 1, 8, 8, generator=torch.Generator().manual_seed(0)) * 2 - 1
    classes = nearest_prototype(images)
    assert classes[:PROTOTYPES].tolist() == list(range(PROTOTYPES))
    assert 0 <= int(classes.min()) <= int(classes.max()) < PROTOTYPES


def test_without_public_images_the_network_stays_as_it_was_drawn() -> None:
    plan = quick_plan("dp-mepf", overrides={"features.steps": 0})
    assert plan.build().public_dataset is None
    assert [stage.name for stage in plan.stages] == [FIRST, "generator"]
