"""The moving average follows its formula and is kept whole by a checkpoint."""

import pytest
import torch
from torch import nn

from workbench.networks import ExponentialMovingAverage


def network(value: float) -> nn.Linear:
    layer = nn.Linear(1, 1)
    for parameter in layer.parameters():
        nn.init.constant_(parameter, value)
    return layer


def test_warm_up_then_decay() -> None:
    average = ExponentialMovingAverage(network(0.0), decay=0.3)
    expected = 0.0
    for n, value in enumerate([1.0, -2.0, 5.0, 3.0], start=1):
        average.update(network(value))
        decay = min(0.3, (1 + n) / (10 + n))
        expected = decay * expected + (1 - decay) * value
        assert average.module.get_parameter("weight").item() == pytest.approx(expected, rel=1e-6)
    assert (1 + 1) / (10 + 1) < 0.3 < (1 + 4) / (10 + 4)  # both branches were met


def test_the_average_is_a_frozen_copy() -> None:
    source = network(1.0)
    average = ExponentialMovingAverage(source)
    nn.init.zeros_(source.weight)
    assert average.module.get_parameter("weight").item() == 1.0
    assert not any(parameter.requires_grad for parameter in average.parameters())
    assert not average.module.training


def test_state_dict_carries_the_count() -> None:
    first = ExponentialMovingAverage(network(0.0))
    for value in (1.0, 2.0, 3.0):
        first.update(network(value))
    second = ExponentialMovingAverage(network(9.0))
    second.load_state_dict(first.state_dict())
    for average in (first, second):
        average.update(network(4.0))
    assert int(second.num_updates) == 4
    assert torch.equal(first.module.get_parameter("weight"), second.module.get_parameter("weight"))


def test_buffers_are_copied() -> None:
    average = ExponentialMovingAverage(nn.BatchNorm1d(2))
    source = nn.BatchNorm1d(2)
    source(torch.tensor([[1.0, 2.0], [3.0, 8.0]]))
    average.update(source)
    assert torch.equal(average.module.get_buffer("running_mean"), source.get_buffer("running_mean"))


def test_decay_outside_the_unit_interval_is_refused() -> None:
    with pytest.raises(ValueError, match="decay in"):
        ExponentialMovingAverage(network(0.0), decay=1.5)
