"""Per-record gradients against `torch.func`, for every layer and for random networks."""

import copy
import random
import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from tests.training import nets
from workbench import datasets
from workbench.errors import WorkbenchError
from workbench.networks import UNet, UNetConfig
from workbench.training.per_record import PerRecordGradients
from workbench.training.per_record.clipping import clip
from workbench.training.per_record.contributions import DeferredGradient, StoredGradient, squared_norms
from workbench.training.per_record.layers import RULES, has_rule
from workbench.training.per_record.rules import Pass, multiplies_exactly
from workbench.training.randomness import Randomness
from workbench.training.state import PerformanceSettings, State

TOLERANCES = {torch.float32: 1e-5, torch.float64: 1e-10}

LAYERS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "linear": (lambda: nn.Linear(5, 7), (5,)),
    "linear, one token, deferred": (lambda: nn.Linear(40, 30), (40,)),
    "linear, leading dimensions": (lambda: nn.Linear(5, 7, bias=False), (3, 2, 5)),
    "linear, tokens, deferred": (lambda: nn.Linear(50, 70), (3, 50)),
    "conv1d, stride, dilation, groups": (lambda: nn.Conv1d(4, 6, 3, stride=2, padding=1, dilation=2, groups=2), (4, 16)),
    "conv2d": (lambda: nn.Conv2d(4, 6, 3, padding=1), (4, 9, 9)),
    "conv2d, large image": (lambda: nn.Conv2d(3, 4, 3, padding=1), (3, 21, 21)),
    "conv2d, large image, stride, dilation, groups": (lambda: nn.Conv2d(4, 6, 3, 2, 2, dilation=2, groups=2), (4, 42, 42)),
    "conv2d, deferred": (lambda: nn.Conv2d(32, 40, 3, padding=1), (32, 4, 4)),
    "conv2d, deferred, uneven kernel and padding": (lambda: nn.Conv2d(64, 48, (3, 1), padding=(2, 0)), (64, 4, 5)),
    "conv2d, pointwise": (lambda: nn.Conv2d(6, 9, 1), (6, 5, 5)),
    "conv2d, pointwise, large image": (lambda: nn.Conv2d(6, 9, 1), (6, 21, 21)),
    "conv2d, pointwise, padded": (lambda: nn.Conv2d(6, 9, 1, padding=1), (6, 5, 5)),
    "conv2d, same, even kernel": (lambda: nn.Conv2d(4, 6, 4, padding="same"), (4, 9, 9)),
    "conv2d, valid": (lambda: nn.Conv2d(4, 6, 4, padding="valid"), (4, 9, 9)),
    "conv2d, reflect": (lambda: nn.Conv2d(4, 6, 3, padding="same", padding_mode="reflect"), (4, 9, 9)),
    "conv2d, circular": (lambda: nn.Conv2d(4, 6, 3, stride=2, padding=1, padding_mode="circular"), (4, 10, 10)),
    "conv2d, depthwise": (lambda: nn.Conv2d(6, 6, 3, padding=1, groups=6), (6, 5, 5)),
    "conv3d": (lambda: nn.Conv3d(2, 4, 3, padding=1, groups=2), (2, 5, 5, 5)),
    "transposed conv1d": (lambda: nn.ConvTranspose1d(4, 6, 3, stride=2), (4, 5)),
    "transposed conv2d": (lambda: nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2, dilation=2), (4, 5, 5)),
    "transposed conv3d": (lambda: nn.ConvTranspose3d(2, 3, 2, stride=2), (2, 3, 3, 3)),
    "group norm": (lambda: nn.GroupNorm(2, 6), (6, 4, 4)),
    "group norm, vectors": (lambda: nn.GroupNorm(2, 6), (6,)),
    "instance norm": (lambda: nn.InstanceNorm2d(6, affine=True), (6, 4, 4)),
    "instance norm, 1-d": (lambda: nn.InstanceNorm1d(6, affine=True), (6, 7)),
    "layer norm": (lambda: nn.LayerNorm((4, 6)), (3, 4, 6)),
    "layer norm without shift": (lambda: nn.LayerNorm(6, bias=False), (6,)),
    "embedding": (lambda: nets.Lookup(7), (4,)),
    "embedding with padding": (lambda: nets.Lookup(4, padding_idx=1), (4,)),
    "attention": (nets.AttentionOfLinears, (5, 8)),
    "torch's attention (torch.func)": (nets.Attention, (5, 8)),
    "parameter of its own (torch.func)": (nets.Own, (6,)),
    "bilinear parametrisation (torch.func)": (lambda: nn.utils.parametrizations.weight_norm(nn.Linear(5, 4)), (5,)),
    "weight used outside its layer (torch.func)": (nets.UsedOutside, (6,)),
    "layer called twice": (lambda: nets.CalledTwice(nn.Linear(30, 30)), (30,)),
    "convolution called twice": (lambda: nets.CalledTwice(nn.Conv2d(32, 32, 3, padding=1)), (32, 4, 4)),
    "group norm called twice": (lambda: nets.CalledTwice(nn.GroupNorm(2, 6)), (6, 4)),
    "weight tied": (nets.TiedWeight, (6,)),
}


