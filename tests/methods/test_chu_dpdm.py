"""Chu et al.'s DPDM: both faces of its bound, its thresholds and schedules, and what one record moves in every reading."""

import math
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from support.homes import here
from support.quick import QUICK, quick_dataset, quick_plan

from workbench import networks
from workbench.datasets import facts
from workbench.diffusion import build_diffusion
from workbench.diffusion.learned_variance import LearnedVariances
from workbench.errors import WorkbenchError
from workbench.experiment import fit, new_state
from workbench.methods.chu_dpdm import TRAINING, ChuDPDM, ChuDPDMConfig, method, training
from workbench.methods.chu_dpdm.method import LearningRateDecay
from workbench.models import image_diffusion
from workbench.planning import make_plan
from workbench.training.microbatch import Microbatch
from workbench.training.private_optimizer import PrivateOptimizer
from workbench.training.private_step import PrivateStep, grouped
from workbench.training.private_training import PrivateTraining
from workbench.training.randomness import Randomness
from workbench.training.state import State
from workbench.training_data import pretraining_records


def test_both_faces_of_the_papers_setting() -> None:
    """The claim ignores sampling, the bound counts it; at a bound of 10 far less noise will do."""
    plan = make_plan("chu-dpdm", facts("mnist"), preset="published")
    assert plan.claim.epsilon == pytest.approx(9.995, abs=5e-4)
    assert plan.bound.epsilon == pytest.approx(0.00408, abs=5e-6)
    assert plan.claim.status == plan.bound.status == "proved"
    at_ten = make_plan("chu-dpdm", facts("mnist"), preset="published", epsilon=10)
    assert at_ten.build().config.training.noise_multiplier < 1
    assert at_ten.claim.epsilon > 1000


@pytest.mark.parametrize(
    ("preset", "status"), [("printed-threshold", "not_proved"), ("printed", "not_proved"), ("printed-clipping", "proved")]
)
def test_the_printed_readings_have_no_bound_or_a_useless_one(preset: str, status: str) -> None:
    plan = make_plan("chu-dpdm", facts("mnist"), preset=preset)
    assert plan.bound.status == status
    assert plan.bound.epsilon > 1e4
    assert (plan.claim.status, plan.claim.epsilon) == ("not_proved", pytest.approx(9.995, abs=5e-4))
    if status == "not_proved":
        assert "private batch" in plan.bound.reason
        with pytest.raises(WorkbenchError, match="private batch"):
            make_plan("chu-dpdm", facts("mnist"), preset=preset, epsilon=10)


@pytest.mark.parametrize("target", ["bound", "claim"])
def test_empty_steps_are_the_most_that_meet_epsilon(target: Any) -> None:
    settings = QUICK["chu-dpdm"] | {"training.steps": None, "training.noise_multiplier": 8.0}
    plan = make_plan("chu-dpdm", facts("digits"), epsilon=2, target=target, settings=settings)
    more = make_plan("chu-dpdm", facts("digits"), settings=settings | {"training.steps": plan.steps + 1})
    met, missed = (one.bound if target == "bound" else one.claim for one in (plan, more))
    assert met.epsilon <= 2 < missed.epsilon


def test_iterations_are_epochs_or_steps() -> None:
    assert make_plan("chu-dpdm", facts("mnist"), preset="published").steps == 93_800
    assert make_plan("chu-dpdm", facts("mnist"), preset="published-steps").steps == 100


def test_formula_is_the_minimum_over_orders() -> None:
    orders = np.geomspace(1.0001, 1e4, 200_000)
    sigma, steps, delta = 30.0, 500, 1e-5
    numeric = np.min(steps * orders / (2 * sigma**2) + math.log(1 / delta) / (orders - 1))
    assert method.claimed(noise_multiplier=sigma, steps=steps, delta=delta).epsilon == pytest.approx(float(numeric), rel=1e-6)


