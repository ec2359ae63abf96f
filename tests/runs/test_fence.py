"""The fence of a run, line by line: whoever is behind it charges what it may have taken, draws no more, and writes nothing."""

# pyright: reportPrivateUsage=false

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.homes import here
from support.launchers import KilledError, Line, Nowhere, after_step, kill

from workbench import experiment, runs
from workbench.jobs.away import sending
from workbench.jobs.away.order import Order, end_order
from workbench.jobs.away.post import Post
from workbench.jobs.launchers import LAUNCHERS, Status
from workbench.privacy.spending.journals import journal_path, new_journal
from workbench.privacy.spending.ledger import Ledger
from workbench.runs.folder import RunFolder
from workbench.runs.run import Run
from workbench.runs.store import RunStore

Make = Callable[..., Run]


@pytest.fixture
def run(sent: Make) -> Run:
    """Unseeded, in the line of an engine."""
    return sent("nonprivate", seed=None)


def now(run: Run) -> Run:
    return RunStore(here()).get(run.id)


def away(run: Run) -> Path:
    return RunFolder(here(), run.id).path / "away"


def written(run: Run) -> dict[str, bytes]:
    """The files of a run that a process behind the fence leaves as they are."""
    path = RunFolder(here(), run.id).path
    return {file.name: file.read_bytes() for file in path.iterdir() if file.name in ("checkpoint.pt", "model.pt", "metrics.jsonl")}


def orphaned(run: Run, line: Line, monkeypatch: pytest.MonkeyPatch) -> Post:
    """The post of a process that lives on, of whose end an engine speaks; the home could not write to the folder when it heard."""
    after_step(3, kill, monkeypatch)
    with pytest.raises(KilledError):
        line.do()

    def refused(_folder: Path) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(sending, "end_order", refused)
        assert now(run).state == "lost"
    left = Post(away(run), 1, 1)
    assert not left.is_taken_over(), "nobody could tell it"
    return left


def test_everything_that_stops_a_process(run: Run) -> None:
    post, order = Post.take(away(run), 1), away(run) / "order.json"
    whole = order.read_text()
    assert not post.is_taken_over()
    Order.read(away(run)).model_copy(update={"attempt": 2}).write(away(run))
    assert post.is_taken_over(), "another attempt"
    order.write_text(whole)
    assert not post.is_taken_over()
    for damage in ("", "{}", '{"attempt": 1}'):
        order.write_text(damage)
        assert post.is_taken_over(), "nothing can be read"
    order.unlink()
    assert post.is_taken_over()
    order.write_text(whole)
    end_order(away(run))
    assert post.is_taken_over(), "it has ended"
    order.write_text(whole)
    Post.take(away(run), 1)
    assert post.is_taken_over(), "another has the lease"


