"""Two processes that share each batch end at the model of one process, with the noise of one."""

import os
from pathlib import Path

import pytest
import torch
from torch import Tensor, multiprocessing, nn
from torch import distributed as dist

from workbench.training.distributed import share_of, sum_over_ranks
from workbench.training.microbatch import Microbatch
from workbench.training.poisson import poisson_batch
from workbench.training.private_step import PrivateStep
from workbench.training.randomness import Randomness
from workbench.training.state import PerformanceSettings

STEPS = 4


def train(group: dist.ProcessGroup | None, noise_multiplier: float) -> tuple[Tensor, list[float | None]]:
    """A few steps on Poisson batches of 12 records, an empty one among them; all parameters, and the losses."""
    torch.manual_seed(0)
    network = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.GroupNorm(2, 4), nn.SiLU(), nn.Conv2d(4, 1, 3, padding=1))
    images = torch.randn(12, 1, 5, 5)
    randomness = Randomness.from_seed(5)
    stepper = PrivateStep(
        network,
        torch.optim.SGD(network.parameters(), lr=0.5),
        noise_multiplier=noise_multiplier,
        max_grad_norm=0.1,
        expected_batch_size=4.0,
        randomness=randomness,
        noise_multiplicity=2,
        performance=PerformanceSettings(microbatch_size=4),
        group=group,
    )
    losses = []
    for step in range(1, STEPS + 1):
        batch = poisson_batch(randomness, "batch", step, 12, 1 / 3 if step > 1 else 1e-9)
        chosen = images[batch]

        def loss(part: Microbatch, chosen: Tensor = chosen) -> Tensor:
            noise = part.normal((1, 5, 5))
            return (network(chosen[part.rows] + noise) - noise).square().flatten(1).mean(1)

        losses.append(stepper.step(step, len(batch), loss))
    return torch.cat([p.detach().flatten() for p in network.parameters()]), losses


def work(rank: int, folder: str, noise_multiplier: float) -> None:
    """One process of two."""
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
    torch.save(train(dist.group.WORLD, noise_multiplier), f"{folder}/{rank}.pt")
    dist.destroy_process_group()


@pytest.mark.parametrize("noise_multiplier", [0.0, 2.0])
def test_two_processes_make_the_model_of_one(tmp_path: Path, noise_multiplier: float) -> None:
    multiprocessing.spawn(work, args=(str(tmp_path), noise_multiplier), nprocs=2)
    (first, first_losses), (second, second_losses) = (torch.load(tmp_path / f"{rank}.pt") for rank in (0, 1))
    alone, losses = train(None, noise_multiplier)
    assert torch.equal(first, second)
    assert first_losses == second_losses
    torch.testing.assert_close(first, alone, rtol=1e-5, atol=1e-6)
    assert first_losses[0] is None
    assert first_losses[1:] == pytest.approx(losses[1:], rel=1e-5)


def test_shares_are_even_and_make_up_the_batch() -> None:
    for num_records in (0, 1, 7, 12):
        shares = [share_of(num_records, rank, 3) for rank in range(3)]
        assert [position for share in shares for position in share] == list(range(num_records))
        assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_a_process_alone_sums_nothing() -> None:
    values = [torch.ones(3)]
    sum_over_ranks(values, None)
    assert values[0].tolist() == [1.0, 1.0, 1.0]
