"""`make check-gpu`: the private step, a killed run and a preset's pace on a GPU, five minutes in all.

`CHECK_DEVICE=cpu` runs the same on the CPU, to see that the checks themselves work; no record is kept of that.
"""

import os
import signal
import time
from typing import Any

import numpy as np
import pytest
import torch
from support.clusters import until
from support.homes import here
from torch import Tensor, nn

from workbench import datasets, experiment, runs
from workbench.datasets import DatasetFacts
from workbench.evaluation import feature_space, find_neighbours, learners
from workbench.evaluation.device import measuring_on
from workbench.jobs.launchers import LAUNCHERS
from workbench.networks import UNETS
from workbench.networks.unet import UNet
from workbench.privacy.spending.ledger import Ledger
from workbench.records.images import ImageKind
from workbench.runs.pace import expectation_of
from workbench.runs.rehearsal import measure
from workbench.runs.run import Run
from workbench.runs.store import RunStore
from workbench.training.grid import gradient_grid
from workbench.training.private_optimizer import release_at_once
from workbench.training.private_step import PrivateStep
from workbench.training.randomness import Randomness
from workbench.training.row_losses import RowLosses
from workbench.training.state import PerformanceSettings

DEVICE = os.environ.get("CHECK_DEVICE", "cuda")
DEPENDS = [
    *("workbench/training/**", "workbench/networks/**", "workbench/runs/fitting.py"),
    *("workbench/evaluation/device.py", "workbench/evaluation/learners.py", "workbench/evaluation/nearest.py"),
]
PUBLISHED = ("dp-sgd-dm", "dp-promise", "dpdm", "dp-feta", "dp-ldm", "dp-lora")
MNIST = DatasetFacts(name="mnist", num_records=60_000, kind=ImageKind(size=(1, 28, 28)), classes=tuple("0123456789"))
BATCH, CLIP = 32, 0.1
pytestmark = [
    *([] if DEVICE == "cpu" else [pytest.mark.slow(depends=DEPENDS)]),
    pytest.mark.skipif(DEVICE == "cuda" and not torch.cuda.is_available(), reason="no GPU is visible here, so this was not checked"),
]


def images() -> Tensor:
    return torch.randn(BATCH, 1, 8, 8, generator=torch.Generator().manual_seed(0))


def losses(network: nn.Module, device: str) -> RowLosses:
    """Reconstruction at a time of each row's own."""
    return RowLosses(
        network,
        (images().to(device),),
        lambda part: (part.normal((1, 8, 8)), part.integers(1, 10)),
        lambda image, noise, time: (image + noise, time),
        lambda output, _image, noise, _time: (output - noise).square().flatten(1).mean(1),
    )


def stepped(device: str, noise_multiplier: float = 0.0, **performance: Any) -> Tensor:
    """How far one step of SGD with rate 1 moves the parameters, in float64 on the CPU."""
    torch.manual_seed(0)
    network: nn.Module = UNet(UNETS["tiny"], 1, 8, 0).to(device)
    before = [parameter.detach().clone() for parameter in network.parameters()]
    settings = PerformanceSettings(device=device, **performance)
    settings.set_products()
    if settings.channels_last:
        network = network.to(memory_format=torch.channels_last)
    step = PrivateStep(
        network,
        torch.optim.SGD(network.parameters(), lr=1.0),
        noise_multiplier=noise_multiplier,
        max_grad_norm=CLIP,
        expected_batch_size=float(BATCH),
        randomness=Randomness.from_seed(1),
        performance=settings,
    )
    step.step(1, np.arange(BATCH), losses(network, device))
    moves = zip(network.parameters(), before, strict=True)
    return torch.cat([(parameter.detach() - old).flatten().double().cpu() for parameter, old in moves])


@pytest.mark.parametrize(
    ("performance", "within"),
    [
        ({"microbatch_size": 1}, 1e-4),
        ({"microbatch_size": 7}, 1e-4),
        ({}, 1e-4),
        ({"channels_last": True}, 1e-4),
        ({"precision": "tf32"}, 0.01),
        ({"precision": "bfloat16"}, 0.1),
    ],
    ids=["one at a time", "seven at a time", "as many as fit", "channels-last", "tf32", "bfloat16"],
)
def test_clipped_sums_are_those_of_the_cpu(performance: dict[str, Any], within: float, figures: dict[str, Any]) -> None:
    reference, found = stepped("cpu"), stepped(DEVICE, **performance)
    apart = float((found - reference).norm() / reference.norm())
    figures["apart, as a share of the norm"] = apart
    assert float(found.norm()) <= CLIP * (1 + 1e-5)
    assert apart < within


def test_noise_is_the_cpu_s_and_lies_on_the_grid() -> None:
    sums = [torch.randn(5, 3), torch.randn(7)]
    grid = gradient_grid(1.0, CLIP, BATCH, 22)
    draws = [Randomness.from_seed(1).stream("noise", 1).floored_normal(tuple(value.shape), grid.bits) for value in sums]
    moved = [value.clone().to(DEVICE) for value in sums]
    release_at_once(moved, draws, grid)
    for value, drawn, released in zip(sums, draws, moved, strict=True):
        expected = torch.from_numpy(grid.values(grid.rounded(value.double().numpy()) + drawn)).to(value.dtype)
        assert torch.equal(released.cpu(), expected)
    noisy = stepped(DEVICE, 1.0) - stepped(DEVICE)
    cpu = stepped("cpu", 1.0) - stepped("cpu")
    assert float((noisy - cpu).norm() / cpu.norm()) < 1e-3