@pytest.mark.parametrize("step", [3, 6])
def test_a_process_that_is_left_behind_after_a_step_writes_nothing_of_it(
    step: int, run: Run, line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the last step, that is the model."""
    whole, before = experiment.fit, dict[str, bytes]()
    assert run.steps == 6

    def fit(*args: Any) -> Iterator[Any]:
        for taken, one in enumerate(whole(*args), 1):
            if taken == step:
                before.update(written(run))
                Post.take(away(run), 1)
            yield one

    monkeypatch.setattr(experiment, "fit", fit)
    line.do()
    after = written(run)
    assert set(after) == {"checkpoint.pt", "metrics.jsonl"}
    assert after["checkpoint.pt"] == before["checkpoint.pt"]


def test_a_process_that_is_left_behind_with_all_its_steps_writes_no_model(run: Run, line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    after_step(run.steps, lambda: Post.take(away(run), 1), monkeypatch)
    line.do()
    assert "model.pt" not in written(run)


def test_an_attempt_stops_whoever_is_left_before_it_moves_the_folder(
    run: Run, line: Line, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    left, move, seen = orphaned(run, line, monkeypatch), sending.share_folder, list[bool]()

    def share(folder: Path) -> None:
        seen.append(left.is_taken_over())
        move(folder)

    monkeypatch.setattr(sending, "share_folder", share)
    monkeypatch.setenv("WORKBENCH_SHARED", str(tmp_path / "shared"))
    runs.resume(here(), run.id)
    assert seen == [True]


def test_a_deletion_stops_whoever_is_left_before_it_counts(run: Run, line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    left, closes, seen = orphaned(run, line, monkeypatch), Ledger.close_run, list[bool]()

    def close(ledger: Ledger, run_id: str) -> None:
        seen.append(left.is_taken_over())
        closes(ledger, run_id)

    left.journal.charge("", "training", 0, 5)
    monkeypatch.setattr(Ledger, "close_run", close)
    runs.delete(here(), run.id)
    assert seen == [True]
    assert Ledger(here().ledger).spent(run.id)[-1].charged == 5


def test_an_order_whose_job_could_not_be_started_has_ended(sent: Make, line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError(11, "No process")

    monkeypatch.setattr(line, "start", refused)
    run = sent("nonprivate")
    assert now(run).state == "failed"
    assert Order.read(away(run)) == Order(attempt=1, ended=True)


def test_an_order_for_this_machine_has_no_key(run: Run, line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LAUNCHERS, "inside", Nowhere())
    line.said[f"{run.id}.1"] = Status("ended")
    assert now(run).state == "lost"
    runs.resume(here(), run.id, at_once=True, on="inside")
    order = Order.read(away(run))
    assert (order.attempt, order.ended, order.key) == (2, False, "")


def test_the_bound_of_a_run_covers_what_was_drawn_beside_it(sent: Make, line: Line) -> None:
    run = sent()
    (stage,) = (stage.name for stage in run.plan.stages if stage.spent != "free")
    assert line.do() == 0
    Post(away(run), new_journal(away(run)), 1).journal.charge("of another process", stage, 0, 1)
    done = now(run)
    assert done.state == "done"
    assert done.bound.epsilon == done.epsilon_spent > run.plan.bound.epsilon


def test_a_process_begins_with_the_most_that_others_may_have_taken(run: Run) -> None:
    post = Post.take(away(run), 1)
    post.journal.charge("one", "training", 0, 2)
    assert post.begin() == {"training": (2, 0)}
    journal_path(away(run), 1).write_text("damaged\n")
    assert post.begin() == {"training": (run.steps, 0)}


def test_half_a_copy_of_a_crash_is_not_gone_on_with(run: Run, line: Line, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    line.said[f"{run.id}.1"] = Status("ended")
    assert now(run).state == "lost"
    monkeypatch.setenv("WORKBENCH_SHARED", str(tmp_path / "shared"))
    half, rename = tmp_path / "shared" / f".{run.id}.moving", os.rename
    half.mkdir(parents=True)
    (half / "checkpoint.pt").write_text("half")

    def refused(source: Any, target: Any) -> None:
        if Path(source) == here().runs / run.id:
            raise OSError(18, "Invalid cross-device link")
        rename(source, target)

    monkeypatch.setattr(os, "rename", refused)
    runs.resume(here(), run.id)
    assert now(run).state == "pending"
    assert not half.exists()
    assert not (tmp_path / "shared" / run.id / "checkpoint.pt").exists()


def test_a_run_whose_ledger_is_lost_opens_its_account_before_it_is_sent(run: Run, line: Line) -> None:
    line.said[f"{run.id}.1"] = Status("ended")
    assert now(run).state == "lost"
    here().ledger.unlink()
    shutil.rmtree(away(run))
    runs.resume(here(), run.id)
    assert now(run).state == "pending"
    assert line.do(line.waiting[-1]) == 0
    assert now(run).state == "done"
    assert Ledger(here().ledger).spent(run.id)[-1].charged == run.steps
