"""DP-Sinkhorn: the published vectors, transport against exact forms, and what one record does to the one vector that is released."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import linear_sum_assignment
from scipy.stats import binom
from support.quick import quick_dataset, quick_plan

from workbench.datasets import DatasetFacts, facts
from workbench.experiment import fit, new_state, sample
from workbench.methods.dp_sinkhorn.method import IMAGES, Training
from workbench.methods.dp_sinkhorn.training import FEWEST
from workbench.methods.dp_sinkhorn.transport import class_weights, costs, falling_scales, transport_plan
from workbench.planning import make_plan
from workbench.privacy.accounting.accountants.moments import fixed_batch
from workbench.privacy.accounting.events import RealisedBatchSizeDpEvent
from workbench.records import ImageKind, Records
from workbench.training import private_steps
from workbench.training.poisson import poisson_batch
from workbench.training.state import State

MNIST, FASHION = facts("mnist"), facts("fashion-mnist")


# The paper's numbers


@pytest.mark.parametrize(("known", "preset", "rdp"), [(MNIST, "published", 9.160), (FASHION, "published-fashion", 9.161)])
def test_published_steps_are_the_last_that_claim_ten(known: DatasetFacts, preset: str, rdp: float) -> None:
    plan = make_plan("dp-sinkhorn", known, preset=preset, target="claim")
    steps = plan.build().stages(known)[0].steps
    assert plan.claim.epsilon == pytest.approx(10.0, abs=2e-5)
    assert plan.claim.epsilon < 10.0 < make_plan("dp-sinkhorn", known, preset=preset, settings={"training.steps": steps + 3}).claim.epsilon
    assert plan.bound.epsilon == pytest.approx(rdp, abs=6e-4), "more steps than PLD composes: RDP, its conversion of today"


def test_a_realised_number_of_images_has_a_bound_for_null_records_alone() -> None:
    """That of a visible drawn set, log(1 - q + q e^(a (a - 1) / (2 sigma^2))) / (a - 1) a step, at the best order."""
    plan = make_plan("dp-sinkhorn", MNIST, preset="published-realised", target="claim")
    (stage,) = plan.build().stages(MNIST)
    assert stage.relations == ("REPLACE_SPECIAL",)
    assert stage.event == RealisedBatchSizeDpEvent(50 / 60_000, 1.1)
    orders, rate = 1 + np.arange(1, 4000) / 1000, 50 / 60_000
    step = np.log1p(rate * np.expm1(orders * (orders - 1) / (2 * 1.1**2))) / (orders - 1)
    epsilons = stage.steps * step + np.log1p(-1 / orders) - (math.log(1e-5) + np.log(orders)) / (orders - 1)
    assert plan.bound.epsilon == pytest.approx(epsilons.min(), rel=1e-2)
    assert plan.bound.epsilon == pytest.approx(1444.5, abs=0.5)
    assert plan.claim.status == "not_proved"


def test_with_the_size_alone_visible_a_mixture_proves_less_than_the_claim() -> None:
    """The 21.3 of docs/proofs.md: the moments of batches without replacement, averaged over a binomial size."""
    sizes, orders = np.arange(1, 140), np.arange(2.0, 7.0)
    moments = np.stack([fixed_batch(size / 60_000, 1 / 1.1, orders) for size in sizes])
    weights = binom.pmf(sizes, 60_000, 50 / 60_000)
    beyond = binom.sf(139, 60_000, 50 / 60_000) * np.exp(orders * (orders - 1) / (2 * 1.1**2))
    mean = binom.pmf(0, 60_000, 50 / 60_000) + weights @ np.exp(moments) + beyond
    step = np.log(mean) / (orders - 1)
    epsilons = 3_446_203 * step + np.log1p(-1 / orders) - (math.log(1e-5) + np.log(orders)) / (orders - 1)
    assert epsilons.min() == pytest.approx(21.3, abs=0.05)


# Transport


def test_costs_are_of_pixels_and_one_hot_labels() -> None:
    """Against the distances of the vectors written out, the class beside the pixels."""
    draw = torch.Generator().manual_seed(1)
    ones, others = torch.rand(4, 1, 2, 3, generator=draw), torch.rand(5, 1, 2, 3, generator=draw)
    rows, other_rows = torch.tensor([0, 1, 2, 1]), torch.tensor([0, 0, 1, 2, 2])

    def written_out(images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return torch.cat([images.flatten(1), 1.5 * torch.nn.functional.one_hot(labels, 3)], dim=1)

    apart = written_out(ones, rows)[:, None] - written_out(others, other_rows)[None]
    for absolute in (0.0, 3.0):
        expected = apart.square().sum(2) + absolute * apart.abs().sum(2)
        assert torch.allclose(costs(ones, others, rows, other_rows, absolute, 1.5), expected, atol=1e-5)


def test_with_little_blur_transport_is_the_best_assignment() -> None:
    draw = torch.Generator().manual_seed(2)
    cost = torch.cdist(torch.rand(30, 4, generator=draw), torch.rand(30, 4, generator=draw)).square().double()
    plan = transport_plan(cost, blur=0.03, iterations=3000)
    rows, columns = linear_sum_assignment(cost.numpy())
    best = float(cost[rows, columns].mean())
    assert best <= float((plan * cost).sum()) + 1e-9
    assert float((plan * cost).sum()) == pytest.approx(best, rel=0.02)
    assert torch.allclose(plan.sum(0), torch.full((30,), 1 / 30, dtype=torch.float64))
    assert torch.allclose(plan.sum(1), torch.full((30,), 1 / 30, dtype=torch.float64), atol=1e-4)


@pytest.mark.parametrize("blur", [0.2, 1.0, 5.0])
def test_two_points_are_transported_as_the_closed_form_says(blur: float) -> None:
    """Each to its own with 1/(1 + e^(-c/blur^2)) of its mass, c what the other costs."""
    plan = transport_plan(torch.tensor([[0.0, 0.7], [0.7, 0.0]]), blur, iterations=5)
    stays = 0.5 / (1.0 + math.exp(-0.7 / blur**2))
    assert torch.allclose(plan, torch.tensor([[stays, 0.5 - stays], [0.5 - stays, stays]]), atol=1e-6)


def test_weights_are_kept_and_large_costs_are_no_infinities() -> None:
    draw = torch.Generator().manual_seed(3)
    weights = torch.tensor([0.5, 0.25, 0.25, 0.0])
    plan = transport_plan(1e5 * torch.rand(4, 3, generator=draw), blur=10.0, iterations=500, weights=weights)
    assert plan.isfinite().all()
    assert torch.allclose(plan.sum(1), weights, atol=1e-2)
    assert torch.allclose(plan.sum(0), torch.full((3,), 1 / 3), atol=1e-5)


def test_the_entropys_weight_falls_to_its_end_and_no_further() -> None:
    assert falling_scales(16.0, 1.0) == [16.0, 4.0]
    assert falling_scales(17.0, 1.0) == [17.0, 4.25, 1.0625]
    assert falling_scales(0.5, 1.0) == falling_scales(0.0, 1.0) == falling_scales(math.inf, 1.0) == []


def test_classes_of_images_weigh_what_those_of_the_batch_do() -> None:
    assert class_weights(torch.tensor([0, 0, 1, 2]), torch.tensor([0, 1, 1, 1]), 3).tolist() == [0.125, 0.125, 0.75, 0.0]
    assert class_weights(torch.tensor([0, 1]), torch.tensor([0, 2]), 3).tolist() == [1.0, 0.0], "class 2 has no image"
    assert class_weights(torch.tensor([0, 1]), torch.tensor([2]), 3).tolist() == [0.5, 0.5]


# What is released


def released(data: Records, batch: list[int], monkeypatch: pytest.MonkeyPatch, **settings: Any) -> torch.Tensor:
    """The noisy gradient by the images of the first step on this batch; the noise is the same whatever the batch."""
    target = {"epsilon": None} if "training.noise_multiplier" in settings else {}
    plan = quick_plan("dp-sinkhorn", overrides=settings, **target)
    with monkeypatch.context() as patched:
        patched.setattr(private_steps.poisson, "poisson_batch", lambda *_: np.array(batch, np.int64))
        state = new_state(plan, seed=0)
        next(iter(plan.build().fit(data, None, state)))
    (gradient,) = state.optimizers[IMAGES].gradients  # pyright: ignore[reportAttributeAccessIssue]
    return gradient


def test_one_record_moves_the_release_by_two_norms_at_most_and_a_null_one_is_as_good_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    data, norm = quick_dataset("dp-sinkhorn").train, 0.01
    white, other = data.records.copy(), data.records.copy()
    white[3], other[3] = 255, 255 - data.records[3]
    empty = released(data, [], monkeypatch)
    assert empty.shape == (20, 1, 8, 8)
    assert len(empty.unique()) > 1000, "an empty batch releases noise all the same"
    for batch in ([3], [3, 5, 9]):
        with_it = released(data, batch, monkeypatch)
        assert float((with_it - empty).norm()) == pytest.approx(norm, rel=1e-3)
        for records in (white, other):
            assert 0 < float((released(replace(data, records=records), batch, monkeypatch) - with_it).norm()) <= 2 * norm * (1 + 1e-6)
        without = released(data, batch[1:], monkeypatch)
        assert torch.equal(released(data.without(3), batch, monkeypatch), without)


def test_the_number_of_images_is_a_constant_or_that_of_the_records_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    data = quick_dataset("dp-sinkhorn").train
    for batch in ([], [1], [1, 2, 3, 4, 5]):
        assert len(released(data, batch, monkeypatch)) == 20
        assert len(released(data, batch, monkeypatch, **{"training.generated": "realised"})) == max(FEWEST, len(batch))
    nulls = released(data.without(np.arange(5)), [1, 2, 3, 4, 5], monkeypatch, **{"training.generated": "realised"})
    assert len(nulls) == 5, "null records count"


def test_noise_is_twice_the_multiplier_times_the_norm(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Training(noise_multiplier=1.5, batch_size=20, noise_multiplicity=1)
    steps = settings.private_steps(IMAGES, 200)
    assert (steps.clipped, steps.distance, steps.deviation, steps.divisor) == ("batch", 2.0, 3.0, 1.0)
    empty = released(quick_dataset("dp-sinkhorn").train, [], monkeypatch, **{"training.noise_multiplier": 1.5})
    assert float(empty.std()) == pytest.approx(2 * 1.5 * 0.01, rel=0.06)


def test_the_generators_step_follows_the_release_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other records and another batch, the same release: the same weights."""
    plan, data = quick_plan("dp-sinkhorn"), quick_dataset("dp-sinkhorn").train

    def weights(records: np.ndarray) -> list[torch.Tensor]:
        state = new_state(plan, seed=0)
        step = state.optimizers[IMAGES].step

        def fixed(*_: Any) -> None:
            step()
            state.optimizers[IMAGES].gradients = [torch.full((20, 1, 8, 8), 0.01)]  # pyright: ignore[reportAttributeAccessIssue]

        monkeypatch.setattr(state.optimizers[IMAGES], "step", fixed)
        for _ in plan.build().fit(replace(data, records=records), None, state):
            pass
        return list(state.modules["ema"].parameters())

    for one, two in zip(weights(data.records), weights(255 - data.records), strict=True):
        assert torch.equal(one, two)