def test_learning_rates_fall_from_the_rate_of_the_epoch_before() -> None:
    def factors(**values: Any) -> list[float]:
        return [LearningRateDecay(**values).factor(epoch) for epoch in range(4)]

    assert factors(kind="none") == [1.0] * 4
    assert factors(kind="linear", rate=0.5) == pytest.approx([1, 1 / 1.5, 1 / (1.5 * 2), 1 / (1.5 * 2 * 2.5)])
    assert factors(kind="exponential", rate=0.9) == pytest.approx([1, 0.9, 0.81, 0.729])
    logs = [math.log(2), math.log(3)]
    damped, printed = ([1, 1, 1 / (1 + r * logs[0]), 1 / ((1 + r * logs[0]) * (1 + r * logs[1]))] for r in (0.002, 1.0))
    assert factors(kind="logarithmic", rate=0.002) == pytest.approx(damped)
    assert factors(kind="logarithmic", rate=0.002, printed_logarithm=True) == pytest.approx(printed)


@pytest.mark.parametrize(("groups", "count"), [("all", 1), ("weights and biases", 2), ("layers", None)])
def test_thresholds_are_mean_norms_of_single_records(groups: str, count: int | None) -> None:
    """Against autograd, a record at a time; and no threshold is below the floor."""
    config = ChuDPDMConfig.model_validate(quick_plan("chu-dpdm", overrides={"training.groups": groups}).config)
    torch.manual_seed(0)
    network = networks.UNet(config.network, 1, 8, 10, 2)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.1)
    batch = (torch.rand(3, 1, 8, 8) * 2 - 1, torch.tensor([1, 2, 3]))
    part = Microbatch(1, np.arange(3), np.arange(3), 1, Randomness.from_seed(0), "draws", torch.device("cpu"))
    named = training.parameter_groups(config, network)
    assert sorted(name for group in named for name in group) == sorted(name for name, _ in network.named_parameters())
    assert len(named) == (count or len({name.rpartition(".")[0] for name, _ in network.named_parameters()}))
    thresholds = training.mean_norms(network, training.hybrid_losses(config, network, batch), part, named, 1e-12)
    norms = np.zeros((len(named), 3))
    for record in range(3):
        alone = Microbatch(1, np.array([record]), np.array([record]), 1, part.randomness, "draws", part.device)
        network.zero_grad()
        training.hybrid_losses(config, network, batch)(alone).sum().backward()
        gradients = {name: parameter.grad for name, parameter in network.named_parameters()}
        norms[:, record] = [math.sqrt(sum(float((gradients[name] ** 2).sum()) for name in group)) for group in named]
    assert np.allclose(thresholds, norms.mean(axis=1), rtol=1e-4)
    floored = training.mean_norms(network, training.hybrid_losses(config, network, batch), part, named, 1e6)
    assert floored == (1e6,) * len(named)


def test_sums_over_parameters_are_taken_in_their_order() -> None:
    """An order of addresses, as a set's, rounds differently in every process: a resumed step would get another threshold."""
    config = ChuDPDMConfig.model_validate(quick_plan("chu-dpdm").config)
    network = networks.UNet(config.network, 1, 8, 10, 2)
    named = training.parameter_groups(config, network)
    assert [list(group) for group in grouped(dict(network.named_parameters()), named)] == [[name for name, _ in network.named_parameters()]]
    torch.manual_seed(0)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.1)
    batch = (torch.rand(3, 1, 8, 8) * 2 - 1, torch.tensor([1, 2, 3]))
    part = Microbatch(1, np.arange(3), np.arange(3), 1, Randomness.from_seed(0), "draws", torch.device("cpu"))
    copies = [deepcopy(network) for _ in range(10)]
    thresholds = {training.mean_norms(copy, training.hybrid_losses(config, copy, batch), replace(part), named, 1e-12) for copy in copies}
    assert len(thresholds) == 1


def trained(monkeypatch: pytest.MonkeyPatch, overrides: dict[str, Any], target: Any = "bound") -> tuple[State, list[float]]:
    """A quick run's state, and the clipping norm of each of its steps."""
    norms: list[float] = []
    step = PrivateOptimizer.step

    def noted(optimizer: PrivateOptimizer, *args: Any) -> Any:
        norms.append(optimizer.max_grad_norm)
        return step(optimizer, *args)

    monkeypatch.setattr(PrivateOptimizer, "step", noted)
    plan = quick_plan("chu-dpdm", overrides=overrides, target=target)
    state = new_state(plan, seed=0)
    for _ in fit(plan, quick_dataset("chu-dpdm"), state):
        pass
    return state, norms