def check(module: nn.Module, shape: tuple[int, ...], num_records: int, noise_multiplicity: int, dtype: torch.dtype) -> None:
    """Gradients and clipped sums equal those of `torch.func`."""
    module.to(dtype)
    x = torch.randn(num_records * noise_multiplicity, *shape, dtype=dtype)
    ours, expected = PerRecordGradients(module, noise_multiplicity), nets.reference(module, x, noise_multiplicity)
    nets.assert_close(ours.gradients(nets.losses_of(module, x), num_records), expected, TOLERANCES[dtype])
    norms = torch.stack([g.flatten(1).norm(dim=1) for g in expected.values()]).norm(dim=0)
    max_grad_norm = float(norms.median())
    clipped = ours.clipped_sum(nets.losses_of(module, x), num_records, max_grad_norm)
    nets.assert_close(clipped.gradients, nets.reference_clipped(expected, max_grad_norm), 2 * TOLERANCES[dtype])
    torch.testing.assert_close(clipped.norms, norms, rtol=2 * TOLERANCES[dtype], atol=0.0)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("noise_multiplicity", [1, 3, 8])
@pytest.mark.parametrize("name", LAYERS)
def test_every_layer_equals_torch_func(name: str, noise_multiplicity: int) -> None:
    make, shape = LAYERS[name]
    for dtype in TOLERANCES:
        for num_records in (1, 4):
            torch.manual_seed(num_records)
            check(make(), shape, num_records, noise_multiplicity, dtype)


def test_every_rule_is_tried() -> None:
    modules = [make() for make, _ in LAYERS.values()]
    assert set(RULES) - {nn.InstanceNorm3d} <= {type(layer) for module in modules for layer in module.modules()}


@pytest.mark.parametrize("noise_multiplicity", [1, 3])
def test_the_unet_equals_torch_func(noise_multiplicity: int) -> None:
    torch.manual_seed(0)
    network = UNet(UNetConfig(base_channels=8, channel_multipliers=(1, 2), num_res_blocks=1, attention_resolutions=(4,)), 1, 8, 3)
    for parameter in network.parameters():
        nn.init.normal_(parameter, std=0.1)

    class Conditioned(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            times = (x.flatten(1)[:, 0].abs() * 100).long()
            return self.network(x, times, times % 4)

    check(Conditioned(), (1, 8, 8), 3, noise_multiplicity, torch.float32)
    check(Conditioned(), (1, 8, 8), 3, noise_multiplicity, torch.float64)


def random_network(draw: random.Random) -> tuple[nn.Module, tuple[int, ...]]:
    """A few layers on images with a random geometry, and the input's shape."""
    channels, size = draw.choice([2, 4]), draw.choice([6, 9, 12])
    shape, layers = (channels, size, size), []
    for _ in range(draw.randint(1, 3)):
        groups = draw.choice([1, 2])
        width = 2 * draw.randint(1, 16)
        kernel, stride, dilation = draw.choice([1, 2, 3]), draw.choice([1, 2]), draw.choice([1, 2])
        convolution = draw.choice([nn.Conv2d, nn.Conv2d, nn.ConvTranspose2d])
        padding = dilation * ((kernel - 1 if convolution is nn.ConvTranspose2d else kernel) // 2)  # leaves at least one pixel
        layers.append(convolution(channels, width, kernel, stride, padding, dilation=dilation, groups=groups, bias=draw.random() < 0.7))
        layers.append(draw.choice([nn.GroupNorm(2, width), nn.InstanceNorm2d(width, affine=True), nn.Identity()]))
        layers.append(draw.choice([nn.SiLU(), nn.Tanh()]))
        channels = width
    layers += [nn.AdaptiveAvgPool2d(3), nn.Flatten(), nn.Linear(9 * channels, 6), nn.LayerNorm(6), nn.Linear(6, 3)]
    return nn.Sequential(*layers), shape


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 2**20), noise_multiplicity=st.sampled_from([1, 3, 8]), num_records=st.integers(1, 4))
def test_random_networks_equal_torch_func(seed: int, noise_multiplicity: int, num_records: int) -> None:
    torch.manual_seed(seed)
    network, shape = random_network(random.Random(seed))
    for parameter in network.parameters():
        if random.Random(seed + parameter.numel()).random() < 0.2:
            parameter.requires_grad_(False)
    if any(p.requires_grad for p in network.parameters()):
        check(network, shape, num_records, noise_multiplicity, torch.float64)


