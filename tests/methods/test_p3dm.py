"""P3DM: both forms of its guidance by hand, what a request pays, what samples carry, and that one model bounds nothing."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from support.quick import quick_dataset, quick_plan
from torch import Tensor, nn

from workbench.datasets import facts
from workbench.errors import WorkbenchError
from workbench.experiment import fit, new_state, sample
from workbench.methods.p3dm import training
from workbench.methods.p3dm.method import P3DMConfig
from workbench.models.sample_request import SampleRequest
from workbench.planning import make_plan
from workbench.privacy.not_dp.pac import NOT_REDRAWN
from workbench.training.state import State


class Slope(nn.Module):
    """Odds of value 1 that rise by 1 with every pixel of the scaled image."""

    def forward(self, x: Tensor, _t: Tensor, _labels: Tensor) -> Tensor:
        return torch.stack([torch.zeros(len(x)), x.flatten(1).sum(1)], dim=1)


def test_both_forms_by_hand() -> None:
    x, levels = torch.zeros(2, 1, 2, 2), torch.tensor([1.0, 0.1])
    gradients = training.log_gradient(Slope(), x, 0, levels, torch.tensor([1, 0]))
    slope = 0.5 / math.sqrt(2)  # d log sigmoid(u)/du at 0, and x is scaled by 1/sqrt(1 + 1)
    assert torch.allclose(gradients[0], torch.full((1, 2, 2), slope))
    assert torch.allclose(gradients[1], torch.full((1, 2, 2), -slope)), "towards value 0 is away from value 1"
    assert torch.allclose(training.paper_form(gradients, 3.0, 0.2), 0.6 * gradients)
    assert torch.allclose(training.code_form(gradients, 3.0, 0.2), -3.0 * gradients), "the gradient of the cross-entropy, without Sigma"


def test_values_are_drawn_once_evenly_and_in_the_codes_form_are_always_the_first() -> None:
    plan = quick_plan("p3dm")
    state, request = new_state(plan, seed=0), SampleRequest(400)
    method: Any = plan.build()
    drawn = training.drawn_values(method.config, state, request)
    assert np.array_equal(drawn, training.drawn_values(method.config, state, request))
    assert 150 < drawn.sum() < 250
    code = quick_plan("p3dm", overrides={"guidance.form": "code"}).build()
    assert not training.drawn_values(code.config, state, request).any()  # type: ignore[arg-type]


def trained(**overrides: Any) -> tuple[Any, State]:
    plan = quick_plan("p3dm", overrides=overrides)
    state = new_state(plan, seed=0)
    for _ in fit(plan, quick_dataset("p3dm"), state):
        pass
    return plan, state


def test_samples_carry_the_value_that_they_were_steered_to() -> None:
    plan, state = trained()
    drawn = sample(plan, state, 30)
    assert set(drawn.attributes) == {"smile"}
    state.modules["classifier"] = Bright()
    pushed = plan.build().config.model_copy(update={"guidance": plan.build().config.guidance.model_copy(update={"scale": 50.0})})
    from workbench.methods.p3dm import training

    steered = training.sample(pushed, state, SampleRequest(30))
    light = steered.records.mean(axis=(1, 2, 3))
    assert light[steered.attributes["smile"] == 1].mean() > light[steered.attributes["smile"] == 0].mean() + 5


class Bright(nn.Module):
    """Value 1 is a bright image."""

    def forward(self, x: Tensor, _t: Tensor, _labels: Tensor) -> Tensor:
        return torch.stack([torch.zeros(len(x)), 5 * x.flatten(1).mean(1)], dim=1)


@pytest.mark.parametrize(("classifier", "paid"), [("unprotected", True), ("dp-sgd", False)])
def test_a_request_pays_unless_the_classifier_is_private_itself(classifier: str, paid: bool) -> None:
    plan = quick_plan("p3dm", overrides={"classifier": classifier, "private.batch_size": 20, "private.steps": 2})
    assert bool(plan.sampling_stages) == paid
    (stage,) = (stage for stage in plan.stages if stage.name == "classifier")
    assert type(stage.event).__name__ == ("UnprovedDpEvent" if paid else "PoissonSampledDpEvent")
    if paid:
        assert plan.sampling is not None
        assert plan.sampling.bound.epsilon == math.inf


def test_a_classifier_by_private_steps_trains() -> None:
    plan, state = trained(**{"classifier": "dp-sgd", "private.batch_size": 20, "private.steps": 2})
    assert state.steps["classifier"] == 2
    assert plan.build().sampling_stages(plan.facts, SampleRequest(5)) == []


@pytest.mark.parametrize("settings", [{"guidance.step": "reverse"}, {"guidance.form": "code"}, {"guidance.scale": 0.0}])
def test_every_way_to_steer_draws_images(settings: dict[str, Any]) -> None:
    plan, state = trained(**settings)
    drawn = sample(plan, state, 12)
    assert drawn.records.shape == (12, 3, 16, 16)
    assert ("smile" in drawn.attributes) == ("guidance.step" in settings)
    assert ("classifier" in state.steps) == ("guidance.scale" not in settings)


def test_noise_of_one_model_says_that_it_bounds_nothing() -> None:
    plan, state = trained()
    assert state.steps["noise determination"] == 1
    noise = plan.build().pac_noise(state, SampleRequest(20))
    assert NOT_REDRAWN in noise.labels
    assert not noise.holds


def test_an_attribute_is_needed_where_there_are_no_classes() -> None:
    assert make_plan("p3dm", facts("celeba"), epsilon=10, target="claim").config["attribute"] == "hair"
    with pytest.raises(WorkbenchError, match="Expected an attribute to steer by"):
        make_plan("p3dm", facts("celeba"), epsilon=10, target="claim", settings={"attribute": ""})
    with pytest.raises(WorkbenchError, match="Unknown attribute"):
        make_plan("p3dm", facts("celeba"), epsilon=10, target="claim", settings={"attribute": "hat"})
    assert P3DMConfig().attribute == ""
