"""Low-rank adapters: what they compute, where they stand, and their per-record gradients."""

import pytest
import torch
from torch import Tensor, nn

from workbench.networks import UNETS, LowRank, UNet, adapter_parameters, add_adapters
from workbench.training.per_record import PerRecordGradients


def network(*, convolutions: bool = False, rank: int = 3) -> UNet:
    torch.manual_seed(0)
    made = UNet(UNETS["tiny"], 1, 8, 3)
    for parameter in made.parameters():
        nn.init.normal_(parameter, std=0.1)
    add_adapters(made, rank, convolutions=convolutions)
    return made


def inputs() -> tuple[Tensor, Tensor, Tensor]:
    return torch.randn(4, 1, 8, 8), torch.tensor([1, 5, 9, 200]), torch.tensor([0, 1, 2, 3])


def test_each_of_query_key_and_value_has_a_map_of_its_rank_beside_it() -> None:
    torch.manual_seed(0)
    layer = nn.Conv2d(8, 24, 1)
    adapted, x = LowRank(layer, 2, 3), torch.randn(5, 8, 4, 4)
    assert torch.equal(adapted(x), layer(x)), "B is zero"
    ups: list[Tensor] = []
    for up in adapted.up:
        assert isinstance(up, nn.Conv2d)
        nn.init.normal_(up.weight)
        ups.append(up.weight.flatten(1))  # (8, 2)
    products = torch.cat([b @ a for b, a in zip(ups, adapted.down.weight.flatten(1).chunk(3), strict=True)])  # (24, 8)
    whole = nn.functional.conv2d(x, layer.weight + products[:, :, None, None], layer.bias)
    torch.testing.assert_close(adapted(x), whole, rtol=1e-4, atol=1e-5)
    assert [torch.linalg.matrix_rank(part).item() for part in products.chunk(3)] == [2, 2, 2]


def test_a_convolution_that_changes_sizes_is_refused() -> None:
    for layer in (nn.Conv2d(8, 8, 3, stride=2, padding=1), nn.Conv2d(8, 8, 3), nn.Conv2d(8, 8, 1, groups=2)):
        with pytest.raises(ValueError, match="keeps the size"):
            LowRank(layer, 2)


@pytest.mark.parametrize("convolutions", [False, True])
def test_a_network_begins_as_it_was_and_only_adapters_train(convolutions: bool) -> None:
    made, plain = network(convolutions=convolutions), UNet(UNETS["tiny"], 1, 8, 3)
    adapted = {id(parameter) for parameter in adapter_parameters(made)}
    kept = [parameter for parameter in made.parameters() if id(parameter) not in adapted]
    for mine, theirs in zip(plain.parameters(), kept, strict=True):
        mine.data.copy_(theirs)
    rows = inputs()
    torch.testing.assert_close(made(*rows), plain(*rows))
    adapters = adapter_parameters(made)
    assert not any(parameter.requires_grad for parameter in adapters)
    blocks = sum(isinstance(module, LowRank) for module in made.modules())
    attention = sum(name.endswith("query_key_value") for name, _ in made.named_modules())
    residual = sum(name.endswith("residual") for name, _ in made.named_modules())
    assert blocks == 2 * attention + 2 * residual * convolutions
    made.freeze_but([*adapters, *made.parameters_of_labels()])
    trained = {name for name, parameter in made.named_parameters() if parameter.requires_grad}
    assert len(trained) == len(adapters) + 1
    assert "label_embedding.weight" in trained


@pytest.mark.parametrize("convolutions", [False, True])
def test_per_record_gradients_of_adapters_are_those_of_autograd(convolutions: bool) -> None:
    made, rows = network(convolutions=convolutions), inputs()
    for parameter in adapter_parameters(made):
        nn.init.normal_(parameter, std=0.3)
    made.freeze_but([*adapter_parameters(made), *made.parameters_of_labels()])
    gradients = PerRecordGradients(made).gradients(lambda: made(*rows).square().flatten(1).sum(1), 4)
    trained = {name: parameter for name, parameter in made.named_parameters() if parameter.requires_grad}
    assert gradients.keys() == trained.keys()
    for record in range(4):
        alone = made(*(values[record : record + 1] for values in rows)).square().sum()
        for (name, _), expected in zip(trained.items(), torch.autograd.grad(alone, list(trained.values())), strict=True):
            torch.testing.assert_close(gradients[name][record], expected, rtol=1e-3, atol=1e-4, msg=name)
