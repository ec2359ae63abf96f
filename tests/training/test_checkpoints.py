"""A resumed run goes on bit for bit, and says where it cannot."""

import os
from pathlib import Path

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_limits
from torch import Tensor, nn

from workbench.datasets.base import DatasetFacts
from workbench.errors import WorkbenchError
from workbench.networks import ExponentialMovingAverage
from workbench.records import ImageKind, Records
from workbench.training import checkpoints
from workbench.training.poisson import poisson_batch
from workbench.training.private_step import PrivateStep
from workbench.training.randomness import Randomness
from workbench.training.row_losses import RowLosses
from workbench.training.state import PerformanceSettings, State
from workbench.training_data import check_same

IMAGES = torch.randn(30, 1, 6, 6, generator=torch.Generator().manual_seed(0))


def new_state(performance: PerformanceSettings | None = None) -> State:
    torch.manual_seed(0)
    network = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.SiLU(), nn.Conv2d(8, 1, 3, padding=1))
    facts = DatasetFacts(name="made", num_records=30, kind=ImageKind(size=(1, 6, 6)))
    state = State(facts, Randomness.fresh(), performance or PerformanceSettings())
    state.modules = {"network": network, "ema": ExponentialMovingAverage(network, 0.9)}
    state.optimizers = {"private": torch.optim.Adam(network.parameters(), lr=0.01)}
    return state


def train(state: State, until: int) -> Tensor:
    """Private steps from wherever the state stands; all parameters and averages."""
    network, ema = state.modules["network"], state.modules["ema"]
    assert isinstance(ema, ExponentialMovingAverage)
    stepper = PrivateStep(
        network,
        state.optimizers["private"],
        noise_multiplier=1.0,
        max_grad_norm=0.1,
        expected_batch_size=10.0,
        randomness=state.randomness,
        noise_multiplicity=2,
        performance=state.performance,
        records_at_once=state.records_at_once,
    )
    for step in range(state.steps.get("private", 0) + 1, until + 1):
        places = poisson_batch(state.randomness, "batch", step, 30, 1 / 3)

        losses = RowLosses(
            network,
            (IMAGES[places],),
            lambda part: (part.normal((1, 6, 6)),),
            lambda image, noise: (image + noise,),
            lambda output, _image, noise: (output - noise).square().flatten(1).mean(1),
        )
        stepper.step(step, places, losses)
        ema.update(network)
        state.steps["private"] = step
    return torch.cat([p.detach().flatten() for module in (network, ema.module) for p in module.parameters()])


def test_a_resumed_run_goes_on_bit_for_bit(tmp_path: Path) -> None:
    state = new_state()
    train(state, 3)
    checkpoints.save_checkpoint(state, tmp_path / "checkpoint.pt", {"private": 2})
    expected = train(state, 7)
    resumed = new_state()
    loaded = checkpoints.load_checkpoint(resumed, tmp_path / "checkpoint.pt")
    assert (loaded.differences, loaded.damage) == ([], "")
    assert (resumed.steps, loaded.counted_again) == ({"private": 3}, {"private": 2})
    assert resumed.records_at_once == state.records_at_once != {}
    assert torch.equal(train(resumed, 7), expected)
    assert not torch.equal(train(new_state(), 7), expected)  # another key


def test_differences_of_the_environment_are_named(tmp_path: Path) -> None:
    checkpoints.save_checkpoint(new_state(), tmp_path / "checkpoint.pt")
    threads = torch.get_num_threads()
    torch.set_num_threads(threads + 1)
    try:
        other = new_state(PerformanceSettings(microbatch_size=8))
        differences = checkpoints.load_checkpoint(other, tmp_path / "checkpoint.pt").differences
    finally:
        torch.set_num_threads(threads)
    named = [f"threads: {threads} then, {threads + 1} now", "microbatch size: 0 then, 8 now"]
    assert [difference for difference in differences if not difference.startswith("arithmetic")] == named  # whose bits threads may change


def test_what_is_new_in_an_environment_is_a_difference() -> None:
    now = checkpoints.environment(new_state())
    assert checkpoints.differences(now, now) == []
    assert checkpoints.differences({}, {"torch": "2"}) == ["torch: none then, 2 now"]
    assert {"torch", "CPU capability", "threads", "microbatch size", "precision"} <= set(now)


