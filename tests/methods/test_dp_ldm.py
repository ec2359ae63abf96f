"""DP-LDM and DP-LoRA: what is frozen stays public to the bit, what is clipped and noised is the subset, the encoder sees records alone."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from support.quick import quick_dataset, quick_plan
from torch import Tensor

from workbench import experiment
from workbench.datasets import Dataset, facts, load
from workbench.errors import WorkbenchError
from workbench.models import image_diffusion
from workbench.models.latents.autoencoder import ScaledAutoencoder, autoencoder
from workbench.models.latents.config import AUTOENCODER, MODULE
from workbench.models.settings import DP_SGD
from workbench.plan import Plan
from workbench.planning import make_plan
from workbench.records import Records
from workbench.training.per_record.layers import refuse_mixing_layers
from workbench.training.private_optimizer import PrivateOptimizer
from workbench.training.state import State

LATENT = {"latents.channels": 2, "latents.width": 4, "latents.steps": 3, "latents.batch_size": 8, "network.channel_multipliers": (1,)}


def is_adapter(name: str) -> bool:
    return any(f".{layer}.{part}." in name for layer in ("query_key_value", "projection") for part in ("down", "up"))


SUBSETS: dict[tuple[str, str], Callable[[str], bool]] = {
    ("dp-ldm", "attention"): lambda name: ".attention." in name or name.startswith("label_embedding"),
    ("dp-ldm", "up"): lambda name: name.startswith(("up.", "upsample.", "norm.", "conv_out.")),
    ("dp-ldm", "labels"): lambda name: name.startswith("label_embedding"),
    ("dp-ldm", "all"): lambda _: True,
    ("dp-lora", ""): lambda name: (
        ".down." in name[5:] or ".query_key_value.up." in name or ".projection.up." in name or "label_emb" in name
    ),
}


def plan_of(method: str, subset: str = "", **overrides: Any) -> Plan:
    return quick_plan(method, overrides=({"training.trained": subset} if subset else {}) | overrides)


def fitted(plan: Plan, data: Dataset, state: State | None = None) -> State:
    state = state or experiment.new_state(plan, seed=0)
    for _ in experiment.fit(plan, data, state):
        pass
    return state


@pytest.mark.parametrize(("method", "subset"), SUBSETS)
def test_what_is_frozen_stays_public_to_the_bit_and_noise_is_of_the_subset_s_dimension(
    method: str, subset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    released: list[int] = []
    release = PrivateOptimizer._release  # pyright: ignore[reportPrivateUsage]

    def watched(self: PrivateOptimizer, sums: list[Tensor]) -> None:
        released.append(sum(value.numel() for value in sums))
        release(self, sums)

    monkeypatch.setattr(PrivateOptimizer, "_release", watched)
    state, trains = fitted(plan_of(method, subset), quick_dataset(method)), SUBSETS[method, subset]
    public = {name.removeprefix("module."): value for name, value in state.modules["public_ema"].state_dict().items()}
    ema = {name.removeprefix("module."): value for name, value in state.modules["ema"].state_dict().items()}
    network = state.modules["network"].state_dict()
    for name, value in network.items():
        assert torch.equal(value, public[name]) != trains(name), name
        assert torch.equal(ema[name], public[name]) != trains(name), name
    size = sum(value.numel() for name, value in network.items() if trains(name))
    assert released == [size] * 3
    assert (size < sum(value.numel() for value in network.values())) == (subset != "all")


def test_adapters_begin_at_nothing_and_public_images_leave_them_so() -> None:
    state = fitted(plan_of("dp-lora"), quick_dataset("dp-lora"))
    for name, value in state.modules["public_ema"].state_dict().items():
        assert not (".query_key_value.up." in name or ".projection.up." in name) or not value.any(), name


@pytest.fixture(scope="module")
def digits() -> Dataset:
    return load("digits", (1, 16, 16))


def latent_plan(method: str, digits: Dataset, **overrides: Any) -> Plan:
    quick = quick_plan(method).request.settings
    return make_plan(method, digits.facts, epsilon=10.0, delta=1e-5, settings=quick | LATENT | overrides)


@pytest.mark.parametrize("method", ["dp-ldm", "dp-lora"])
def test_autoencoder_and_scale_are_of_public_images_and_records_are_encoded_alone(method: str, digits: Dataset) -> None:
    plan = latent_plan(method, digits)
    assert [(stage.name, stage.spent) for stage in plan.stages[:2]] == [(AUTOENCODER, "free"), ("public pre-training", "free")]
    others = Dataset(digits.facts, Records(255 - digits.train.records, digits.train.labels), digits.held_out)
    one, other = fitted(plan, digits), fitted(plan, others)
    for name, value in one.modules[MODULE].state_dict().items():
        assert torch.equal(value, other.modules[MODULE].state_dict()[name]), name
    coder = autoencoder(one)
    assert isinstance(coder, ScaledAutoencoder)
    assert 0 < float(coder.scale) < 1
    refuse_mixing_layers(coder)
    latents = image_diffusion.learned_entries(digits.train, one)[0][torch.arange(8)]
    records = digits.train.records.copy()
    records[1:] = 255 - records[1:]
    changed = image_diffusion.learned_entries(Records(records, digits.train.labels), one)[0][torch.arange(8)]
    assert torch.equal(latents[0], changed[0]), "whatever the others are"
    assert not torch.equal(latents[1], changed[1])
    assert experiment.sample(plan, one, 3).records.shape == (3, 1, 16, 16)
    denoiser = plan.build().denoiser(one)  # pyright: ignore[reportAttributeAccessIssue]
    _, x, rows = next(denoiser.parts(digits.train.take(slice(4))))
    torch.testing.assert_close(x, latents[:4])
    assert denoiser.noise(x, torch.full((4,), 7), rows).shape == x.shape


def test_the_scale_keeps_all_but_a_thousandth_of_public_latents(digits: Dataset) -> None:
    state = experiment.new_state(latent_plan("dp-ldm", digits), seed=0)
    coder = autoencoder(state)
    assert isinstance(coder, ScaledAutoencoder)
    images, _ = image_diffusion.entries(digits.held_out, state.device)
    coder.scale_by(images)
    beyond = (coder.encoder(images[torch.arange(len(images))]).abs() > coder.scale).float().mean()
    assert 5e-4 < float(beyond) <= 1e-3
    x = images[torch.arange(3)]
    torch.testing.assert_close(coder.decode(coder.encode(x)), coder.decoder(coder.encoder(x).clamp(-coder.scale, coder.scale)))


@pytest.mark.parametrize(
    ("method", "settings", "word"),
    [
        ("dp-lora", {"pretraining.steps": 0}, "pretraining.steps=1500"),
        ("dp-lora", {"pretraining.dataset": ""}, "pretraining.dataset=glyphs"),
        ("dp-ldm", {"pretraining.steps": 0}, "training.trained=all"),
        ("dp-ldm", {"pretraining.steps": 0, "training.trained": "up"}, "training.trained=up freezes"),
    ],
)
def test_frozen_weights_that_nothing_trained_are_refused(method: str, settings: dict[str, Any], word: str) -> None:
    with pytest.raises(WorkbenchError, match=word):
        quick_plan(method, overrides=settings)


def test_all_weights_may_be_trained_without_public_images_in_pixels_alone(digits: Dataset) -> None:
    alone = {"pretraining.steps": 0, "training.trained": "all"}
    plan = latent_plan("dp-ldm", digits, **alone, **{"latents.channels": 0})
    assert [stage.name for stage in plan.stages] == [DP_SGD]
    with pytest.raises(WorkbenchError, match=r"latents\.channels=0"):
        latent_plan("dp-ldm", digits, **alone)


@pytest.mark.parametrize("method", ["dp-ldm", "dp-lora"])
@pytest.mark.parametrize(("preset", "claim", "bound"), [("published", 10.0, 9.276), ("published-1", 1.0, 0.9145)])
def test_published_noise(method: str, preset: str, claim: float, bound: float) -> None:
    plan = make_plan(method, facts("mnist"), preset=preset)
    assert plan.claim.epsilon == pytest.approx(claim, rel=2e-4)
    assert plan.bound.epsilon == pytest.approx(bound, rel=5e-4)
    assert plan.bound.status == plan.claim.status == "proved"


def test_latents_by_default_where_images_are_large_enough() -> None:
    by_side = {side: make_plan("dp-ldm", facts("digits").at_size((1, side, side)), epsilon=10).config for side in (8, 28, 30)}
    assert {side: config["latents"]["channels"] for side, config in by_side.items()} == {8: 0, 28: 4, 30: 0}
    assert np.isclose(by_side[28]["training"]["batch_size"], 1500)
