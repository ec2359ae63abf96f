"""Networks and losses that mix records: whatever they do, one record moves an update by at most C, or the step is refused."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from workbench.errors import WorkbenchError
from workbench.networks import (
    MLP,
    ROW_BY_ROW,
    UNETS,
    Critic,
    CriticConfig,
    LowRank,
    NoisyClassifier,
    SmallCNN,
    TableDenoiser,
    TableNetworkConfig,
    UNet,
)
from workbench.networks.table_denoiser import HiddenPart
from workbench.networks.unet import AttentionBlock, ResBlock, UNetLayer
from workbench.training import private_step
from workbench.training.microbatch import Microbatch
from workbench.training.per_record import PerRecordGradients
from workbench.training.per_record.rows import CONTAINERS, ELEMENTWISE, POOLS, each_row
from workbench.training.private_step import PrivateStep, mixing_possible
from workbench.training.randomness import Randomness
from workbench.training.row_losses import RowLosses
from workbench.training.state import PerformanceSettings

RECORDS, C, DIVISOR = 9, 0.1, 10.0
IMAGES = torch.randn(RECORDS, 1, 4, 4, generator=torch.Generator().manual_seed(0))
Losses = Callable[[Microbatch], Tensor]


class ForLargeInputs(nn.Module):
    """Divides by what the largest record is, once one is large."""

    def forward(self, x: Tensor) -> Tensor:
        return x / x.abs().max() if bool(x.abs().max() > 20) else x


class FromThreeRecords(nn.Module):
    """Subtracts the batch's mean where there are three rows or more."""

    def forward(self, x: Tensor) -> Tensor:
        return x - x.mean(0) if len(x) >= 3 else x


class TrainableMixer(FromThreeRecords):
    """The same with a parameter of its own: it goes through torch.func."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) * self.scale


class Hooked(nn.Identity):
    """Not the identity that is known."""


def with_hook() -> nn.Module:
    layer = nn.Identity()
    layer.register_forward_hook(lambda _layer, _inputs, output: output - output.mean(0))
    return layer


def network(middle: nn.Module) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), middle, nn.SiLU(), nn.Conv2d(4, 1, 3, padding=1))


def by_rows(module: nn.Module, images: Tensor) -> RowLosses:
    return RowLosses(
        module,
        (images,),
        lambda part: (part.normal((1, 4, 4)),),
        lambda image, noise: (image + noise,),
        lambda output, _image, noise: (output - noise).square().flatten(1).mean(1),
    )


def less_their_mean(module: nn.Module, images: Tensor) -> Losses:
    def losses(part: Microbatch) -> Tensor:
        values = by_rows(module, images)(part)
        return 50 * (values - values.mean())

    return losses


def weighted_by_each_other(module: nn.Module, images: Tensor) -> Losses:
    """No gradient runs between rows, and yet each loss is scaled by all."""

    def losses(part: Microbatch) -> Tensor:
        values = by_rows(module, images)(part)
        return values * (values / values.sum()).detach() if len(values) > 4 else values

    return losses


def stepper_of(module: nn.Module, **changes: Any) -> PrivateStep:
    settings: dict[str, Any] = {"noise_multiplier": 0.0, "max_grad_norm": C, "expected_batch_size": DIVISOR, "noise_multiplicity": 2}
    optimizer = torch.optim.SGD([p for p in module.parameters() if p.requires_grad], lr=1.0)
    return PrivateStep(module, optimizer, randomness=Randomness.from_seed(1), **settings | changes)


def update(make: Callable[[], nn.Module], losses_of: Callable[[nn.Module, Tensor], Losses], images: Tensor, **changes: Any) -> Tensor:
    module = make()
    before = torch.cat([p.detach().flatten().double() for p in module.parameters()])
    stepper_of(module, **changes).step(1, np.arange(len(images)), losses_of(module, images))
    return before - torch.cat([p.detach().flatten().double() for p in module.parameters()])


def one_changed(size: float) -> Tensor:
    images = IMAGES.clone()
    images[-1] = size * torch.linspace(-1, 1, 16).view(1, 4, 4)
    return images


MIXING: list[tuple[Callable[[], nn.Module], Callable[[nn.Module, Tensor], Losses]]] = [
    (ForLargeInputs, by_rows),
    (FromThreeRecords, by_rows),
    (TrainableMixer, by_rows),
    (with_hook, by_rows),
    (nn.Identity, less_their_mean),
    (nn.Identity, weighted_by_each_other),
    (FromThreeRecords, less_their_mean),
]


@pytest.mark.parametrize("performance", [PerformanceSettings(device="cpu"), PerformanceSettings(device="cpu", microbatch_size=18)])
@pytest.mark.parametrize(("middle", "losses_of"), MIXING)
def test_one_record_moves_the_update_by_at_most_two_clipping_norms(
    middle: Callable[[], nn.Module], losses_of: Callable[[nn.Module, Tensor], Losses], performance: PerformanceSettings
) -> None:
    """Replacing a record takes one clipped gradient out and puts another in; removing it takes one out."""

    def moved(images: Tensor) -> Tensor:
        return update(lambda: network(middle()), losses_of, images, performance=performance)

    usual = moved(IMAGES)
    for size in (1e-3, 1e3):
        assert (moved(one_changed(size)) - usual).norm() <= 2 * C / DIVISOR * (1 + 1e-5)
        assert (moved(one_changed(size)) - moved(IMAGES[:-1])).norm() <= C / DIVISOR * (1 + 1e-5)


@pytest.mark.parametrize("microbatch_size", [0, 18])
def test_where_mixing_is_not_foreseen_a_trial_of_two_records_refuses_it(
    microbatch_size: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if the reading of the network had missed a layer; also where the number of rows is set and no memory is counted."""
    monkeypatch.setattr(private_step, "mixing_possible", lambda _gradients, _losses: None)
    module = network(nn.Identity())
    before = [p.clone() for p in module.parameters()]
    stepper = stepper_of(module, performance=PerformanceSettings(device="cpu", microbatch_size=microbatch_size))
    with pytest.raises(WorkbenchError, match="changed with the rest of the batch"):
        stepper.step(1, np.arange(RECORDS), less_their_mean(module, IMAGES))
    assert all(torch.equal(p, q) for p, q in zip(before, module.parameters(), strict=True))