READINGS: list[dict[str, Any]] = [
    {},
    {"training.groups": "layers"},
    {"training.clipping": "batch"},
    {"training.clipping": "batch", "training.groups": "weights and biases"},
    {"training.threshold": "private"},
    {"training.threshold": "private", "training.clipping": "batch"},
]


@pytest.mark.parametrize("reading", READINGS, ids=lambda reading: "-".join(reading.values()) or "default")
def test_every_reading_trains_under_thresholds_of_its_own(reading: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    state, norms = trained(monkeypatch, reading, "claim" if reading.keys() - {"training.groups"} else "bound")
    assert state.steps[TRAINING] == 3
    assert len(set(norms)) == 3
    assert min(norms) > 0


def test_a_public_threshold_does_not_see_private_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first threshold is the same whatever the private records are; a private one is another."""

    def first(overrides: dict[str, Any], inverted: bool) -> float:
        norms: list[float] = []
        clip_to = PrivateStep.clip_to
        monkeypatch.setattr(PrivateStep, "clip_to", lambda s, t: (norms.append(math.hypot(*t)), clip_to(s, t))[1])
        plan, data = quick_plan("chu-dpdm", overrides=overrides, epsilon=5, target="claim"), quick_dataset("chu-dpdm").train
        data = replace(data, records=255 - data.records) if inverted else data
        state = new_state(plan, seed=0)
        next(iter(plan.build().fit(data, pretraining_records(plan, here()), state)))
        monkeypatch.undo()
        return norms[1]  # the first is the placeholder of before any step

    assert first({}, False) == first({}, True)
    private = {"training.threshold": "private"}
    assert first(private, False) != first(private, True)


def test_a_batchs_clipped_gradient_moves_by_at_most_twice_the_threshold_whatever_one_record_is() -> None:
    """The mechanism of the useless bound: noise of deviation C sigma/m on a mean of norm C at most."""
    from workbench.methods.chu_dpdm.method import Training

    settings = Training(clipping="batch", noise_multiplier=6.0, batch_size=3, steps=1)
    state = new_state(quick_plan("chu-dpdm"), seed=0)
    images, rows = torch.rand(5, 1, 8, 8) * 2 - 1, torch.arange(1, 6)
    network = state.modules["network"]
    config = ChuDPDMConfig.model_validate(quick_plan("chu-dpdm").config)
    state.planned = {}  # of per-record clipping
    made = PrivateTraining(
        settings, TRAINING, network, state, (images, rows), lambda batch: training.hybrid_losses(config, network, batch),
        present=np.ones(5, bool), thresholds=lambda _step: (0.25,), learning_rate=lambda _step: 0.0,
    )  # fmt: skip
    seen: list[torch.Tensor] = []
    state.optimizers[TRAINING].register_step_pre_hook(lambda *_: seen.append(torch.cat([p.grad.flatten() for p in network.parameters()])))
    made.step(1)
    assert float(seen[0].std()) == pytest.approx(6.0 / 3 * 0.25, rel=0.05)
    made.private.optimizer.noise_multiplier = 0.0
    made.step(1)
    assert float(seen[1].norm()) == pytest.approx(0.25, rel=1e-4)


def test_the_bits_of_a_record_are_the_bound_of_the_averaged_model() -> None:
    """Of every record, with its label, repeatable by the seed."""
    plan = quick_plan("chu-dpdm", overrides={"diffusion.schedule": "cosine", "diffusion.timesteps": 50})
    data = quick_dataset("chu-dpdm").train.take(slice(103))
    method, state = plan.build(), new_state(plan, seed=0)
    assert isinstance(method, ChuDPDM)
    bits = method.bits_per_dimension(state, data, 3)
    assert bits.shape == (103,)
    assert np.array_equal(bits, method.bits_per_dimension(state, data, 3))
    assert not np.array_equal(bits, method.bits_per_dimension(state, data, 4))
    assert bits.min() > 0
    network = image_diffusion.averaged(state)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.1)
    images, rows = image_diffusion.entries(data, state.device)
    variances = LearnedVariances(build_diffusion(method.config.diffusion))
    first = variances.bound(network, images[torch.arange(100)], torch.manual_seed(3), rows[:100])
    assert np.array_equal(method.bits_per_dimension(state, data, 3)[:100], first.double().numpy())
    assert not torch.equal(first, variances.bound(network, images[torch.arange(100)], torch.manual_seed(3)))
