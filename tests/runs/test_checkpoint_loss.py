"""A checkpoint that is damaged or gone, with the ledger or without it: the run goes on from the one before, and nothing is counted less."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from runs.test_fitting import Crashed, assert_same_model, counts, crash, key_of, work_again
from support.homes import here
from support.odd_methods import join_registry, odd
from support.quick import quick_plan

from workbench.plan import Plan
from workbench.runs import fitting, housekeeping
from workbench.runs.folder import RunFolder
from workbench.runs.run import Run
from workbench.runs.store import RunStore
from workbench.tasks import worker
from workbench.training import checkpoints
from workbench.training.checkpoint_files import ERASING, PREVIOUS, WRITTEN, beside
from workbench.training.private_step import PrivateStep
from workbench.training.state import load_saved

Make = Callable[..., Run]
ALL = {"student": (3, 0), "critic": (4, 0)}


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> Plan:
    """Seven paid steps of two stages in turns, with a checkpoint after each."""
    join_registry(monkeypatch)
    monkeypatch.setattr(fitting, "CHECKPOINT_SHARE", 0.0)
    monkeypatch.setenv("WORKBENCH_CHECKPOINT_SECONDS", "0")
    return quick_plan(odd("odd-taking-turns").name)


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def lose_ledger(home: Path) -> None:
    for path in home.glob("ledger.sqlite*"):
        path.unlink()


def killed(turns: Plan, queue: Make, monkeypatch: pytest.MonkeyPatch, **options: int) -> tuple[Run, Path]:
    """A run that was killed after five steps, and its checkpoint."""
    run = queue(turns, **options)
    crash(run, 5, monkeypatch)
    assert counts(run.id) == {"student": (2, 0), "critic": (3, 0)}
    return run, RunFolder(here(), run.id).checkpoint


def killed_again(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second attempt that is killed after its first step."""
    crash(RunStore(here()).change(run.id, {"lost"}, "started", state="starting", attempt=2, process=None), 1, monkeypatch)