def test_a_failed_write_leaves_the_checkpoint_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state, path = new_state(), tmp_path / "checkpoint.pt"
    checkpoints.save_checkpoint(state, path)
    before = path.read_bytes()

    def fail(value: object, file: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(torch, "save", fail)
    with pytest.raises(OSError, match="disk full"):
        checkpoints.save_checkpoint(state, path)
    assert path.read_bytes() == before


def test_every_module_that_a_step_may_go_through_is_in_the_digest() -> None:
    """All but what shows and asks, whatever folder it stands in: the private loss of `models/` was not."""
    package = Path(checkpoints.__file__).parents[1]
    names = {Path(path).relative_to(package).as_posix() for path in checkpoints.deciding_source(package)}
    assert {"models/image_diffusion.py", "training/private_step.py", "runs/fitting.py", "plan.py"} <= names
    left_out = {path.relative_to(package).as_posix() for path in package.rglob("*.py")} - names
    assert {name.split("/")[0] for name in left_out} == {"cli", "pages", "server", "ui"}


def test_a_changed_module_is_another_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("models/loss.py", "pages/page.py"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("SCALE = 1\n")
    monkeypatch.setattr(checkpoints.workbench, "__file__", str(tmp_path / "__init__.py"))

    digest = checkpoints.digest_of_source
    before = digest()
    (tmp_path / "pages/page.py").write_text("SCALE = 2\n")
    assert digest() == before
    (tmp_path / "models/loss.py").write_text("SCALE = 2\n")
    assert digest() != before


def test_a_source_that_nobody_changed_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = tmp_path / "loss.py"
    module.write_text("SCALE = 1\n")
    monkeypatch.setattr(checkpoints.workbench, "__file__", str(tmp_path / "__init__.py"))
    clock = [module.stat().st_ctime + 1]
    monkeypatch.setattr(checkpoints.time, "time", lambda: clock[0])
    read = []
    monkeypatch.setattr(Path, "read_bytes", lambda path: read.append(path) or b"")
    for seconds, times in ((1, 1), (1, 2), (3, 3), (3, 3)):  # one second after its change, the next one might still get the same time
        clock[0] = module.stat().st_ctime + seconds
        checkpoints.digest_of_source()
        assert len(read) == times
    os.utime(module, (0, 0))  # the time of the last writing can be set back, that of the last change cannot
    clock[0] = module.stat().st_ctime + 3
    checkpoints.digest_of_source()
    assert len(read) == 4


def test_a_source_that_was_changed_since_the_process_began_is_that_of_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert checkpoints.source_digest() == checkpoints.AT_START
    monkeypatch.setattr(checkpoints.workbench, "__file__", str(tmp_path / "__init__.py"))
    (tmp_path / "loss.py").write_text("SCALE = 2\n")
    assert checkpoints.source_digest() not in (checkpoints.AT_START, checkpoints.digest_of_source())


def test_what_numpy_multiplies_by_and_asked_of_it_are_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    before = checkpoints.environment(new_state())
    with threadpool_limits(1, "blas"):
        one = checkpoints.environment(new_state())["math libraries"]
    with threadpool_limits(2, "blas"):
        two = checkpoints.environment(new_state())["math libraries"]
    assert one != two
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    after = checkpoints.environment(new_state())
    assert [name for name in before if before[name] != after[name]] == ["math libraries"]
    (library,) = checkpoints.linear_algebra()
    assert library.split()[0] in ("openblas", "mkl", "blis")


def test_others_than_the_public_records_that_a_fit_began_with_are_refused() -> None:
    state, public = new_state(), Records(np.arange(12, dtype=np.uint8).reshape(3, 1, 2, 2), np.arange(3))
    check_same(state, public)
    for records, labels in ((public.records[::-1], public.labels), (public.records, np.zeros(3, dtype=np.int64)), (public.records, None)):
        later = new_state()
        later.restore(state.checkpoint())
        with pytest.raises(WorkbenchError, match="Expected the public images that this run began with"):
            check_same(later, Records(records, labels))
        check_same(later, public)
