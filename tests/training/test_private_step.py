"""The private step: what it adds, what it divides by, and that nothing about speed changes it."""

import math
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from opacus.accountants import RDPAccountant
from scipy import stats
from torch import Tensor, nn

from workbench.errors import WorkbenchError
from workbench.training.grid import Grid, gradient_grid
from workbench.training.microbatch import Microbatch
from workbench.training.per_record import PerRecordGradients
from workbench.training.private_optimizer import release_at_once
from workbench.training.private_step import PrivateStep
from workbench.training.randomness import Randomness
from workbench.training.row_losses import RowLosses
from workbench.training.state import PerformanceSettings

IMAGES = torch.randn(20, 1, 6, 6, generator=torch.Generator().manual_seed(0))


def small_network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.SiLU(), nn.Conv2d(8, 1, 3, padding=1))


def noise_and_level(part: Microbatch) -> tuple[Tensor, Tensor]:
    noise = part.normal((1, 6, 6))
    return noise, part.integers(1, 10) / 10.0 + part.uniform() + part.per_record_uniform()


def denoising(network: nn.Module, images: Tensor = IMAGES) -> RowLosses:
    """A loss that draws noise and a level per row."""
    return RowLosses(
        network,
        (images,),
        noise_and_level,
        lambda image, noise, level: (image + level.view(-1, 1, 1, 1) * noise,),
        lambda output, _image, noise, _level: (output - noise).square().flatten(1).mean(1),
    )


def private_step(network: nn.Module, *, seed: int = 1, **changes) -> PrivateStep:
    settings = {"noise_multiplier": 1.0, "max_grad_norm": 0.1, "expected_batch_size": 10.0, "noise_multiplicity": 2} | changes
    optimizer = torch.optim.SGD([p for p in network.parameters() if p.requires_grad], lr=1.0)
    return PrivateStep(network, optimizer, randomness=Randomness.from_seed(seed), **settings)


NOBODY = np.arange(0)


def flat(network: nn.Module) -> Tensor:
    return torch.cat([p.detach().flatten().double() for p in network.parameters()])


def moved(step: int, num_records: int, **changes) -> Tensor:
    """How far one step of SGD with rate 1 moves the parameters."""
    network = small_network()
    before = flat(network)
    private_step(network, **changes).step(step, np.arange(num_records), denoising(network))
    return before - flat(network)


def test_without_noise_the_step_is_the_clipped_sum_over_the_expected_batch_size() -> None:
    network = small_network()
    part = Microbatch(3, np.arange(7), np.arange(7), 2, Randomness.from_seed(1), "private step: draws", torch.device("cpu"))
    clipped = PerRecordGradients(network, 2).clipped_sum(lambda: denoising(network)(part), 7, 0.1)
    expected = torch.cat([value.flatten().double() for value in clipped.gradients.values()]) / 10.0
    torch.testing.assert_close(moved(3, 7, noise_multiplier=0.0), expected, rtol=1e-4, atol=1e-7)


def test_the_split_into_microbatches_changes_nothing() -> None:
    whole = moved(1, 9, performance=PerformanceSettings(microbatch_size=100))
    for size in (1, 4, 6):
        split = moved(1, 9, performance=PerformanceSettings(microbatch_size=size))
        assert (whole - split).norm() <= 1e-6 * whole.norm()
    assert (whole - moved(1, 9)).norm() <= 1e-6 * whole.norm()


def test_an_empty_batch_adds_noise_and_steps() -> None:
    network = small_network()
    before = flat(network)
    assert private_step(network).step(1, NOBODY, lambda part: pytest.fail("called")) is None
    change = before - flat(network)
    expected = 1.0 * 0.1 / 10.0
    assert abs(float(change.std()) / expected - 1) < 5 / math.sqrt(2 * len(change))


def test_a_batch_of_one() -> None:
    assert moved(1, 1, noise_multiplier=0.0).norm() <= 0.1 / 10.0 * 1.0001


def test_the_loss_is_the_mean_over_records() -> None:
    network = small_network()
    part = Microbatch(1, np.arange(5), np.arange(5), 2, Randomness.from_seed(1), "private step: draws", torch.device("cpu"))
    expected = float(denoising(network)(part).detach().mean())
    assert private_step(network).step(1, np.arange(5), denoising(network)) == pytest.approx(expected, rel=1e-5)


def added_noise(step: int, seed: int = 1, purpose: str = "private step", size: int = 1000) -> Tensor:
    """What an empty batch's step adds to `size`^2 parameters, before division."""
    layer = nn.Linear(size, size, bias=False)
    nn.init.zeros_(layer.weight)
    stepper = private_step(layer, seed=seed, noise_multiplier=1.5, max_grad_norm=0.2, expected_batch_size=1.0, purpose=purpose)
    stepper.step(step, NOBODY, lambda part: pytest.fail("called"))
    return -layer.weight.detach().flatten().double()