def test_frozen_parameters_are_skipped_and_still_pass_gradients_on() -> None:
    network = nn.Sequential(nn.Conv2d(2, 4, 3), nn.GroupNorm(2, 4), nn.Conv2d(4, 4, 3), nn.Flatten(), nn.Linear(16, 3))
    for frozen in (network[1].weight, network[2].weight, network[2].bias, network[4].bias):
        frozen.requires_grad_(False)
    check(network, (2, 6, 6), 3, 2, torch.float64)
    assert set(PerRecordGradients(network).parameters) == {"0.weight", "0.bias", "1.bias", "4.weight"}


def test_no_record_gives_zero() -> None:
    network = nn.Linear(3, 2)
    ours = PerRecordGradients(network)
    assert ours.gradients(lambda: pytest.fail("called"), 0)["weight"].shape == (0, 2, 3)
    assert not ours.clipped_sum(lambda: pytest.fail("called"), 0, 1.0).gradients["weight"].any()


def test_a_parameter_that_the_loss_does_not_use_gets_zero() -> None:
    network = nn.ModuleDict({"used": nn.Linear(3, 2), "unused": nn.Linear(3, 2)})
    x = torch.randn(4, 3)
    gradients = PerRecordGradients(network).gradients(lambda: nets.row_losses(network["used"](x)), 4)
    assert gradients["used.weight"].any()
    assert gradients["unused.weight"].shape == (4, 2, 3)
    assert not gradients["unused.weight"].any()


def test_parameters_keep_their_ordinary_gradients_and_layers_their_forward() -> None:
    network = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    x = torch.randn(5, 3)
    before = network(x)
    PerRecordGradients(network).clipped_sum(nets.losses_of(network, x), 5, 1.0)
    assert all(p.grad is None for p in network.parameters())
    assert all("forward" not in layer.__dict__ for layer in network.modules())
    assert torch.equal(network(x), before)


@pytest.mark.parametrize("make", [lambda: nn.Linear(40, 30), lambda: nn.Conv2d(32, 40, 3, padding=1), lambda: nets.Lookup(7)])
def test_a_record_without_finite_gradient_counts_as_zero(make: Callable[[], nn.Module]) -> None:
    torch.manual_seed(0)
    module = make()
    x = torch.randn(3, *{nn.Linear: (40,), nn.Conv2d: (32, 4, 4)}.get(type(module), (4,)))
    scale = torch.tensor([1.0, float("nan"), 1.0])

    def losses(chosen: torch.Tensor) -> torch.Tensor:
        return nets.row_losses(module(x[chosen])) * scale[chosen]

    ours = PerRecordGradients(module)
    clipped = ours.clipped_sum(lambda: losses(torch.tensor([0, 1, 2])), 3, 0.1)
    expected = ours.clipped_sum(lambda: losses(torch.tensor([0, 2])), 2, 0.1)
    nets.assert_close(clipped.gradients, expected.gradients, 1e-5)


def test_unknown_layers_are_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    ours = PerRecordGradients(nn.Sequential(nn.Linear(6, 6), nets.Own()))
    for _ in range(2):
        ours.clipped_sum(nets.losses_of(ours.module, torch.randn(2, 6)), 2, 1.0)
    assert [record.getMessage() for record in caplog.records] == ["1 (Own) has no rule of its own: it goes through torch.func."]


@pytest.mark.parametrize(
    ("module", "named"),
    [
        (nn.Sequential(nn.Conv2d(2, 2, 1), nn.BatchNorm2d(2)), "1 (BatchNorm2d)"),
        (nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.BatchNorm1d(2, affine=False))), "1.0 (BatchNorm1d)"),
        (nn.BatchNorm1d(4, track_running_stats=False).requires_grad_(False).eval(), "The module (BatchNorm1d)"),
        (nn.InstanceNorm2d(2, track_running_stats=True), "The module (InstanceNorm2d)"),
        (nn.Sequential(nn.Embedding(3, 2, max_norm=1.0)), "0 (Embedding with max_norm)"),
    ],
)
def test_layers_that_mix_records_are_refused_by_name(module: nn.Module, named: str) -> None:
    with pytest.raises(WorkbenchError, match=re.escape(named)):
        PerRecordGradients(module)


