"""Classifiers and the generator on every image size they promise."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from workbench.networks import MLP, ConditionalGenerator, SmallCNN, initialized

SHAPES = [(1, 8, 8), (1, 28, 28), (3, 32, 32), (3, 17, 23), (3, 64, 64)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("build", [SmallCNN, MLP])
def test_logits_are_the_head_of_the_features(build: type[SmallCNN | MLP], shape: tuple[int, int, int]) -> None:
    network = initialized(lambda: build(shape, 7), torch.Generator().manual_seed(0))
    x = torch.rand(3, *shape, generator=torch.Generator().manual_seed(1)) * 2 - 1
    features = network.features(x)
    assert features.shape == (3, network.feature_dimensions)
    assert network(x).shape == (3, 7)
    assert torch.equal(network(x), network.head(features))


@pytest.mark.parametrize("build", [SmallCNN, MLP])
def test_a_classifier_learns_where_a_bright_patch_is(build: type[SmallCNN | MLP]) -> None:
    generator = torch.Generator().manual_seed(0)
    labels = torch.randint(4, (128,), generator=generator)
    x = 0.3 * torch.randn(128, 1, 8, 8, generator=generator) - 1
    for row, label in enumerate(labels.tolist()):
        x[row, 0, 4 * (label // 2) : 4 * (label // 2) + 4, 4 * (label % 2) : 4 * (label % 2) + 4] += 1.0
    network = initialized(lambda: build((1, 8, 8), 4), generator)
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
    for _ in range(30):
        optimizer.zero_grad()
        functional.cross_entropy(network(x), labels).backward()
        optimizer.step()
    assert (network(x).argmax(dim=1) == labels).double().mean() > 0.98


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("num_classes", [0, 10])
def test_generated_images_have_shape_and_range(shape: tuple[int, int, int], num_classes: int) -> None:
    network = initialized(lambda: ConditionalGenerator(shape, num_classes), torch.Generator().manual_seed(0))
    noise = 10 * torch.randn(4, network.noise_dimensions, generator=torch.Generator().manual_seed(1))
    images = network(noise, torch.tensor([0, 3, 9, 9]) if num_classes else None)
    assert images.shape == (4, *shape)
    assert images.abs().max() <= 1.0


def test_the_generator_learns_one_image_a_label() -> None:
    generator = torch.Generator().manual_seed(0)
    network = initialized(lambda: ConditionalGenerator((1, 8, 8), 2), generator)
    targets = torch.stack([torch.full((1, 8, 8), -0.8), torch.full((1, 8, 8), 0.8)])
    targets[0, 0, :4] = 0.8
    labels = torch.arange(32) % 2
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
    for _ in range(60):
        optimizer.zero_grad()
        noise = torch.randn(32, network.noise_dimensions, generator=generator)
        nn.functional.mse_loss(network(noise, labels), targets[labels]).backward()
        optimizer.step()
    network.eval()
    noise = torch.randn(32, network.noise_dimensions, generator=generator)
    assert nn.functional.mse_loss(network(noise, labels), targets[labels]) < 0.05