def test_a_loss_that_looks_at_values_or_draws_is_refused_by_row() -> None:
    with pytest.raises(WorkbenchError, match="row by row"):
        each_row(lambda x: x if bool(x.max() > 0) else -x)(torch.ones(3, 2))
    with pytest.raises(WorkbenchError, match="row by row"):
        each_row(torch.rand_like)(torch.ones(3, 2))
    rows = torch.arange(6.0).view(3, 2)
    torch.testing.assert_close(each_row(lambda x: x - x.mean(0))(rows), torch.zeros(3, 2))


class KeepsTheMean(nn.Module):
    """Remembers what it saw before."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Tensor] = []

    def forward(self, x: Tensor) -> Tensor:
        self.seen.append(x.detach().mean())
        return x - torch.stack(self.seen).mean()


@pytest.mark.parametrize("middle", [KeepsTheMean, lambda: nn.Dropout(0.5)])
def test_what_a_record_alone_does_not_repeat_stops_the_step_before_the_release(middle: Callable[[], nn.Module]) -> None:
    module = network(middle())
    before = [p.clone() for p in module.parameters()]
    with pytest.raises(WorkbenchError, match="depend on that record"):
        stepper_of(module).step(1, np.arange(RECORDS), by_rows(module, IMAGES))
    assert all(torch.equal(p, q) for p, q in zip(before, module.parameters(), strict=True))


class LaterOn(nn.Module):
    """Starts to remember at its hundredth call."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return x * (1.0 + 0.01 * max(0, self.calls - 100))


def test_records_are_asked_again_at_random_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    module = network(LaterOn())
    stepper = stepper_of(module)
    stepper.step(1, np.arange(RECORDS), by_rows(module, IMAGES))
    records = [stepper._record_asked_again(step, RECORDS) for step in range(2, 402)]
    chosen = [record for record in records if record >= 0]
    assert 0.5 < len(chosen) / (400 * RECORDS / private_step.CHECKED_ONE_IN) < 1.5
    assert set(chosen) == set(range(RECORDS))

    def all_steps() -> None:
        for step in range(2, 402):
            stepper.step(step, np.arange(RECORDS), by_rows(module, IMAGES))

    with pytest.raises(WorkbenchError, match="depend on that record"):
        all_steps()


