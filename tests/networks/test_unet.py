"""The U-Net: size, shape, independence of records, per-record gradients."""

import pytest
import torch
from opacus import GradSampleModule
from opacus.validators import ModuleValidator
from torch import nn
from torch.func import functional_call, grad, vmap

from workbench.errors import WorkbenchError
from workbench.networks import UNETS, UNet, UNetConfig, default_unet, initialized
from workbench.networks.unet import from_patches, to_patches

SAFE_LAYERS = (nn.Linear, nn.Conv2d, nn.GroupNorm, nn.Embedding, nn.SiLU, nn.Identity)


def moved_unet(config: UNetConfig, channels: int, size: int | tuple[int, int], num_classes: int = 10) -> UNet:
    """A U-Net whose zero-initialised layers have been moved off zero, so that every path carries signal."""
    generator = torch.Generator().manual_seed(0)
    network = initialized(lambda: UNet(config, channels, size, num_classes), generator)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.05 * torch.randn(parameter.shape, generator=generator))
    return network


def inputs(batch: int, *shape: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(batch, *shape, generator=generator)
    return x, torch.randint(1, 1001, (batch,), generator=generator), torch.randint(0, 11, (batch,), generator=generator)


@pytest.mark.parametrize(
    ("name", "channels", "size", "millions", "tolerance"),
    [("paper-28", 1, 28, 1.62, 0.02), ("paper-28-wide", 1, 28, 6.5, 0.02), ("paper-32", 3, 32, 35.7, 0.02)],
)
def test_published_networks_have_their_published_size(name: str, channels: int, size: int, millions: float, tolerance: float) -> None:
    with torch.device("meta"):
        network = UNet(UNETS[name], channels, size, 10)
    assert sum(parameter.numel() for parameter in network.parameters()) == pytest.approx(millions * 1e6, rel=tolerance)


def test_tiny_network_is_small() -> None:
    assert sum(parameter.numel() for parameter in UNet(UNETS["tiny"], 1, 8, 10).parameters()) < 150_000


@pytest.mark.parametrize("shape", [(1, 8, 8), (1, 28, 28), (3, 32, 32), (3, 9, 13), (2, 7, 7)])
def test_output_has_the_shape_of_the_input(shape: tuple[int, int, int]) -> None:
    config = UNetConfig(base_channels=8, channel_multipliers=(1, 2, 2), num_res_blocks=1, attention_resolutions=(shape[1] // 4,))
    network = moved_unet(config, shape[0], shape[1:])
    assert network(*inputs(3, *shape)).shape == (3, *shape)


def test_patches_become_channels_and_pixels_again() -> None:
    x = torch.arange(2 * 3 * 4 * 6, dtype=torch.float32).reshape(2, 3, 4, 6)
    parts = to_patches(x, 2)
    assert torch.equal(parts[1, 4:8, 0, 2], torch.stack([x[1, 1, 0, 4], x[1, 1, 0, 5], x[1, 1, 1, 4], x[1, 1, 1, 5]]))
    assert torch.equal(from_patches(parts, 2), x)


def test_a_network_of_patches_works_at_their_resolution() -> None:
    config = UNETS["patches-28"]
    network = moved_unet(config, 1, 28)
    assert network.get_submodule("conv_in").get_parameter("weight").shape == (32, 4, 3, 3)
    assert network(*inputs(3, 1, 28, 28)).shape == (3, 1, 28, 28)
    attending = sum("query_key_value.weight" in name for name, _ in network.named_parameters())
    assert attending == 1 + 1 + 2, "the middle, and the level of height 7 down and up"
    with pytest.raises(WorkbenchError, match=r"patches of 2x2 pixels fill, got 28x27"):
        UNet(config, 1, (28, 27), 10)


@pytest.mark.parametrize("shape", [(1, 8, 8), (1, 16, 16), (1, 28, 28), (3, 8, 8), (3, 16, 16), (3, 28, 28), (3, 32, 32), (3, 64, 64)])
def test_default_networks_have_at_most_two_million_parameters(shape: tuple[int, int, int]) -> None:
    with torch.device("meta"):
        network = UNet(UNETS[default_unet(shape)], shape[0], shape[1], 10)
    assert 0.1e6 < sum(parameter.numel() for parameter in network.parameters()) <= 2e6


@pytest.mark.parametrize("shape", [(1, 8, 8), (1, 28, 28), (3, 16, 16), (3, 32, 32), (3, 64, 64)])
def test_default_network_attends_where_its_resolutions_say(shape: tuple[int, int, int]) -> None:
    with torch.device("meta"):
        config = UNETS[default_unet(shape)]
        network = UNet(config, shape[0], shape[1], 10)
    attending = sum("query_key_value.weight" in name for name, _ in network.named_parameters())
    assert attending == 1 + 2 * config.num_res_blocks + 1  # the middle, and one level down and up


@pytest.mark.parametrize("heads", [1, 4])
def test_a_records_output_depends_on_that_record_alone(heads: int) -> None:
    config = UNETS["tiny"].model_copy(update={"num_heads": heads})
    network = moved_unet(config, 1, 8).eval()
    x, t, labels = inputs(4, 1, 8, 8)
    before = network(x, t, labels)
    x[2], t[2], labels[2] = 9.0, 7, (labels[2] + 1) % 11
    after = network(x, t, labels)
    assert (after[2] - before[2]).abs().max() > 1e-2
    others = [0, 1, 3]
    torch.testing.assert_close(after[others], before[others], rtol=0, atol=1e-6)


@pytest.mark.parametrize("moved", ["x", "t", "labels"])
def test_every_input_matters(moved: str) -> None:
    network = moved_unet(UNETS["tiny"], 1, 8)
    x, t, labels = inputs(2, 1, 8, 8)
    before = network(x, t, labels)
    changed = {"x": (x + 1, t, labels), "t": (x, t // 2, labels), "labels": (x, t, (labels + 1) % 11)}[moved]
    assert (network(*changed) - before).abs().max() > 1e-3


def test_the_embedding_reaches_full_resolution() -> None:
    network = moved_unet(UNETS["paper-28"], 1, 28)
    block = network.get_submodule("down.0.residual")
    generator = torch.Generator().manual_seed(2)
    x, embedding = torch.randn(1, 32, 28, 28, generator=generator), torch.randn(1, 128, generator=generator)
    assert (block(x, embedding) - block(x, -embedding)).abs().max() > 1e-2


def test_no_labels_means_row_zero() -> None:
    network = moved_unet(UNETS["tiny"], 1, 8)
    x, t, _ = inputs(2, 1, 8, 8)
    assert torch.equal(network(x, t), network(x, t, torch.zeros(2, dtype=torch.int64)))


def test_a_network_without_classes_refuses_labels() -> None:
    network = moved_unet(UNETS["tiny"], 1, 8, num_classes=0)
    x, t, labels = inputs(2, 1, 8, 8)
    assert network(x, t).shape == x.shape
    with pytest.raises(WorkbenchError, match="without classes"):
        network(x, t, labels)


def test_output_starts_at_zero_and_initialisation_is_repeatable() -> None:
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    first, second = (initialized(lambda: UNet(UNETS["tiny"], 1, 8, 10), torch.Generator().manual_seed(3)) for _ in range(2))
    assert torch.equal(torch.rand(1), expected)
    for one, other in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(one, other)
    assert not first(*inputs(2, 1, 8, 8)).any()


def test_only_layers_with_known_per_record_gradients_and_no_shared_parameter() -> None:
    network = UNet(UNETS["tiny"], 1, 8, 10)
    assert ModuleValidator.validate(network) == []
    for module in network.modules():
        if not list(module.children()) and list(module.parameters()):
            assert isinstance(module, SAFE_LAYERS)
    assert len(list(network.parameters())) == len(list(network.named_parameters(remove_duplicate=False)))


def test_time_parameters_are_the_time_mlp() -> None:
    network = UNet(UNETS["tiny"], 1, 8, 10)
    frozen = {id(parameter) for parameter in network.time_parameters()}
    names = {name for name, parameter in network.named_parameters() if id(parameter) in frozen}
    assert names == {"time_mlp.0.weight", "time_mlp.0.bias", "time_mlp.2.weight", "time_mlp.2.bias"}


@pytest.mark.parametrize(("name", "size"), [("tiny", 8), ("paper-28", 28), ("patches-28", 28)])
@pytest.mark.filterwarnings("ignore:Full backward hook")
def test_per_record_gradients_of_opacus_and_torch_func_agree(name: str, size: int) -> None:
    network = moved_unet(UNETS[name], 1, size)
    x, t, labels = inputs(3, 1, size, size)

    def loss(parameters: dict[str, torch.Tensor], x: torch.Tensor, t: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        return functional_call(network, parameters, (x[None], t[None], label[None])).square().mean()

    parameters = {key: value.detach() for key, value in network.named_parameters()}
    expected = vmap(grad(loss), in_dims=(None, 0, 0, 0))(parameters, x, t, labels)
    hooked = GradSampleModule(network, loss_reduction="sum")
    hooked(x, t, labels).square().flatten(1).mean(dim=1).sum().backward()
    scale = max(float(value.abs().max()) for value in expected.values())
    for key, parameter in network.named_parameters():
        torch.testing.assert_close(vars(parameter)["grad_sample"], expected[key], rtol=1e-3, atol=1e-5 * scale, msg=key)


@pytest.mark.parametrize("values", [{"num_heads": 3}, {"channel_multipliers": (1, 0)}, {"base_channels": 6}, {"channel_multipliers": ()}])
def test_impossible_shapes_are_refused(values: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="UNetConfig"):
        UNetConfig.model_validate(values)