def test_no_rule_is_trusted_with_what_was_added_to_a_layer() -> None:
    """Neither a parameter nor a module of its own is known to the rule of a linear layer, and what they do may mix records."""
    plain, parameter, module = nn.Linear(5, 5), nn.Linear(5, 5), nn.Linear(5, 5)
    parameter.register_parameter("scale", nn.Parameter(torch.ones(5)))
    module.add_module("inner", nn.Linear(5, 5))
    assert [has_rule(layer) for layer in (plain, parameter, module)] == [True, False, False]


def test_frozen_batch_norm_is_a_fixed_map() -> None:
    network = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4).requires_grad_(False).eval())
    check(network, (4,), 3, 1, torch.float64)


def test_a_frozen_batch_norm_put_back_to_training_is_refused() -> None:
    network = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4).requires_grad_(False).eval())
    ours = PerRecordGradients(network)
    network.train()
    with pytest.raises(WorkbenchError, match="mixes the records"):
        ours.clipped_sum(nets.losses_of(network, torch.randn(3, 4)), 3, 1.0)


@pytest.mark.parametrize(
    ("network", "shape"),
    [
        (lambda: nn.Sequential(nn.Conv2d(2, 4, 3), nn.GroupNorm(2, 4), nn.ReLU(inplace=True), nn.Conv2d(4, 2, 1)), (2, 5, 5)),
        (lambda: nn.Sequential(nn.Linear(4, 6), nn.ReLU(inplace=True), nn.Linear(6, 2)), (3, 4)),
        (lambda: nn.Sequential(nets.Own(), nn.ReLU(inplace=True), nn.Linear(4, 2)), (6,)),
    ],
)
def test_what_follows_a_layer_may_change_its_output_in_place(network: Callable[[], nn.Module], shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    made = network().double()
    x = torch.randn(4, *shape, dtype=torch.float64)
    expected = nets.reference(made, x, 2)
    nets.assert_close(PerRecordGradients(made, 2).gradients(nets.losses_of(made, x), 2), expected, 1e-10)


@pytest.mark.parametrize("rows", [4, 5])
def test_a_table_is_no_record_s_however_many_rows_it_has(rows: int) -> None:
    torch.manual_seed(0)
    network = nets.WithTable().double()
    x = torch.randn(rows, 3, 6, dtype=torch.float64)
    expected = nets.reference(network, x, 1)
    nets.assert_close(PerRecordGradients(network).gradients(nets.losses_of(network, x), rows), expected, 1e-10)


def test_a_layer_inside_a_unit_and_outside_it_adds_up() -> None:
    torch.manual_seed(0)
    network = nets.InsideAndOutside().double()
    x = torch.randn(6, 6, dtype=torch.float64)
    expected = nets.reference(copy.deepcopy(network), x, 2)  # functional_call leaves a layer with two names changed
    nets.assert_close(PerRecordGradients(network, 2).gradients(nets.losses_of(network, x), 3), expected, 1e-10)


def test_an_argument_that_a_rule_does_not_know_is_refused_by_name() -> None:
    network = nets.WithOutputSize()
    with pytest.raises(WorkbenchError, match=r"one input of layer \(ConvTranspose2d\), got further arguments"):
        PerRecordGradients(network).clipped_sum(nets.losses_of(network, torch.randn(2, 2, 4, 4)), 2, 1.0)


def test_a_layer_without_a_rule_runs_in_bfloat16_too() -> None:
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(8, 8), nets.Attention())
    x = torch.randn(2, 3, 8)

    def losses() -> torch.Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            return nets.row_losses(network(x)).float()

    gradients = PerRecordGradients(network).clipped_sum(losses, 2, 1e9).gradients
    expected = PerRecordGradients(network).clipped_sum(nets.losses_of(network, x), 2, 1e9).gradients
    whole = torch.cat([value.flatten() for value in expected.values()])
    assert (torch.cat([value.flatten() for value in gradients.values()]) - whole).norm() <= 0.05 * whole.norm()


