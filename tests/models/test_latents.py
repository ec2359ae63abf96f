"""Latents: what the network learns in the place of pixels, what makes them, and the way back."""

from typing import Any

import numpy as np
import pytest
import torch
from support.quick import QUICK
from torch import Tensor

from workbench import experiment
from workbench.datasets import Dataset, load
from workbench.datasets.base import to_unit_range
from workbench.errors import WorkbenchError
from workbench.methods.selective_pretraining.method import REFINEMENT
from workbench.models import image_diffusion
from workbench.models.latents.autoencoder import Autoencoder, autoencoder
from workbench.models.latents.config import AUTOENCODER, MODULE
from workbench.networks import UNet
from workbench.plan import Plan
from workbench.planning import make_plan
from workbench.records import Records
from workbench.runs.release.weights import misfit, packed_part, unpacked_tensors
from workbench.training.entries import Images
from workbench.training.state import State

NAME = "selective-pretraining"
SETTINGS = QUICK[NAME] | {"latents.channels": 2, "latents.width": 8, "latents.steps": 3, "network.channel_multipliers": (1,), "start": 50}


@pytest.fixture(scope="module")
def digits() -> Dataset:
    return load("digits", (1, 16, 16))


def plan_of(digits: Dataset, **overrides: Any) -> Plan:
    settings = SETTINGS | {name.replace("__", "."): value for name, value in overrides.items()}
    return make_plan(NAME, digits.facts, epsilon=10.0, delta=1e-5, settings=settings)


def fitted(plan: Plan, data: Dataset) -> State:
    state = experiment.new_state(plan, seed=0)
    for _ in experiment.fit(plan, data, state):
        pass
    return state


def coder_of(state: State) -> Autoencoder:
    network = autoencoder(state)
    assert network is not None
    return network


def test_the_autoencoder_comes_first_is_free_and_learns_of_public_images_alone(digits: Dataset) -> None:
    plan = plan_of(digits)
    assert plan.stages[0].name == AUTOENCODER
    assert plan.stages[0].spent == "free"
    assert plan.bound.epsilon == plan_of(digits, latents__channels=0).bound.epsilon
    others = Dataset(digits.facts, Records(255 - digits.train.records, digits.train.labels), digits.held_out)
    one, other = (fitted(plan, data).modules for data in (digits, others))
    before = experiment.new_state(plan, seed=0).modules[MODULE].state_dict()
    for name, value in one[MODULE].state_dict().items():
        assert torch.equal(value, other[MODULE].state_dict()[name])
        assert not torch.equal(value, before[name])
    assert not all(torch.equal(value, other["ema"].state_dict()[name]) for name, value in one["ema"].state_dict().items())


def test_private_steps_see_each_record_s_own_latents(digits: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Tensor] = []
    row_losses = image_diffusion.row_losses

    def watched(diffusion: Any, network: Any, batch: tuple[Tensor, ...], last: int) -> Any:
        seen.append(batch[0])
        return row_losses(diffusion, network, batch, last)

    monkeypatch.setattr(image_diffusion, "row_losses", watched)
    state = fitted(plan_of(digits), digits)
    expected, _ = image_diffusion.learned_entries(digits.train, state)
    every = expected[torch.arange(len(digits.train))]
    assert len(seen) == 3
    for latents in seen:
        assert latents.shape[1:] == (2, 4, 4)
        assert all(bool((every == one).flatten(1).all(1).any()) for one in latents)
    alone = coder_of(state).encoder(torch.from_numpy(to_unit_range(digits.train.records[5:6])))
    torch.testing.assert_close(every[5:6], alone)


def test_no_private_record_is_read_before_the_step_that_reads_it_is_spent(digits: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    getitem, state = Images.__getitem__, experiment.new_state(plan_of(digits), seed=0)

    def watched(self: Images, index: Tensor) -> Tensor:
        events.extend(["read"] if len(self) == len(digits.train) else [])
        return getitem(self, index)

    monkeypatch.setattr(Images, "__getitem__", watched)
    state.spend = lambda stage, step: events.append(f"{stage} {step}")
    for _ in experiment.fit(plan_of(digits), digits, state):
        pass
    assert events[: events.index("read")][-1] == f"{REFINEMENT} 1"


def test_a_null_record_s_latents_are_zero(digits: Dataset) -> None:
    state = experiment.new_state(plan_of(digits), seed=0)
    data = digits.train.without(3)
    made = image_diffusion.learned_entries(data, state)[0][torch.arange(5)]
    assert not made[3].any()
    assert made[2].any()


def test_samples_are_decoded_from_what_selected_images_are_encoded_to(digits: Dataset) -> None:
    """From the first time step, where hardly any noise is added, by a network that says so little."""
    plan = plan_of(digits, start=1, sampler__num_inference_steps=1, draws__variation_size=0.0)
    state = experiment.new_state(plan, seed=0)
    candidates, network = state.modules["candidates"].get_buffer("images"), coder_of(state)
    candidates[:] = torch.randint(0, 256, candidates.shape[2:], dtype=torch.uint8)
    for weight in network.parameters():
        weight.data *= 3  # so that what comes out tells what went in
    made = experiment.sample(plan, state, 20)
    latents = network.encoder(torch.from_numpy(to_unit_range(candidates[0, :1].numpy())))
    through, other = (network.decoder(z).detach().clamp(-1, 1).numpy() for z in (latents, 0 * latents))
    assert made.records.shape == (20, 1, 16, 16)
    assert np.abs(to_unit_range(made.records) - through).mean() < 0.2 * np.abs(other - through).mean()


def test_an_autoencoder_that_was_trained_brings_images_back(digits: Dataset) -> None:
    state = fitted(plan_of(digits, latents__steps=300, latents__channels=4, latents__width=16), digits)
    images, network = torch.from_numpy(to_unit_range(digits.held_out.records)), coder_of(state)
    latents = network.encoder(images)
    error = (network.decoder(latents) - images).square().mean()
    assert latents.abs().max() <= 1
    assert error < 0.2 * images.var(), "digits, of which it saw none"


def test_weights_that_leave_bring_the_decoder(digits: Dataset) -> None:
    for channels, kept in ((2, True), (0, False)):
        plan = plan_of(digits, latents__channels=channels)
        part = experiment.new_state(plan, seed=0).part(plan.build().released_parts)
        assert (MODULE in part["modules"]) == kept
        assert misfit(unpacked_tensors(packed_part(part, {}))[0], plan) == ""


def test_images_without_latents_are_refused_before_anything_is_spent() -> None:
    with pytest.raises(WorkbenchError, match="sides of 16 pixels or more, multiples of 4, for latents, got 8x8"):
        plan_of(load("digits"))


def test_images_are_denoised_in_pixels_where_the_network_learns_latents(digits: Dataset) -> None:
    state = fitted(plan_of(digits, selection__variations=("denoise",), selection__denoiser__steps=2), digits)
    denoiser, learner = state.modules["selection_denoiser"], state.modules["network"]
    assert isinstance(denoiser, UNet)
    assert isinstance(learner, UNet)
    assert (denoiser.conv_in.in_channels, learner.conv_in.in_channels) == (1, 2)
