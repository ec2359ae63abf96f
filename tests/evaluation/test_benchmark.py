"""DPImageBench's measure: three families of networks, all samples, no epoch chosen, and words that say how small they are."""

import numpy as np
import pytest
import torch
from support.homes import here

from workbench import networks
from workbench.datasets.base import Dataset
from workbench.evaluation import METRICS, PROTOCOLS, benchmark, evaluate
from workbench.evaluation.context import measures_of
from workbench.evaluation.learners import labels_of
from workbench.evaluation.published import images_of, predicted_classes
from workbench.networks.residual import Residual
from workbench.records import Records

BUILDERS = [getattr(networks, name) for name in benchmark.NETWORKS.values()]


@pytest.mark.parametrize("build", BUILDERS)
@pytest.mark.parametrize("shape", [(1, 8, 8), (1, 28, 28), (3, 17, 23), (3, 64, 64)])
def test_the_networks_take_every_size(build: benchmark.Build, shape: tuple[int, ...]) -> None:
    assert build(shape, 7)(torch.rand(2, *shape)).shape == (2, 7)


@pytest.mark.parametrize("build", BUILDERS)
def test_a_block_adds_what_came_in(build: benchmark.Build) -> None:
    block = next(module for module in build((1, 28, 28), 10).modules() if isinstance(module, Residual)).eval()
    for parameter in block.body.parameters():
        torch.nn.init.zeros_(parameter)
    first = next(module for module in block.body.modules() if isinstance(module, torch.nn.Conv2d))
    x = torch.rand(2, first.in_channels, 4, 4)
    came_in = x if block.projection is None else block.projection(block.before(x))
    assert torch.equal(block(x), block.after(came_in))


def test_the_mean_of_three_and_its_words(small_digits: Dataset, fresh: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "BATCH_SIZE", 32)
    calls: list[float] = []
    options = {"metrics": ["accuracy_mean3"], "features": "pixels", "workspace": here()}
    (accuracy,) = evaluate(fresh, small_digits, **options, progress=lambda _, share: calls.append(share))
    alone = []
    for build in BUILDERS:
        module = benchmark.trained_network(build, fresh, 10, 0)
        alone.append(np.mean(predicted_classes(module, images_of(small_digits.held_out)) == labels_of(small_digits.held_out, 10)))
    assert accuracy.value == pytest.approx(np.mean(alone))
    assert min(alone) > 0.5
    assert calls == sorted(calls)
    assert accuracy.protocol == "DPImageBench's protocol with small networks, cut down to 300 samples"
    assert "5 passes over 300 samples, no epoch chosen" in accuracy.note
    assert not accuracy.releasable
    monkeypatch.setattr(benchmark, "trained_network", lambda *_: pytest.fail("what was trained was trained again"))
    assert evaluate(fresh, small_digits, **options)[0].value == accuracy.value


def test_the_protocol_takes_one_measure_of_60_000_samples() -> None:
    assert measures_of("dpimagebench", METRICS, "image") == ["accuracy_mean3"]
    assert PROTOCOLS["dpimagebench"].num_samples == 60_000
