"""The critic on every image size it promises, what it is told of the class, and gradients record by record."""

import pytest
import torch
from torch import nn

from workbench.networks import Critic, CriticConfig, initialized
from workbench.training.per_record import PerRecordGradients

CONFIGS = [
    CriticConfig(width=4, hidden_size=8, normalization="group"),
    CriticConfig(width=4, kernel_size=5, hidden_layers=0, label="projected"),
    CriticConfig(blocks=0, hidden_layers=2, hidden_size=8),
    CriticConfig(blocks=0, hidden_size=8, label="projected"),
]
SHAPES = [(1, 8, 8), (3, 17, 23), (1, 1, 1), (2, 5, 64)]


def critic_of(config: CriticConfig, shape: tuple[int, int, int] = (1, 8, 8), num_classes: int = 3) -> Critic:
    return initialized(lambda: Critic(config, shape, num_classes), torch.Generator().manual_seed(0))


def images(number: int, shape: tuple[int, int, int] = (1, 8, 8)) -> torch.Tensor:
    return torch.rand(number, *shape, generator=torch.Generator().manual_seed(1)) * 2 - 1


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("num_classes", [0, 3])
def test_a_score_for_each_image_of_any_size(config: CriticConfig, shape: tuple[int, int, int], num_classes: int) -> None:
    scores = critic_of(config, shape, num_classes)(images(4, shape), torch.tensor([0, 1, 2, 0]) if num_classes else None)
    assert scores.shape == (4,)
    assert scores.isfinite().all()


@pytest.mark.parametrize("config", CONFIGS)
def test_a_score_depends_on_the_class(config: CriticConfig) -> None:
    x = images(1).expand(3, -1, -1, -1)
    assert len(critic_of(config)(x, torch.arange(3)).unique()) == 3


@pytest.mark.parametrize("config", CONFIGS)
def test_gradients_of_records_are_those_of_each_alone_by_the_layers_own_rules(config: CriticConfig) -> None:
    critic, x, labels = critic_of(config), images(5), torch.tensor([0, 1, 2, 0, 1])
    gradients = PerRecordGradients(critic)
    assert all(layer.rule is not None for layer in gradients.layers)
    assert gradients.mixing_possible() is None
    per_record = gradients.gradients(lambda: critic(x, labels).square(), 5)
    for row in range(5):
        critic.zero_grad()
        critic(x[row : row + 1], labels[row : row + 1]).square().sum().backward()
        for name, parameter in critic.named_parameters():
            assert parameter.grad is not None
            torch.testing.assert_close(per_record[name][row], parameter.grad, rtol=1e-4, atol=1e-6)


def test_nothing_is_normalised_over_a_batch() -> None:
    layers = [layer for config in CONFIGS for layer in critic_of(config).modules()]
    assert any(isinstance(layer, nn.GroupNorm) for layer in layers)
    assert not any(isinstance(layer, nn.modules.batchnorm._BatchNorm) for layer in layers)  # pyright: ignore[reportPrivateUsage]


def test_a_critic_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="hidden_layers=1"):
        CriticConfig(blocks=0, hidden_layers=0)
