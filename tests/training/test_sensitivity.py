"""What the guarantee rests on: one record removed or replaced moves the clipped sum by at most C, or 2 C."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from tests.training import nets
from workbench.networks import UNETS, UNet, initialized
from workbench.training.grid import sum_rounding
from workbench.training.per_record import PerRecordGradients

SLACK = 1 + 1e-5  # float32


def network() -> nn.Module:
    """Layers whose gradients are stored and layers whose gradients are deferred."""
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1),
        nn.GroupNorm(4, 32),
        nn.SiLU(),
        nn.Conv2d(32, 32, 3, padding=1),
        nn.Flatten(),
        nn.Linear(32 * 16, 8),
        nn.LayerNorm(8),
    )


def flat_sum(gradients: PerRecordGradients, x: Tensor, num_records: int, max_grad_norm: float) -> Tensor:
    clipped = gradients.clipped_sum(nets.losses_of(gradients.module, x), num_records, max_grad_norm)
    return torch.cat([value.flatten().double() for value in clipped.gradients.values()])


@settings(max_examples=10, deadline=None)
@given(
    seed=st.integers(0, 2**20),
    num_records=st.integers(2, 6),
    noise_multiplicity=st.sampled_from([1, 2]),
    max_grad_norm=st.sampled_from([1e-3, 1.0, 30.0]),
    size=st.sampled_from([1e-3, 1.0, 1e3]),
)
def test_one_record_moves_the_sum_by_at_most_the_clipping_norm(
    seed: int, num_records: int, noise_multiplicity: int, max_grad_norm: float, size: float
) -> None:
    torch.manual_seed(seed)
    gradients = PerRecordGradients(network(), noise_multiplicity)
    x = size * torch.randn(num_records, noise_multiplicity, 1, 4, 4)
    whole = flat_sum(gradients, x.flatten(0, 1), num_records, max_grad_norm)
    for record in range(num_records):
        kept = [other for other in range(num_records) if other != record]
        removed = flat_sum(gradients, x[kept].flatten(0, 1), num_records - 1, max_grad_norm)
        assert (whole - removed).norm() <= max_grad_norm * SLACK
        changed = x.clone()
        changed[record] = -size * torch.rand(noise_multiplicity, 1, 4, 4)
        replaced = flat_sum(gradients, changed.flatten(0, 1), num_records, max_grad_norm)
        assert (whole - replaced).norm() <= 2 * max_grad_norm * SLACK


@pytest.mark.parametrize("factor", [1e3, 1e4, 1e5])
def test_gradients_that_cancel_in_the_norm_are_clipped_all_the_same(factor: float) -> None:
    """Ghost norms sum terms of either sign: here they cancel almost wholly, and rounding must not let the norm fall short."""
    layer = nn.Conv2d(32, 32, 3, bias=False)
    gradients = PerRecordGradients(layer)
    for seed in range(10):
        torch.manual_seed(seed)
        x = factor * torch.randn(1, 32, 1, 1).repeat(1, 1, 4, 4)
        x[:, :, :, 1::2] *= -1
        x += torch.randn(1, 32, 4, 4)
        weight = torch.randn(1, 32, 1, 1)
        clipped = gradients.clipped_sum(lambda x=x, weight=weight: (layer(x) * weight).flatten(1).sum(1), 1, 1.0)
        exact = torch.nn.grad.conv2d_weight(x.double(), layer.weight.shape, weight.double().expand(1, 32, 2, 2))
        assert float(clipped.norms) >= float(exact.norm()) * (1 - 1e-6)


@pytest.mark.parametrize("channels", [64, 256])
def test_channels_alike_do_not_shorten_a_convolution_s_norm(channels: int) -> None:
    """Where all channels are alike every inner product is rounded alike, and nothing averages out."""
    layer = nn.Conv2d(channels, channels, 3, bias=False)
    gradients = PerRecordGradients(layer)
    for seed in range(10):
        torch.manual_seed(seed)
        value = float(1 + torch.rand(()))
        x = torch.full((1, channels, 4, 4), value)
        x[:, :, :, 1::2] = -value * (1 + 3e-3 * float(torch.randn(())))
        weight = torch.full((1, channels, 1, 1), float(1 + torch.rand(())))
        clipped = gradients.clipped_sum(lambda x=x, weight=weight: (layer(x) * weight).flatten(1).sum(1), 1, 1.0)
        exact = torch.nn.grad.conv2d_weight(x.double(), layer.weight.shape, weight.double().expand(1, channels, 2, 2)).norm()
        assert float(clipped.norms) >= float(exact) * (1 - 1e-6)
        assert not clipped.gradients["weight"].requires_grad, "a graph would keep every microbatch's activations alive"
        assert float(clipped.gradients["weight"].double().norm()) <= SLACK


def test_features_alike_do_not_shorten_a_linear_layer_s_norm() -> None:
    layer = nn.Linear(2048, 64, bias=False)
    gradients = PerRecordGradients(layer, 2)
    for seed in range(10):
        torch.manual_seed(seed)
        value = float(1 + torch.rand(()))
        x = torch.full((2, 2048), value)
        x[1] *= 1 + 3e-3 * float(torch.randn(()))
        weight = torch.randn(1, 64) * torch.tensor([[1.0], [-1.0]])
        clipped = gradients.clipped_sum(lambda x=x, weight=weight: (layer(x) * weight).sum(1), 1, 1.0)
        assert float(clipped.gradients["weight"].double().norm()) <= SLACK


def test_float32_sums_of_neighboring_batches_are_no_farther_apart_than_is_assumed() -> None:
    """The one assumption of a private step: measured against the same gradients summed in float64."""
    network = initialized(lambda: UNet(UNETS["tiny"], 1, 8, 3), torch.Generator().manual_seed(1))
    draw = torch.Generator().manual_seed(2)
    images, noise = torch.randn(64, 1, 8, 8, generator=draw), torch.randn(64, 1, 8, 8, generator=draw)
    per_record = PerRecordGradients(network, 1)

    def losses(count: int) -> Callable[[], Tensor]:
        times, labels = torch.arange(count) + 1, torch.arange(count) % 3
        return lambda: (network(images[:count], times, labels) - noise[:count]).square().flatten(1).mean(1)

    stored = per_record.gradients(losses(64), 64)
    whole = torch.cat([value.double().flatten(1) for value in stored.values()], dim=1)
    norm = 0.1 * float(whole.norm(dim=1).min())  # all are clipped: the longest sums
    clipped = whole * (norm / whole.norm(dim=1, keepdim=True))
    for count in (16, 63, 64):
        sums = per_record.clipped_sum(losses(count), count, norm).gradients
        error = torch.cat([value.double().flatten() for value in sums.values()]) - clipped[:count].sum(0)
        assert 0 < float(error.norm()) < 0.5 * sum_rounding(count) * norm