def test_the_noise_has_its_standard_deviation_and_is_white() -> None:
    noise = added_noise(1) / (1.5 * 0.2)
    count = len(noise)  # 10^6
    assert abs(float(noise.mean())) < 5 / math.sqrt(count)
    assert abs(float(noise.std()) - 1) < 5 / math.sqrt(2 * count)
    assert stats.kstest(noise.numpy(), "norm").pvalue > 1e-4
    for lag in (1, 2, 7, 1000, 4096):
        assert abs(float((noise[lag:] * noise[:-lag]).mean())) < 5 / math.sqrt(count)
    spectrum = torch.fft.rfft(noise).abs().square()[1:-1] / count  # exponential with mean 1
    assert stats.kstest(spectrum.numpy(), "expon").pvalue > 1e-4


def test_no_two_steps_runs_or_purposes_share_noise_and_a_replayed_step_repeats_its_own() -> None:
    first = added_noise(1, size=100)
    assert torch.equal(first, added_noise(1, size=100))
    for other in (added_noise(2, size=100), added_noise(1, seed=2, size=100), added_noise(1, purpose="phase two", size=100)):
        assert abs(float(torch.corrcoef(torch.stack([first, other]))[0, 1])) < 0.05
        assert len(set(first.tolist()) & set(other.tolist())) < 100  # of 10 000; float32 values meet by chance now and then


def test_the_draws_of_a_record_do_not_touch_the_noise_of_the_step() -> None:
    randomness = Randomness.from_seed(1)
    noise = randomness.stream("private step: noise", 1).floored_normal(1000)
    draws = [randomness.stream("private step: draws", 1, record).standard_normal(1000) for record in range(3)]
    for values in draws:
        assert not set(noise) & set(values)
    assert not set(draws[0]) & set(draws[1])