@pytest.mark.parametrize("harm", [damage, Path.unlink])
def test_it_goes_on_from_the_one_before_to_the_same_bits_and_the_same_account(
    harm: Callable[[Path], None],
    turns: Plan,
    queue: Make,
    train_here: Make,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run, checkpoint = killed(turns, queue, monkeypatch, seed=5)
    harm(checkpoint)
    resumed = work_again(run.id)
    assert (resumed.state, resumed.resumed_at) == ("done", 4)
    assert counts(run.id) == ALL
    assert resumed.epsilon_spent == turns.bound.epsilon
    assert "The run goes on from the checkpoint before it." in capsys.readouterr().out
    assert_same_model(train_here(turns, seed=5), resumed)
    assert not list(checkpoint.parent.glob("checkpoint*"))


def test_elsewhere_all_steps_since_the_one_before_are_counted_again(turns: Plan, queue: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    run, checkpoint = killed(turns, queue, monkeypatch)
    damage(checkpoint)
    steps = load_saved(beside(checkpoint, PREVIOUS))["state"]["steps"]
    monkeypatch.setattr(checkpoints, "environment", lambda _performance: {"torch": "another"})
    done = work_again(run.id)
    assert counts(run.id) == {"student": (3, 2 - steps["student"]), "critic": (4, 3 - steps["critic"])}
    assert sum(again for _, again in counts(run.id).values()) > 0
    assert done.bound.epsilon == done.epsilon_spent > turns.bound.epsilon


def test_no_checkpoint_with_the_former_key_outlives_new_noise(
    turns: Plan, queue: Make, monkeypatch: pytest.MonkeyPatch, workbench_home: Path
) -> None:
    """To fall back on it would draw the same noise over other gradients."""
    run, checkpoint = killed(turns, queue, monkeypatch)
    former = key_of(run.id)
    monkeypatch.setattr(checkpoints, "environment", lambda _performance: {"torch": "another"})
    seen: list[set[str]] = []
    real = RunStore.change

    def change(store: RunStore, run_id: str, *arguments: object, **values: object) -> Run:
        seen.append({path.name for path in workbench_home.rglob("*") if path.is_file() and former.encode() in path.read_bytes()})
        return real(store, run_id, *arguments, **values)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr("workbench.runs.fitting.RunStore.change", change)  # what says that it runs, before the first step
        killed_again(run, patched)
    assert seen[-2:] == [set(), set()], "from the announcement on"
    assert key_of(run.id) != former
    assert beside(checkpoint, PREVIOUS).exists(), "after the first step there is one before again, of the new key"
    assert load_saved(beside(checkpoint, PREVIOUS))["state"]["randomness"]["key"] == key_of(run.id)


def test_where_microbatch_sizes_are_found_no_checkpoint_without_them_is_kept(
    turns: Plan, queue: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A replay might find others from another amount of free memory, and round otherwise under the same noise."""
    run = queue(quick_plan("dpdm"))
    crash(run, 4, monkeypatch)  # the last of which is the first private one
    checkpoint = RunFolder(here(), run.id).checkpoint
    sizes = load_saved(checkpoint)["state"]["records_at_once"]
    assert sizes != {}
    assert not beside(checkpoint, PREVIOUS).exists()
    killed_again(run, monkeypatch)
    assert load_saved(beside(checkpoint, PREVIOUS))["state"]["records_at_once"] == sizes


def test_noise_that_was_drawn_before_a_checkpoint_had_the_size_is_drawn_over_sums_that_are_split_alike(
    turns: Plan, queue: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after the first private step's noise, and resumed where other processes left less memory free."""
    run, whole, sizes = queue(quick_plan("dpdm")), PrivateStep.apply, dict[tuple[str, int], set[int]]()

    def apply(step: PrivateStep, number: int, num_records: int) -> None:
        noise = str(step.randomness.to_checkpoint()["key"]), number
        sizes.setdefault(noise, set()).add(step.records_at_once[step.purpose])
        whole(step, number, num_records)
        if len(sizes) == 1 and free == 4:
            raise Crashed

    monkeypatch.setattr(PrivateStep, "apply", apply)
    monkeypatch.setattr("workbench.training.private_step.records_at_once", lambda *_: free)
    free = 4
    with pytest.raises(Crashed):
        worker.main(here(), run.id)
    assert load_saved(RunFolder(here(), run.id).checkpoint)["state"]["records_at_once"] == {}
    RunStore(here()).change(run.id, {"running"}, "lost", state="lost", process=None)
    free = 2
    assert work_again(run.id).state == "done"
    assert len(sizes) > 1
    assert {frozenset(used) for used in sizes.values()} == {frozenset({4})}
    assert {again for _, again in counts(run.id).values()} == {0}


def test_of_several_processes_the_first_decides_the_size(turns: Plan, queue: Make) -> None:
    folder = RunFolder(here(), queue(turns).id)
    with ThreadPoolExecutor(8) as threads:
        sizes = set(threads.map(lambda size: folder.keep_size("one: draws/of it", size), range(1, 33)))
    assert len(sizes) == 1
    assert folder.keep_size("one: draws/of it", 64) in sizes
    assert folder.keep_size("another", 64) == 64
    assert sorted(path.name for path in folder.sizes.iterdir()) == ["another", "one%3A%20draws%2Fof%20it"]


def test_without_the_ledger_the_one_before_counts_no_less_than_was_taken(
    turns: Plan, queue: Make, monkeypatch: pytest.MonkeyPatch, workbench_home: Path
) -> None:
    run, checkpoint = killed(turns, queue, monkeypatch)
    damage(checkpoint)
    lose_ledger(workbench_home)
    killed_again(run, monkeypatch)
    assert counts(run.id) == {"student": (2, 0), "critic": (3, 0)}, "though it went on from four steps"
    assert work_again(run.id).state == "done"
    assert counts(run.id) == ALL


def test_without_the_ledger_and_elsewhere_all_that_may_have_been_taken_is_counted_again(
    turns: Plan, queue: Make, monkeypatch: pytest.MonkeyPatch, workbench_home: Path
) -> None:
    run, checkpoint = killed(turns, queue, monkeypatch)
    damage(checkpoint)
    steps = load_saved(beside(checkpoint, PREVIOUS))["state"]["steps"]
    lose_ledger(workbench_home)
    monkeypatch.setattr(checkpoints, "environment", lambda _performance: {"torch": "another"})
    assert work_again(run.id).state == "done"
    assert counts(run.id) == {"student": (3, 3 - steps["student"]), "critic": (4, 4 - steps["critic"])}


def test_without_ledger_and_checkpoints_a_run_that_had_spent_does_not_begin_anew(
    turns: Plan, queue: Make, monkeypatch: pytest.MonkeyPatch, workbench_home: Path
) -> None:
    run, _ = killed(turns, queue, monkeypatch)
    RunFolder(here(), run.id).erase_checkpoint()
    lose_ledger(workbench_home)
    failed = work_again(run.id)
    assert failed.state == "failed"
    assert "its checkpoint is gone" in str(failed.error)
    assert counts(run.id) == {"student": (2, 0), "critic": (3, 0)}, "the ledger hears of it again"


def test_a_process_whose_run_another_has_taken_over_writes_no_checkpoint(turns: Plan, queue: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    run, checkpoint = killed(turns, queue, monkeypatch)
    before = checkpoint.read_bytes()
    RunStore(here()).change(run.id, {"lost"}, "started", state="starting", attempt=7, process=None)
    attempt = fitting.FitAttempt(here(), run, fitting.Progress(), fitting.StopSignal())
    assert attempt.run() == {"state": "lost"}
    assert checkpoint.read_bytes() == before


def test_clean_takes_what_a_crash_left_of_the_key_and_nothing_that_a_run_goes_on_from(
    turns: Plan, queue: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, checkpoint = killed(turns, queue, monkeypatch)
    left = [beside(checkpoint, ending) for ending in (WRITTEN, ERASING)]
    for path in left:
        path.write_bytes(b"key")
    leftovers = housekeeping.removable(here())
    assert [one.path for one in leftovers] == left
    blocks = [path.with_name(f"{path.name} blocks") for path in left]
    for path, block in zip(left, blocks, strict=True):
        block.hardlink_to(path)
    assert housekeeping.clean(here(), leftovers) == 6
    assert [block.read_bytes() for block in blocks] == [bytes(3), bytes(3)], "overwritten"
    assert {path.name for path in checkpoint.parent.glob("*.pt*")} >= {"checkpoint.pt", "checkpoint.pt.previous"}
    RunStore(here()).change(run.id, {"lost"}, "ended", state="done")
    assert {one.path.name for one in housekeeping.removable(here())} == {"checkpoint.pt", "checkpoint.pt.previous"}