def test_wrong_shapes_are_refused_by_name() -> None:
    network = nn.Sequential(nn.Linear(4, 4))
    ours = PerRecordGradients(network, noise_multiplicity=2)
    with pytest.raises(WorkbenchError, match=r"input of 0 to have 6 rows, got shape \(5, 4\)"):
        ours.clipped_sum(nets.losses_of(network, torch.randn(5, 4)), 3, 1.0)
    with pytest.raises(WorkbenchError, match=r"one loss per row, \(6,\), got \(\)"):
        ours.clipped_sum(lambda: network(torch.randn(6, 4)).sum(), 3, 1.0)


def test_channels_last_gives_the_same() -> None:
    torch.manual_seed(0)
    network = nn.Sequential(nn.Conv2d(3, 8, 3), nn.GroupNorm(2, 8), nn.SiLU(), nn.Conv2d(8, 4, 1), nn.Conv2d(4, 4, 3))
    x = torch.randn(6, 3, 24, 24)
    expected = nets.reference(network, x, 2)
    network.to(memory_format=torch.channels_last)
    x = x.to(memory_format=torch.channels_last)
    nets.assert_close(PerRecordGradients(network, 2).gradients(nets.losses_of(network, x), 3), expected, 1e-5)


@pytest.mark.parametrize("name", ["linear, tokens, deferred", "conv2d, deferred"])
def test_nothing_is_deferred_where_products_are_rounded_more_than_their_operands(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make, shape = LAYERS[name]
    layer = make()
    kept = torch.get_float32_matmul_precision()
    deferred: list[bool] = []
    monkeypatch.setattr(Pass, "add", lambda _self, _parameter, gradient: deferred.append(isinstance(gradient, DeferredGradient)))
    try:
        for precision in ("highest", "high"):
            torch.set_float32_matmul_precision(precision)
            PerRecordGradients(layer).clipped_sum(nets.losses_of(layer, torch.randn(3, *shape)), 3, 1.0)
    finally:
        torch.set_float32_matmul_precision(kept)
    assert deferred == [False, True, False, False]  # bias and weight


@pytest.mark.parametrize(("precision", "exact"), [("float32", True), ("tf32", False), ("bfloat16", True)])
def test_a_fit_on_a_gpu_rounds_no_product_but_a_convolution_s_by_tf32(precision: Any, exact: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = torch.device("cuda")
    monkeypatch.setattr(PerformanceSettings, "torch_device", lambda _self: gpu)
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", exact)
    torch.set_float32_matmul_precision("high")
    try:
        State(datasets.facts("digits"), Randomness.from_seed(0), PerformanceSettings(precision=precision))
        assert multiplies_exactly(gpu) == exact
        assert torch.get_float32_matmul_precision() == "highest", "clipped gradients are summed by a matrix product"
    finally:
        torch.set_float32_matmul_precision("highest")


def test_a_replaced_forward_is_refused() -> None:
    network = nn.Sequential(nn.Linear(3, 3))
    network[0].forward = torch.tanh
    with pytest.raises(WorkbenchError, match="0 has had its forward replaced"):
        PerRecordGradients(network)


def test_bfloat16_passes_leave_norms_and_sums_in_float32() -> None:
    torch.manual_seed(0)
    network = nn.Sequential(nn.Conv2d(2, 32, 3, padding=1), nn.GroupNorm(4, 32), nn.SiLU(), nn.Conv2d(32, 32, 3, padding=1))
    x = torch.randn(4, 2, 4, 4)

    def losses() -> torch.Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            return nets.row_losses(network(x).float())

    clipped = PerRecordGradients(network).clipped_sum(losses, 4, 1e9)
    exact = PerRecordGradients(network).clipped_sum(nets.losses_of(network, x), 4, 1e9)
    assert clipped.norms.dtype == torch.float32
    assert {value.dtype for value in clipped.gradients.values()} == {torch.float32}
    nets.assert_close(clipped.gradients, exact.gradients, 0.05)


@pytest.mark.parametrize("values", [1, 511, 512, 513, 1_600_003])
def test_norms_are_right_whatever_the_number_of_entries(values: int) -> None:
    """A float32 sum over millions of equal entries falls short by a thousandth: the record would be clipped to more than C."""
    gradient = torch.full((2, values), 0.37)
    gradient[1] = torch.linspace(-1, 1, values)
    exact = gradient.double().square().sum(1)
    assert squared_norms(gradient).tolist() == pytest.approx(exact.tolist(), rel=2e-5)
    clipped, norms = clip({(p := nn.Parameter(torch.zeros(values))): StoredGradient(gradient[:1].clone())}, 0.01)
    assert float(clipped[p].double().norm()) <= 0.01 * (1 + 1e-5)
    assert norms.dtype == torch.float32