def test_division_by_the_realised_batch_is_a_marked_study_mode(caplog: pytest.LogCaptureFixture) -> None:
    expected = moved(1, 4, noise_multiplier=0.0)
    assert not caplog.records
    realised = moved(1, 4, noise_multiplier=0.0, division="realised")
    assert "for study only" in caplog.text
    torch.testing.assert_close(realised, expected * 10.0 / 4.0, rtol=1e-4, atol=1e-6)
    one, alone = (moved(1, 1, noise_multiplier=0.0, division=division) for division in ("expected", "realised"))
    torch.testing.assert_close(alone, one * 10.0, rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(moved(1, 0, division="realised"), moved(1, 0) * 10.0, rtol=1e-4, atol=1e-6)


def test_opacus_accountants_count_one_step_a_step() -> None:
    network = small_network()
    stepper, accountant = private_step(network), RDPAccountant()
    stepper.optimizer.attach_step_hook(accountant.get_optimizer_hook_fn(sample_rate=0.01))
    for step, num_records in ((1, 9), (2, 0), (3, 1)):
        stepper.step(step, np.arange(num_records), denoising(network))
    assert accountant.history == [(1.0, 0.01, 3)]


def test_frozen_parameters_stay_and_need_not_be_in_the_optimiser() -> None:
    network = small_network()
    network[0].requires_grad_(False)
    before = network[0].weight.clone()
    private_step(network).step(1, np.arange(5), denoising(network))
    assert torch.equal(network[0].weight, before)


def test_an_optimiser_that_leaves_parameters_out_is_refused() -> None:
    network = small_network()
    optimizer = torch.optim.SGD(network[0].parameters(), lr=1.0)
    settings = {"noise_multiplier": 1.0, "max_grad_norm": 0.1, "expected_batch_size": 10.0}
    with pytest.raises(WorkbenchError, match="6 trainable parameters, got 2 of which 2"):
        PrivateStep(network, optimizer, randomness=Randomness.fresh(), **settings)


@pytest.mark.parametrize("changes", [{"noise_multiplier": -1.0}, {"max_grad_norm": 0.0}, {"expected_batch_size": 0.0}])
def test_impossible_settings_are_refused(changes: dict[str, float]) -> None:
    with pytest.raises(WorkbenchError, match=next(iter(changes))):
        private_step(small_network(), **changes)


class UsesWeightOutside(nn.Module):
    """A convolution whose weight is used without it: only the backward pass tells, and the losses are asked again."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Conv2d(1, 1, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x) * self.layer.weight.sum()


@pytest.mark.parametrize("microbatch_size", [0, 16])
def test_losses_that_are_asked_again_draw_the_same(microbatch_size: int) -> None:
    settings = {"noise_multiplier": 0.0, "performance": PerformanceSettings(microbatch_size=microbatch_size)}
    torch.manual_seed(0)
    network, twin = UsesWeightOutside(), UsesWeightOutside()
    twin.load_state_dict(network.state_dict())
    known = private_step(network, **settings)
    known.step(1, np.arange(5), denoising(network))  # from here on the weight is known to be used outside
    network.load_state_dict(twin.state_dict())
    known.step(2, np.arange(5), denoising(network))
    before = flat(twin)
    private_step(twin, **settings).step(2, np.arange(5), denoising(twin))
    torch.testing.assert_close(flat(network), flat(twin), rtol=0.0, atol=1e-6)  # known at once or not, sums are rounded in another order
    other = UsesWeightOutside()
    other.load_state_dict({"layer.weight": before[:9].view(1, 1, 3, 3), "layer.bias": before[9:]})
    private_step(other, **settings).step(3, np.arange(5), denoising(other))
    assert (flat(other) - flat(twin)).abs().max() > 1e-4  # what other draws would change


def test_adam_follows_the_same_gradients() -> None:
    network, twin = small_network(), small_network()
    adam = torch.optim.Adam(network.parameters(), lr=0.01)
    stepper = PrivateStep(
        network,
        adam,
        noise_multiplier=1.0,
        max_grad_norm=0.1,
        expected_batch_size=10.0,
        randomness=Randomness.from_seed(1),
        noise_multiplicity=2,
    )
    stepper.step(1, np.arange(5), denoising(network))
    change = moved(1, 5)
    by_hand = torch.optim.Adam(twin.parameters(), lr=0.01)
    for parameter, gradient in zip(twin.parameters(), change.split([p.numel() for p in twin.parameters()]), strict=True):
        parameter.grad = gradient.float().view_as(parameter)
    by_hand.step()
    assert (flat(network) - flat(twin)).norm() < 1e-4


def test_a_record_made_null_leaves_the_draws_of_all_others() -> None:
    """What follows it in the batch moved by 6.6 C when draws went by the position; the sum moves by C at most (plus rounding)."""
    images = torch.linspace(-1, 1, 12 * 36).view(12, 1, 6, 6)

    def total(places: np.ndarray) -> Tensor:
        network = small_network()
        before = flat(network)
        stepper = private_step(network, noise_multiplier=0.0, max_grad_norm=0.01, expected_batch_size=1.0)
        losses = RowLosses(
            network,
            (images[torch.from_numpy(places)],),
            lambda part: (part.normal((1, 6, 6)),),
            lambda image, noise: (image + noise,),
            lambda output, _image, noise: (output - noise).square().flatten(1).mean(1),
        )
        stepper.step(1, places, losses)
        return before - flat(network)

    batch = np.array([0, 2, 3, 5, 7, 8, 9, 11])
    for gone in batch:
        moved = float((total(batch) - total(batch[batch != gone])).norm())
        assert 0 < moved <= 0.01 * (1 + 1e-3)
    alone = sum(total(np.array([place])) for place in batch)
    torch.testing.assert_close(total(batch), alone, rtol=1e-3, atol=1e-6)


def test_a_record_is_in_a_batch_once() -> None:
    with pytest.raises(WorkbenchError, match="once in a batch, got one twice"):
        private_step(small_network()).step(1, np.array([3, 3]), denoising(small_network()))


def test_the_noisy_sum_lies_on_the_grid() -> None:
    """Every released number is a whole number of the grid's steps, rounded to a float: nothing of the sum is in its last bits."""
    network = small_network()
    stepper = private_step(network, noise_multiplier=1.5, max_grad_norm=0.2, expected_batch_size=1.0)
    sums = [torch.randn_like(p) for p in network.parameters()]
    for parameter, value in zip(network.parameters(), sums, strict=True):
        parameter.grad = value.clone()
    stepper.optimizer.add_noise()
    released = torch.cat([p.grad.flatten() for p in network.parameters() if p.grad is not None])
    grid = gradient_grid(1.5, 0.2, 1.0, released.numel())
    steps = np.rint(released.double().numpy() / grid.spacing)
    assert np.array_equal((steps * grid.spacing).astype(np.float32), released.numpy())
    stream = stepper.randomness.stream("private step: noise", 0)
    noise = [stream.floored_normal(tuple(value.shape), grid.bits) for value in sums]
    expected = [grid.values(grid.rounded(value.double().numpy()) + drawn) for value, drawn in zip(sums, noise, strict=True)]
    assert np.array_equal(np.concatenate([value.ravel() for value in expected]).astype(np.float32), released.numpy())


def test_noise_drawn_ahead_in_a_thread_and_moved_at_once_is_the_same_to_the_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU, whose device is all that differs: the draws of another step or none ahead change nothing."""

    def after(ahead: tuple[int, ...], at_once: bool) -> Tensor:
        network = small_network()
        step = private_step(network)
        if at_once:
            monkeypatch.setattr(step.optimizer, "_release", lambda sums: release_at_once(sums, *_drawn(step, sums)))
        for number in (1, 2):
            if number in ahead:
                step.optimizer.draw_ahead(number)
            step.step(number, np.arange(6), denoising(network))
        return flat(network)

    alone = after((), at_once=False)
    for ahead in ((1, 2), (2,)):
        for at_once in (False, True):
            assert torch.equal(after(ahead, at_once), alone)


def _drawn(step: PrivateStep, sums: list[Tensor]) -> tuple[Iterator[np.ndarray], Grid]:
    optimizer = step.optimizer
    grid = gradient_grid(optimizer.noise_multiplier, optimizer.max_grad_norm, optimizer.summed, sum(value.numel() for value in sums))
    return optimizer._noise([tuple(value.shape) for value in sums], grid.bits), grid