KNOWN_MODULES: dict[type[nn.Module], tuple[Callable[[], nn.Module], tuple[tuple[int, ...], ...]]] = {
    UNet: (lambda: UNet(UNETS["tiny"], 1, 8, 3), ((1, 8, 8), (), ())),
    UNetLayer: (lambda: UNetLayer(UNETS["tiny"], 12, 24, True), ((12, 4, 4), (48,))),
    ResBlock: (lambda: ResBlock(12, 24, 48), ((12, 4, 4), (48,))),
    AttentionBlock: (lambda: AttentionBlock(12, 1), ((12, 4, 4),)),
    LowRank: (lambda: LowRank(nn.Conv2d(12, 36, 1), 2, 3), ((12, 4, 4),)),
    SmallCNN: (lambda: SmallCNN((1, 8, 8), 3), ((1, 8, 8),)),
    MLP: (lambda: MLP((1, 8, 8), 3), ((1, 8, 8),)),
    Critic: (lambda: Critic(CriticConfig(width=4, hidden_size=8, normalization="group"), (1, 8, 8), 4), ((1, 8, 8), ())),
    NoisyClassifier: (lambda: NoisyClassifier((1, 8, 8), 2, 3), ((1, 8, 8), (), ())),
    HiddenPart: (lambda: HiddenPart(TableNetworkConfig(hidden_width=8), 6, 10), ((6,), ())),
    TableDenoiser: (lambda: TableDenoiser(TableNetworkConfig(hidden_width=8), 6, 10), ((6,), ())),
    **{kind: (kind, ((3, 4, 4),)) for kind in ELEMENTWISE},
    nn.MaxPool2d: (lambda: nn.MaxPool2d(2), ((3, 4, 4),)),
    nn.AvgPool2d: (lambda: nn.AvgPool2d(2), ((3, 4, 4),)),
    nn.AdaptiveAvgPool2d: (lambda: nn.AdaptiveAvgPool2d(2), ((3, 4, 4),)),
    nn.Upsample: (lambda: nn.Upsample(scale_factor=2), ((3, 4, 4),)),
}


@pytest.mark.parametrize("kind", sorted(ROW_BY_ROW | ELEMENTWISE | POOLS, key=lambda kind: kind.__name__))
def test_what_is_declared_row_by_row_is(kind: type[nn.Module]) -> None:
    """Other values in other rows, however large, change no bit of a row."""
    make, shapes = KNOWN_MODULES[kind]
    torch.manual_seed(0)
    module = make()
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.3)
    rows = [torch.randn(5, *shape) if shape else torch.tensor([1, 2, 3, 1, 2]) for shape in shapes]
    usual = module(*rows)
    assert usual.shape[0] == 5
    for others in (1e-3, 1e30, float("nan")):
        changed = [values.clone() for values in rows]
        for values in changed:
            values[3:] = others * values[3:] if values.is_floating_point() else 3 - values[3:]
        assert torch.equal(module(*changed)[:3], usual[:3])
    assert CONTAINERS.isdisjoint(KNOWN_MODULES)


def test_built_in_networks_share_passes_and_others_say_why_not() -> None:
    unet = UNet(UNETS["tiny"], 1, 8, 3)
    for parameter in unet.time_parameters():
        parameter.requires_grad_(False)
    assert mixing_possible(PerRecordGradients(unet), RowLosses(unet, (), lambda _: (), lambda: (), lambda _: _)) is None
    assert "function of whole microbatches" in str(mixing_possible(PerRecordGradients(unet), lambda _part: torch.zeros(())))
    assert "another network" in str(mixing_possible(PerRecordGradients(unet), by_rows(nn.Identity(), IMAGES)))
    for middle, why in [
        (FromThreeRecords(), "1 (FromThreeRecords) is not known"),
        (Hooked(), "1 (Hooked) is not known"),
        (with_hook(), "has hooks"),
        (nn.Flatten(0), "1 (Flatten) is not known"),
        (nn.Softmax(0), "1 (Softmax) is not known"),
    ]:
        assert why in str(PerRecordGradients(network(middle)).mixing_possible())
    assert PerRecordGradients(network(TrainableMixer())).mixing_possible() is None  # torch.func hands it one record


@pytest.mark.parametrize(
    ("layer", "shape"),
    [
        (nn.LayerNorm((6, 4)), (6, 4)),
        (nn.Linear(6, 4), (6,)),
        (nn.Conv2d(6, 2, 1), (6, 4, 4)),
        (nn.InstanceNorm2d(6, affine=True), (6, 4, 4)),
    ],
)
@pytest.mark.parametrize("frozen", [False, True])
def test_a_layer_never_takes_all_rows_for_one_record(layer: nn.Module, shape: tuple[int, ...], frozen: bool) -> None:
    module = nn.Sequential(layer, nn.Flatten(), nn.LazyLinear(1))
    module[2] = nn.Linear(4, 1)
    layer.requires_grad_(not frozen)
    with pytest.raises(WorkbenchError, match="all rows for one record"):
        PerRecordGradients(module).clipped_sum(lambda: module(torch.randn(shape)).flatten(), 6, 1.0)


def test_a_record_alone_gives_the_same_step_as_records_together() -> None:
    alone, together = (
        update(lambda: network(nn.Identity()), losses_of, IMAGES)
        for losses_of in (lambda module, images: lambda part: by_rows(module, images)(part), by_rows)
    )
    assert (alone - together).norm() <= 1e-6 * together.norm()
    sizes = []
    module = network(nn.Identity())
    stepper_of(module).step(1, np.arange(RECORDS), lambda part: sizes.append(len(np.unique(part.records))) or by_rows(module, IMAGES)(part))
    assert set(sizes) == {1}
