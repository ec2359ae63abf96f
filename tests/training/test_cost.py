"""Memory is counted before it is needed, and microbatches follow from it."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from workbench.errors import WorkbenchError
from workbench.training import cost, private_step
from workbench.training.cost import MIB, PREFERRED_ROWS, check_fits, memory_limit, peak_memory, peak_of, records_at_once
from workbench.training.microbatch import Microbatch
from workbench.training.private_step import PrivateStep
from workbench.training.randomness import Randomness
from workbench.training.row_losses import RowLosses
from workbench.training.state import PerformanceSettings


def test_the_peak_counts_what_is_alive_at_once() -> None:
    def run() -> None:
        first = torch.ones(1000)
        second = first + 1
        del first
        third = second.view(10, 100) * 2
        del second
        third.t().contiguous()

    assert peak_of(run) == 2 * 4000
    assert peak_of(lambda: torch.ones(10).add_(1)) == 40


def test_tensors_kept_for_the_backward_pass_count() -> None:
    x = torch.ones(1000, requires_grad=True)
    assert peak_of(lambda: x.sin().cos().sum().backward()) >= 3 * 4000


def test_records_at_once_is_a_power_of_two_within_the_limit() -> None:
    settings = PerformanceSettings(device="cpu", memory_limit_mib=100)
    assert records_at_once(3 * MIB, 6 * MIB, settings, 1) == 16  # 100 / (3 x 1.3) = 25.6
    assert records_at_once(23 * MIB, 26 * MIB, settings, 1) == 16  # (100 - 20 x 1.3) / 3.9 = 18.9
    assert records_at_once(1, 2, settings, 1) == PREFERRED_ROWS["cpu"]
    assert records_at_once(1, 2, settings, 8) == PREFERRED_ROWS["cpu"] // 8
    assert records_at_once(1, 2, settings, 1000) == 1


def test_a_record_that_does_not_fit_is_refused() -> None:
    settings = PerformanceSettings(device="cpu", memory_limit_mib=100)
    with pytest.raises(WorkbenchError, match="8 rows of one record, 30 MiB more than the limit"):
        check_fits(100 * MIB, settings, 8)
    check_fits(76 * MIB, settings, 8)


def test_memory_limit_and_peak_of_the_process() -> None:
    assert memory_limit(PerformanceSettings(device="cpu", memory_limit_mib=3)) == 3 * MIB
    assert memory_limit(PerformanceSettings(device="cpu")) > 0
    assert peak_memory(torch.device("cpu")) > 10 * MIB


def stepped(memory_limit_mib: int) -> tuple[dict[str, int], Tensor, int]:
    """Microbatch sizes found, the parameters after a step of a network with wide activations, and the step's peak in bytes."""
    torch.manual_seed(0)
    network = nn.Sequential(nn.Conv2d(1, 64, 3, padding=1), nn.SiLU(), nn.Conv2d(64, 1, 3, padding=1))
    images = torch.randn(24, 1, 32, 32)
    sizes: dict[str, int] = {}
    stepper = PrivateStep(
        network,
        torch.optim.SGD(network.parameters(), lr=1.0),
        noise_multiplier=0.0,
        max_grad_norm=1.0,
        expected_batch_size=24.0,
        randomness=Randomness.from_seed(0),
        performance=PerformanceSettings(device="cpu", memory_limit_mib=memory_limit_mib),
        records_at_once=sizes,
    )

    losses = RowLosses(
        network, (images,), lambda _part: (), lambda image: (image,), lambda output, _image: output.square().flatten(1).mean(1)
    )
    peak = peak_of(lambda: stepper.step(1, np.arange(24), losses))
    return sizes, torch.cat([p.detach().flatten() for p in network.parameters()]), peak


def test_a_memory_limit_is_kept_and_changes_nothing_else() -> None:
    small, large = stepped(10), stepped(1000)
    assert (small[2] <= 10 * MIB, large[2] <= 1000 * MIB) == (True, True)
    assert small[0]["private step"] < large[0]["private step"]
    torch.testing.assert_close(small[1], large[1], rtol=1e-5, atol=1e-6)


def test_an_estimate_that_was_too_large_is_found_out_before_the_step(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = stepped(10)[0]["private step"]
    monkeypatch.setattr(private_step, "records_at_once", lambda *_: 8 * expected)
    assert stepped(10)[0]["private step"] == expected


def test_two_records_are_not_tried_where_one_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    real = Microbatch.part
    monkeypatch.setattr(Microbatch, "part", lambda self, which: sizes.append(which.stop) or real(self, which))
    monkeypatch.setattr(cost, "LIBRARY_SHARE", 10.0)
    with pytest.raises(WorkbenchError, match="1 rows of one record"):
        stepped(1)
    assert sizes == [1]
