"""Two processes that share each batch end at the model of one process, with the noise of one."""

import os
from pathlib import Path

import pytest
import torch
from support.quick import QUICK
from torch import Tensor, multiprocessing, nn
from torch import distributed as dist

from workbench import experiment
from workbench.errors import WorkbenchError
from workbench.training.distributed import check_same_key, share_of, shared_randomness, sum_over_ranks
from workbench.training.poisson import poisson_batch
from workbench.training.private_step import PrivateStep
from workbench.training.randomness import Randomness
from workbench.training.row_losses import RowLosses
from workbench.training.state import PerformanceSettings

STEPS = 4
NOISE_MULTIPLIERS = (0.0, 2.0)


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
        loss = RowLosses(
            network,
            (images[batch],),
            lambda part: (part.normal((1, 5, 5)),),
            lambda image, noise: (image + noise,),
            lambda output, _image, noise: (output - noise).square().flatten(1).mean(1),
        )
        losses.append(stepper.step(step, batch, loss))
    return torch.cat([p.detach().flatten() for p in network.parameters()]), losses


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What two processes that meet once write down: of a few steps, of their keys, of a whole fit."""
    folder = tmp_path_factory.mktemp("ranks")
    multiprocessing.spawn(work, args=(str(folder),), nprocs=2)
    return folder


def work(rank: int, folder: str) -> None:
    """One process of two."""
    torch.set_num_threads(1)
    os.environ |= {"GLOO_SOCKET_IFNAME": "lo", "WORKBENCH_HOME": f"{folder}/home"}
    dist.init_process_group("gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2)
    assert dist.group.WORLD is not None
    for noise_multiplier in NOISE_MULTIPLIERS:
        torch.save(train(dist.group.WORLD, noise_multiplier), f"{folder}/steps-{noise_multiplier}-{rank}.pt")
    note_keys(rank, folder, dist.group.WORLD)
    fit_shared(rank, folder, dist.group.WORLD)
    dist.destroy_process_group()


@pytest.mark.parametrize("noise_multiplier", NOISE_MULTIPLIERS)
def test_two_processes_make_the_model_of_one(shared: Path, noise_multiplier: float) -> None:
    (first, first_losses), (second, second_losses) = (torch.load(shared / f"steps-{noise_multiplier}-{rank}.pt") for rank in (0, 1))
    alone, losses = train(None, noise_multiplier)
    assert torch.equal(first, second)
    assert first_losses == second_losses
    torch.testing.assert_close(first, alone, rtol=1e-5, atol=1e-6)
    assert first_losses[0] is None
    assert first_losses[1:] == pytest.approx(losses[1:], rel=1e-5)


def note_keys(rank: int, folder: str, group: dist.ProcessGroup) -> None:
    """What is said of a key of its own, and what is drawn by the first one's."""
    own = Randomness.fresh()
    try:
        check_same_key(own, group)
    except WorkbenchError as error:
        Path(folder, f"{rank}.txt").write_text(str(error))
    key = shared_randomness(own, group)
    check_same_key(key, group)
    torch.save(torch.from_numpy(key.stream("noise", 1).floored_normal(5)), f"{folder}/keys-{rank}.pt")


def test_ranks_must_share_the_first_one_s_key(shared: Path) -> None:
    assert all("one noise key on all 2 ranks, got 2" in (shared / f"{rank}.txt").read_text() for rank in (0, 1))
    first, second = (torch.load(shared / f"keys-{rank}.pt") for rank in (0, 1))
    assert torch.equal(first, second)


def fit_shared(rank: int, folder: str, group: dist.ProcessGroup) -> None:
    """dp-promise by the public flow, with a fresh key."""
    dataset = experiment.load("digits")
    plan = experiment.make_plan("dp-promise", dataset.facts, epsilon=10.0, settings=QUICK["dp-promise"])
    state = experiment.new_state(plan, group=group)
    steps = list(experiment.fit(plan, dataset, state))
    assert steps[-1].stage == "phase two"
    torch.save(state.part(["ema"]), f"{folder}/whole-{rank}.pt")


def test_ranks_of_a_whole_fit_end_at_one_model(shared: Path) -> None:
    first, second = (torch.load(shared / f"whole-{rank}.pt")["modules"]["ema"] for rank in (0, 1))
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_shares_are_even_and_make_up_the_batch() -> None:
    for num_records in (0, 1, 7, 12):
        shares = [share_of(num_records, rank, 3) for rank in range(3)]
        assert [position for share in shares for position in share] == list(range(num_records))
        assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_a_process_alone_sums_nothing() -> None:
    values = [torch.ones(3)]
    sum_over_ranks(values, None)
    assert values[0].tolist() == [1.0, 1.0, 1.0]
