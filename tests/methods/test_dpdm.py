"""DPDM: its published claims, and what a record's K noise samples share."""

import numpy as np
import pytest
import torch
from support.quick import quick_plan
from torch import nn

from workbench.diffusion.edm import EDM, EDMConfig
from workbench.experiment import new_state
from workbench.models import edm_images
from workbench.planning import make_plan
from workbench.training.microbatch import Microbatch


@pytest.mark.parametrize(
    ("preset", "epsilon", "bound"),
    [("published", 10, 9.2955), ("published-5", 5, 4.6248), ("published-1", 1, 0.91492), ("published-0.2", 0.2, 0.18038)],
)
def test_published_claims(preset: str, epsilon: float, bound: float) -> None:
    """The RDP of 300 epochs of MNIST in batches of 4 000 is the paper's epsilon; the bound is below it."""
    for name in (preset, preset.replace("published", "published-accuracy"), preset.replace("published", "published-public")):
        plan = make_plan("dpdm", "mnist", preset=name)
        assert plan.claim.epsilon == pytest.approx(epsilon, rel=5e-4)
        assert plan.bound.epsilon == pytest.approx(bound, rel=1e-3)
        assert (plan.config["training"]["batch_size"], plan.config["training"]["steps"], plan.delta) == (4000, 4500, 1e-5)
        assert plan.warnings == ()
        assert ("public pre-training" in [stage.name for stage in plan.stages]) == ("public" in name)
    assert "28x28" in make_plan("dpdm", "digits", preset=preset).warnings[0]


def test_infinity_has_next_to_no_noise_and_no_bound_worth_the_name() -> None:
    plan = make_plan("dpdm", "mnist", preset="published-infinity")
    assert plan.config["training"]["noise_multiplier"] == 1e-3
    assert plan.bound.epsilon > 1e6


def test_presets_differ_in_their_samplers() -> None:
    samplers = {name: make_plan("dpdm", "mnist", preset=name).config["sampler"] for name in ("published", "published-accuracy")}
    names = ("name", "num_inference_steps", "churn", "churn_sigma_min", "churn_sigma_max")
    assert [samplers["published"][name] for name in names] == ["heun", 1000, 100, 0.05, 50]
    assert (samplers["published-accuracy"]["name"], samplers["published-accuracy"]["num_inference_steps"]) == ("ddim", 50)
    assert samplers["published-accuracy"]["churn"] == 0


def test_a_label_is_dropped_once_a_record_and_every_row_has_a_level_of_its_own() -> None:
    edm, images, labels = EDM(EDMConfig()), torch.zeros(400, 1, 2, 2), torch.arange(1, 401)
    losses = edm_images.row_losses(edm, nn.Identity(), (images, labels), label_dropout=0.25)
    randomness = new_state(quick_plan("dpdm"), seed=0).randomness
    part = Microbatch(1, np.arange(400), np.arange(400), 3, randomness, "DP-SGD draws", torch.device("cpu"))
    kept, sigma, noise = losses.draw(part)
    by_record = kept.view(400, 3)
    assert torch.equal(by_record, by_record[:, :1].expand(400, 3))
    assert float(by_record[:, 0].double().mean()) == pytest.approx(0.75, abs=5 * (0.25 * 0.75 / 400) ** 0.5)
    assert len(sigma.unique()) == len(noise.unique(dim=0)) == 1200
    assert float(sigma.log().mean()) == pytest.approx(-1.2, abs=5 * 1.2 / 1200**0.5)
    assert float(sigma.log().std()) == pytest.approx(1.2, rel=0.1)
    scaled, c_noise, rows = losses.inputs(images, labels, kept[::3], sigma[::3], noise[::3])
    torch.testing.assert_close(scaled, sigma[::3].view(-1, 1, 1, 1) * noise[::3] / (sigma[::3] ** 2 + 1 / 3).sqrt().view(-1, 1, 1, 1))
    torch.testing.assert_close(c_noise, sigma[::3].log() / 4)
    assert torch.equal(rows, labels * kept[::3])


def test_without_public_records_there_is_no_public_model() -> None:
    plan = make_plan("dpdm", "digits", epsilon=10)
    assert [stage.name for stage in plan.stages] == ["DP-SGD"]
    assert not plan.build().has_public_model