def test_measures_on_the_device_are_those_of_the_cpu(figures: dict[str, Any]) -> None:
    """Neighbours by pixels, but for ties; a classifier and its features, whose training carries rounding on, within a little."""
    digits = datasets.load("digits")
    glyphs = datasets.load_public("glyphs", (1, 8, 8), 400).train
    near, scales, accuracies = [], [], []
    for name in ("cpu", DEVICE):
        begun = time.perf_counter()
        with measuring_on(name):
            near.append(find_neighbours(glyphs, digits, feature_space("pixels", digits, workspace=here()), k=3))
            learned = find_neighbours(glyphs, digits, feature_space("classifier", digits, workspace=here()), k=3)
            classifier = learners.train_classifier(learners.build_cnn, digits.train, 10, seed=0)
            right = classifier.predict(digits.held_out) == learners.labels_of(digits.held_out, 10)
        scales.append(float(np.median(learned.distances)))
        accuracies.append(float(right.mean()))
        figures[f"seconds ({name})"] = round(time.perf_counter() - begun, 1)
    apart = float(np.abs(near[0].distances - near[1].distances).max() / near[0].distances.max())
    figures |= {"distances apart, as a share": apart, "accuracies, the CPU's first": [round(one, 4) for one in accuracies]}
    assert apart < 1e-4
    assert (near[0].indices[:, 0] == near[1].indices[:, 0]).mean() > 0.99
    assert abs(scales[1] / scales[0] - 1) < 0.1
    assert abs(accuracies[0] - accuracies[1]) < 0.02
    assert min(accuracies) > 0.85


def plan_of(steps: int) -> experiment.Plan:
    fields = {"training.steps": steps, "training.batch_size": 64, "training.noise_multiplicity": 2, "training.noise_multiplier": 3.0}
    small = {"pretraining.records": 200, "pretraining.steps": 10, "network.base_channels": 16}
    return experiment.make_plan("dp-sgd-dm", datasets.load("digits").facts, settings=fields | small)


def test_a_killed_run_goes_on_and_what_it_draws_anew_is_counted_again(monkeypatch: pytest.MonkeyPatch, figures: dict[str, Any]) -> None:
    monkeypatch.setenv("WORKBENCH_CHECKPOINT_SECONDS", "2")
    plan = plan_of(300)
    run = runs.launch(here(), plan, "digits", performance=PerformanceSettings(device=DEVICE))

    def now() -> Run:
        return RunStore(here()).get(run.id)

    until(lambda: now().step > 30, "30 steps", 180)
    LAUNCHERS["local"].signal(now().process or {}, signal.SIGKILL)
    until(lambda: now().state == "lost", "the run to be lost")
    runs.resume(here(), run.id)
    done = runs.wait(here(), run.id, 240)
    assert done.state == "done", done.error
    again = sum(stage.charged_again for stage in Ledger(here().ledger).spent(run.id))
    assert (again > 0) == (DEVICE == "cuda"), "a GPU repeats no step bit for bit"
    assert done.bound.epsilon >= plan.bound.epsilon
    figures["steps counted again"] = again


def test_first_steps_of_a_preset(figures: dict[str, Any]) -> None:
    plan = experiment.make_plan(
        "dp-sgd-dm", datasets.load("digits").facts, epsilon=10.0, settings={"pretraining.steps": 8, "training.steps": 8}
    )
    state = experiment.new_state(plan, PerformanceSettings(device=DEVICE))
    moments = [time.perf_counter()]
    for step in experiment.fit(plan, datasets.load("digits"), state):
        if step.private:
            moments.append(time.perf_counter())
    paces = np.diff(moments)[2:]
    figures |= {
        "seconds a step": float(np.median(paces)),
        "weights": sum(p.numel() for m in state.modules.values() for p in m.parameters()),
    }
    assert len(paces)


@pytest.mark.parametrize(
    ("method", "precision"),
    [("dpdm", "tf32"), ("dpdm", "bfloat16"), *((method, "float32") for method in PUBLISHED)],
)
def test_expected_time_of_published_presets(method: str, precision: Any, figures: dict[str, Any]) -> None:
    """By a rehearsal on drawn records of MNIST's size, step by step as the preset takes them."""
    plan = experiment.make_plan(method, MNIST, preset="published")
    expected = expectation_of(plan, measure(plan, PerformanceSettings(device=DEVICE, precision=precision), 0.0))
    figures |= {f"seconds a step: {stage.stage}": round(stage.seconds / stage.steps, 4) for stage in expected.stages}
    figures |= {"expected hours": round(expected.seconds / 3600, 2), "GiB": round(expected.peak_bytes / 2**30, 2)}
    assert {stage.stage for stage in expected.stages} == {stage.name for stage in plan.releases}
    assert expected.seconds > 0
