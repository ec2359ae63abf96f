"""Where measures compute: all of a network and its records on the device that is asked for. The meta device computes no values."""

import numpy as np
import pytest
import torch

from workbench import networks
from workbench.evaluation import benchmark, device, learners, nearest
from workbench.records import Records


@pytest.fixture
def few() -> Records:
    draws = np.random.default_rng(0)
    return Records(draws.integers(0, 256, (40, 1, 8, 8), dtype=np.uint8), draws.integers(0, 3, 40))


def places(module: torch.nn.Module) -> set[str]:
    return {value.device.type for value in (*module.parameters(), *module.buffers())}


def test_classifiers_and_distances_are_where_they_are_asked_for(few: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learners, "STEPS", 2)
    monkeypatch.setattr(benchmark, "EPOCHS", 1)
    with device.measuring_on("meta"):
        trained = learners.train_classifier(learners.build_cnn, few, 3, seed=0)
        assert (places(trained.module), trained.device.type) == ({"meta"}, "meta")
        assert places(benchmark.trained_network(networks.resnet, few, 3, seed=0)) == {"meta"}
        points = few.records.reshape(40, -1).astype(np.float32)
        with pytest.raises(NotImplementedError, match="meta"):
            nearest.nearest(points, points)
        assert device.mark() == ("meta",), "what is kept is not taken for the CPU's"
    again = learners.train_classifier(learners.build_cnn, few, 3, seed=0)
    assert (places(again.module), device.mark()) == ({"cpu"}, ())


def test_the_cpu_is_no_device_of_its_own() -> None:
    assert [device.chosen_device(name) for name in (None, "cpu", "auto")] == [None, None, None]
