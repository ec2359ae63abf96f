"""DP-SAD: what each mode plans, what its losses compare, which noise its steps add, and what never leaves."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from support.quick import quick_dataset, quick_plan

from workbench import networks
from workbench.datasets import facts
from workbench.errors import WorkbenchError
from workbench.experiment import fit, new_state, sample
from workbench.methods.dp_sad import training
from workbench.methods.dp_sad.distillation import Distillation, next_image
from workbench.methods.dp_sad.method import DPSADConfig, claimed
from workbench.methods.dp_sad.paper import OutputClipped, clipped_rows
from workbench.networks import UNETS
from workbench.networks.size import num_parameters
from workbench.planning import make_plan
from workbench.privacy.accounting.bounds import proved_bound
from workbench.records import Records
from workbench.training.private_steps import PermutedBatches
from workbench.training.randomness import Randomness
from workbench.training.state import State

PAPER: dict[str, Any] = {"target": "claim"}


def paper_plan(mode: str, **settings: Any) -> Any:
    return quick_plan("dp-sad", **PAPER, overrides={"mode": mode, "diffusion.timesteps": 500} | settings)


def fitted(plan: Any, seed: int = 0) -> State:
    state = new_state(plan, seed=seed)
    for _ in fit(plan, quick_dataset("dp-sad"), state):
        pass
    return state


@pytest.mark.parametrize("name", UNETS)
@pytest.mark.parametrize(("shape", "classes"), [((1, 28, 28), 10), ((3, 32, 32), 1), ((1, 8, 8), 0)])
def test_weights_are_counted_without_a_network(name: str, shape: tuple[int, int, int], classes: int) -> None:
    with torch.device("meta"):
        made = networks.UNet(UNETS[name], shape[0], shape[1:], classes)
    assert num_parameters(UNETS[name], shape, classes) == sum(weight.numel() for weight in made.parameters())


def test_theorem_4_is_the_minimum_over_orders() -> None:
    orders = np.geomspace(1 + 1e-6, 1e6, 400_000)
    slope = 2 * 100 * 2 * 10 / 80.0**2
    numeric = np.min(slope * orders + np.log((orders - 1) / orders) - (math.log(1e-5) + np.log(orders)) / (orders - 1))
    terms: dict[str, Any] = {"vector_length": 100, "batch_size": 2, "steps": 10, "noise_multiplier": 80.0, "delta": 1e-5}
    assert claimed(**terms).epsilon == pytest.approx(float(numeric), rel=1e-5)
    assert claimed(**terms, max_grad_norm=7.0).epsilon == pytest.approx(claimed(**terms).epsilon)
    assert claimed(**terms | {"noise_multiplier": 0.0}).epsilon == math.inf


def test_equation_15_charges_weights_and_equation_17_pixels() -> None:
    plans = {mode: paper_plan(mode) for mode in ("eq15", "eq17")}
    sigmas = {mode: plan.config["student"]["noise_multiplier"] for mode, plan in plans.items()}
    weights = sum(weight.numel() for weight in new_state(plans["eq15"], seed=0).modules["student"].parameters())
    assert sigmas["eq15"] / sigmas["eq17"] == pytest.approx(math.sqrt(weights / 64), rel=1e-3)
    assert plans["eq17"].bound.epsilon == math.inf
    assert plans["eq15"].bound.epsilon > plans["eq15"].claim.epsilon, "true and useless"


def test_the_bound_of_equation_15_is_that_of_its_own_noise() -> None:
    """Sums of 2 C B against sigma C / T, on every step: multiplier sigma/(2 B T)."""
    plan = make_plan("dp-sad", facts("mnist"), preset="published-eq15")
    (student,) = (stage for stage in plan.stages if stage.name == "student")
    assert student.event.noise_multiplier == pytest.approx(340_000 / (2 * 64 * 500))  # type: ignore[union-attr]
    assert plan.bound.epsilon == pytest.approx(proved_bound([student], plan.delta).epsilon)


@pytest.mark.parametrize("mode", ["eq15", "eq17"])
def test_the_papers_modes_meet_a_claim_alone(mode: str) -> None:
    with pytest.raises(WorkbenchError, match="Use mode=sound, or the target 'claim'"):
        quick_plan("dp-sad", overrides={"mode": mode})


def test_a_private_teacher_and_the_student_compose() -> None:
    public, private = quick_plan("dp-sad"), quick_plan("dp-sad", overrides={"teacher": "dp-sgd"})
    names = [stage.name for stage in private.stages]
    assert names == ["public pre-training", "teacher", "student", "discriminator"]
    assert private.config["student"]["noise_multiplier"] > public.config["student"]["noise_multiplier"]
    teacher, student = private.stages[1:3]
    assert teacher.event == student.event, "the student's multiplier and rate, where it has none of its own"
    assert private.bound.epsilon > max(proved_bound([stage], private.delta).epsilon for stage in (teacher, student))
    own = quick_plan("dp-sad", overrides={"teacher": "dp-sgd", "private_teacher.noise_multiplier": 9.0})
    assert own.stages[1].event.event.noise_multiplier == 9.0  # type: ignore[union-attr]


def test_the_next_image_of_the_true_output_is_the_record_noised_one_step_less() -> None:
    for prediction in ("epsilon", "v"):
        distillation = distilled(diffusion={"timesteps": 500, "prediction": prediction})
        diffusion, draw = distillation.diffusion, torch.Generator().manual_seed(0)
        images, noise = torch.rand(5, 1, 4, 4, generator=draw) * 2 - 1, torch.randn(5, 1, 4, 4, generator=draw)
        times = torch.tensor([1, 2, 100, 400, 500])
        x_t, truth = diffusion.add_noise(images, noise, times), diffusion.target(images, noise, times)
        expected = diffusion.add_noise(images, noise, times - 1)
        assert torch.allclose(next_image(diffusion, truth, x_t, times), expected, atol=2e-4)


def distilled(**settings: Any) -> Distillation:
    """A distillation whose teacher says 3 everywhere (1 without a label) and whose discriminator gives the student odds e^mean to 1."""

    class Teacher(torch.nn.Module):
        def forward(self, x: torch.Tensor, _t: torch.Tensor, labels: torch.Tensor | None) -> torch.Tensor:
            return torch.full_like(x, 1.0 if labels is None else 3.0)

    class Judge(torch.nn.Module):
        def forward(self, x: torch.Tensor, _t: torch.Tensor, _labels: torch.Tensor) -> torch.Tensor:
            return torch.stack([torch.zeros(len(x)), x.flatten(1).mean(1)], dim=1)

    config = DPSADConfig.model_validate({"diffusion": {"timesteps": 500, "prediction": "epsilon"}} | settings)
    return Distillation(config, Teacher(), Judge())


def test_losses_by_hand() -> None:
    images, noise, labels = torch.zeros(2, 1, 2, 2), torch.full((2, 1, 2, 2), 0.5), torch.tensor([1, 2])
    times, output = torch.tensor([100, 400]), torch.ones(2, 1, 2, 2)
    plain = distilled(adversarial_weight=0.0).losses(output, images, labels, times, noise)
    assert plain.tolist() == pytest.approx([4.25, 4.25])  # (1 - 3)^2 + (1 - 0.5)^2
    guided = distilled(adversarial_weight=0.0, teacher_guidance=1.0).losses(output, images, labels, times, noise)
    assert guided.tolist() == pytest.approx([16.25, 16.25])  # the teacher says 2 x 3 - 1
    whole = distilled(adversarial_weight=2.0)
    x_t = whole.diffusion.add_noise(images, noise, times)
    mean = next_image(whole.diffusion, output, x_t, times).flatten(1).mean(1)
    expected = plain + 2.0 * torch.log(torch.sigmoid(mean))
    assert torch.allclose(whole.losses(output, images, labels, times, noise), expected)
    for over_time, factors in (("noisy", (0.4, 1.6)), ("clean", (1.6, 0.4))):
        weighted = distilled(adversarial_weight=2.0, adversarial_over_time=over_time)
        assert weighted.weights(times).tolist() == pytest.approx([2 * factor for factor in factors])


def test_images_differ_by_what_their_noises_differ_by() -> None:
    images, noise, labels = torch.zeros(1, 1, 2, 2), torch.full((1, 1, 2, 2), 0.5), torch.tensor([1])
    times = torch.tensor([200])
    distillation = distilled(adversarial_weight=0.0, compared="image")
    abar = distillation.diffusion.schedule.alphas_cumprod
    factor = math.sqrt(1 - abar[199]) - math.sqrt(abar[199] / abar[200] * (1 - abar[200]))
    (loss,) = distillation.losses(torch.ones(1, 1, 2, 2), images, labels, times, noise).tolist()
    assert loss == pytest.approx(4.25 * factor**2, rel=1e-3)


def test_the_discriminator_learns_who_made_an_image_and_as_printed_the_contrary() -> None:
    draw = torch.Generator().manual_seed(0)
    network = networks.initialized(lambda: networks.NoisyClassifier((1, 8, 8), 2, 3), draw)
    x, t, rows = torch.randn(40, 1, 8, 8, generator=draw), torch.arange(1, 41), torch.arange(40) % 4
    logits = network(x, t, rows)
    assert logits.shape == (40, 2)
    assert torch.allclose(network(x[3:4], t[3:4], rows[3:4]), logits[3:4], atol=1e-6), "row by row"
    assert not torch.allclose(network(x, t, rows * 0), logits)
    losses = []
    for objective in ("cross-entropy", "printed"):
        state = fitted(quick_plan("dp-sad", overrides={"discriminator.objective": objective}))
        losses.append(state.modules["discriminator"].state_dict())
    same = fitted(quick_plan("dp-sad")).modules["discriminator"].state_dict()
    assert all(torch.equal(losses[0][name], same[name]) for name in same)
    assert any(not torch.equal(losses[1][name], same[name]) for name in same)


@pytest.mark.parametrize("mode", ["eq15", "eq17"])
def test_noise_over_t_is_what_a_step_of_the_paper_adds(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The optimiser sees the clipped mean and noise of deviation sigma C/(B T), and no more."""
    plan = paper_plan(mode, **{"student.steps": 1, "adversarial_weight": 0.0})
    data, gradients = quick_dataset("dp-sad"), []

    def gradient(sigma: float) -> torch.Tensor:
        config = plan.build().config
        config = config.model_copy(update={"student": config.student.model_copy(update={"noise_multiplier": sigma})})
        state = training.initial_state(config, plan.facts, State(plan.facts, new_state(plan, seed=0).randomness))
        seen: list[torch.Tensor] = []
        optimizer = state.optimizers["student"]
        usual = optimizer.step
        weights = list(state.modules["student"].parameters())

        def step(*arguments: Any) -> Any:
            seen.append(torch.cat([weight.grad.flatten() for weight in weights if weight.grad is not None]))
            return usual(*arguments)

        monkeypatch.setattr(optimizer, "step", step)
        for _ in training.fit(config, data.train, None, state):
            pass
        return seen[-1]

    sigma = 1e5
    gradients = [gradient(sigma), gradient(1e-3)]
    batch, norm = plan.config["student"]["batch_size"], plan.config["student"]["max_grad_norm"]
    added = gradients[0] - gradients[1]
    assert float(added.std()) == pytest.approx(sigma * norm / (batch * 500), rel=0.05)
    if mode == "eq15":
        assert float(gradients[1].norm()) <= norm * 1.01