def test_without_noise_images_come_to_look_like_the_records() -> None:
    """Two classes by the side that is bright."""
    labels = np.arange(80, dtype=np.int64) % 2
    images = np.zeros((80, 1, 4, 4), np.uint8)
    images[labels == 0, :, :, :2], images[labels == 1, :, :, 2:] = 255, 255
    known = DatasetFacts(name="sides", kind=ImageKind(size=(1, 4, 4)), num_records=80, classes=("left", "right"))
    settings = {"training": {"noise_multiplier": 1e-3, "batch_size": 20, "steps": 60, "noise_multiplicity": 1, "learning_rate": 1e-2}}
    plan = make_plan("dp-sinkhorn", known, settings={**settings, "hidden_size": 30, "channels": 4, "ema_decay": 0.5})
    state = new_state(plan, seed=0)
    for _ in plan.build().fit(Records(images, labels), None, state):
        pass
    made = sample(plan, state, 40)
    assert made.labels is not None
    sides = made.records[..., :2].mean(axis=(1, 2, 3)) - made.records[..., 2:].mean(axis=(1, 2, 3))
    assert sides[made.labels == 0].min() > 60
    assert sides[made.labels == 1].max() < -60


def test_batches_are_drawn_as_planned() -> None:
    """The stream and rate of the private step are those that its event counts."""
    plan = quick_plan("dp-sinkhorn")
    state: State = new_state(plan, seed=0)
    data = quick_dataset("dp-sinkhorn")
    assert len(poisson_batch(state.randomness, f"{IMAGES} batch", 1, len(data.train), 20 / len(data.train)))
    assert [step.step for step in fit(plan, data, state)] == [1, 2, 3]