@pytest.mark.parametrize("compared", ["image", "output"])
def test_equation_17_clips_the_derivative_by_what_losses_compare(compared: str) -> None:
    """The printed equation's is x at r - 1; a factor of 1 000 or so lies between it and the network's output."""

    class Student(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.factor = torch.nn.Parameter(torch.tensor(0.5))

        def forward(self, x: torch.Tensor, _t: torch.Tensor, _labels: torch.Tensor) -> torch.Tensor:
            return self.factor * x

    student, norm = Student(), 1e-6
    settings = {"steps": 1, "batch_size": 3, "noise_multiplier": 1e-3, "max_grad_norm": norm, "noise_multiplicity": 1}
    whole = distilled(mode="eq17", compared=compared, adversarial_weight=0.0, student=settings)
    state = State(facts("digits"), Randomness.from_seed(0))
    state.optimizers["student"] = torch.optim.SGD(student.parameters(), lr=0.0)
    data = torch.randn(3, 1, 2, 2), torch.tensor([1, 2, 3])
    steps = OutputClipped(whole.config, whole, student, state, data, np.ones(3, np.bool_), networks.ExponentialMovingAverage(student))
    steps.step(1)

    diffusion, images = whole.diffusion, data[0]
    order = PermutedBatches(3).drawn(state.randomness, "student batch", 1, 3)
    times, noise = steps._draw(1, images[order])  # pyright: ignore[reportPrivateUsage]
    x_t = diffusion.add_noise(images[order], noise, times)
    zero, one = (next_image(diffusion, torch.full_like(x_t, value), x_t, times) for value in (0.0, 1.0))
    slope = one - zero if compared == "image" else torch.ones_like(x_t)
    derivative = slope * (2 * 0.5 * x_t - 3.0 - noise)  # by what is compared, but for a factor
    direction = derivative / derivative.flatten(1).norm(dim=1).reshape(-1, 1, 1, 1)
    expected = norm * (direction * slope * x_t).sum() / 3
    assert student.factor.grad is not None
    assert float(student.factor.grad) == pytest.approx(float(expected), rel=1e-2)


def test_clipping_uses_the_norm_and_not_its_square() -> None:
    rows = torch.tensor([[[3.0, 4.0]], [[0.3, 0.4]]])
    assert clipped_rows(rows, 1.0).tolist() == [[[pytest.approx(0.6), pytest.approx(0.8)]], [[pytest.approx(0.3), pytest.approx(0.4)]]]


def test_one_time_step_a_batch() -> None:
    for per, distinct in (("batch", 1), ("record", 8)):
        distillation = distilled(timestep_per=per)
        state = new_state(quick_plan("dp-sad"), seed=0)
        losses = distillation.of_rows(torch.nn.Identity(), (torch.zeros(8, 1, 2, 2), torch.zeros(8, dtype=torch.int64)), state.randomness)
        from workbench.training.microbatch import Microbatch

        part = Microbatch(3, np.arange(8), np.arange(8), 1, state.randomness, "test", torch.device("cpu"))
        assert len(losses.draw(part)[0].unique()) == pytest.approx(distinct, abs=1)


@pytest.mark.parametrize("mode", ["eq15", "eq17"])
def test_the_papers_modes_train_and_keep_their_teacher(mode: str) -> None:
    plan = paper_plan(mode)
    state = new_state(plan, seed=0)
    assert all(step.private for step in fit(plan, quick_dataset("dp-sad"), state)), "losses of teacher and discriminator too"
    assert state.steps == {"teacher": 3, "student": 3, "discriminator": 2}
    assert list(state.part(plan.build().released)["modules"]) == ["ema"]
    assert not plan.build().has_public_model
    assert sample(plan, state, 12).records.shape == (12, 1, 8, 8)
    with pytest.raises(WorkbenchError, match="teacher of eq15 and eq17 is not released"):
        paper_plan(mode, drawn_from="teacher")


def test_samples_of_the_sound_teacher_and_of_an_unconditioned_student() -> None:
    plan = quick_plan("dp-sad", overrides={"drawn_from": "teacher"})
    state = fitted(plan)
    teacher, public = sample(plan, state, 20), sample(plan, state, 20, source="public")
    assert np.array_equal(teacher.records, public.records), "a public teacher is the model of public data alone"
    plain = quick_plan("dp-sad", overrides={"student_conditioned": False, "discriminator.conditioned": False})
    drawn = sample(plain, fitted(plain), 20)
    assert drawn.labels is None
    assert isinstance(drawn, Records)


def test_epsilon_0_is_the_teacher_before_its_private_steps() -> None:
    plan = quick_plan("dp-sad", overrides={"teacher": "dp-sgd", "student.steps": 1, "adversarial_weight": 0.0})
    assert plan.build().has_public_model
    state, teachers = new_state(plan, seed=0), dict[str, torch.Tensor]()
    for step in fit(plan, quick_dataset("dp-sad"), state):
        teachers[step.stage] = torch.cat([weight.flatten() for weight in state.modules["teacher_ema"].parameters()]).clone()
    public = torch.cat([weight.flatten() for weight in state.modules["public_ema"].parameters()])
    assert torch.equal(teachers["public pre-training"], public)
    assert not torch.equal(teachers["teacher"], public)


def test_the_student_starts_where_it_is_told() -> None:
    starts = {}
    for start in ("teacher", "fresh"):
        plan = quick_plan("dp-sad", overrides={"start": start, "student.steps": 1, "student.learning_rate": 1e-9})
        state = fitted(plan)
        ema, teacher = state.modules["ema"].state_dict(), state.modules["teacher_ema"].state_dict()
        starts[start] = all(torch.allclose(ema[name], teacher[name], atol=1e-6) for name in ema if name.startswith("module."))
    assert starts == {"teacher": True, "fresh": False}
