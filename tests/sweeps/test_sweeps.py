"""Sweeps from their price to their table: what is done is skipped, what failed is tried again, nothing is started twice."""

import json
import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.homes import here
from support.launchers import Here, Line, Nowhere
from support.quick import QUICK

import workbench
from workbench.cli import main
from workbench.errors import WorkbenchError
from workbench.jobs import control
from workbench.jobs.heartbeat import StoppedError, StopSignal
from workbench.jobs.launchers import LAUNCHERS, Resources
from workbench.jobs.lifecycle import Jobs
from workbench.jobs.queue import orders, passing
from workbench.measured import WRITTEN
from workbench.privacy.spending.ledger import Ledger
from workbench.recipes.lines import Recipe, load_recipe
from workbench.recipes.reproducing import reproduce
from workbench.runs.fitting import FitAttempt
from workbench.runs.homes import set_read_only
from workbench.runs.lengths import lengths
from workbench.runs.store import RunStore
from workbench.sweeps import children
from workbench.sweeps.children import SweepAttempt
from workbench.sweeps.kept import KeptSweep
from workbench.sweeps.price import price
from workbench.tasks import sweeping
from workbench.tasks.sweeping import Sweep

TABLE, MEASURE = "breast-cancer", "two_way_marginals"
PATIENCE = 120.0


def small(*epsilons: float, **given: Any) -> Sweep:
    """Runs of a second on a small table, drawn and measured by one measure."""
    values: dict[str, Any] = {"metrics": [MEASURE], "num_samples": 50, "performance": {"device": "cpu", "num_threads": 1}}
    return workbench.sweep("independent-marginals", TABLE, epsilons or (1.0, 10.0), **values | given)


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs are done by the worker's own code, in the test's process."""
    monkeypatch.setitem(LAUNCHERS, "local", Here())


@pytest.mark.usefixtures("in_this_process")
def test_a_sweep_is_priced_carried_out_and_asked_again_does_nothing_twice(tmp_path: Path) -> None:
    sweep = small(seeds=2)
    before = sweep.price
    assert (before.runs, before.new, before.done, before.spends, before.seeded) == (4, 4, 0, True, True)
    assert sweep.frame().empty
    sweep.wait()
    ran = RunStore(here()).list()
    assert {(run.plan.target_epsilon, run.seed, run.state) for run in ran} == {(e, s, "done") for e in (1.0, 10.0) for s in (0, 1)}
    frame = sweep.frame()
    assert list(frame.columns) == ["asked_epsilon", *WRITTEN]
    assert list(zip(frame.asked_epsilon, frame.seed, frame.measure, strict=True)) == [(e, s, MEASURE) for e in (1, 10) for s in (0, 1)]
    table = sweep.table()
    assert [(row["line"], row["runs"]) for row in table] == [(line.name, 2) for line in sweep.recipe.runs]
    assert all(row["spread"] is not None and row["ceiling"] is not None and row["epsilon 0"] is not None for row in table)
    assert sweep.picture(tmp_path / "picture.png").stat().st_size > 0

    job = sweep.job
    assert job is not None
    assert lengths(here())(job) is None  # another sweep takes as long as its own runs
    once_more = small(seeds=2)
    again = once_more.price
    assert (again.new, again.done, again.spends, again.seconds) == (0, 4, False, 0.0)
    assert again.account.epsilon == before.account.epsilon == Ledger(here().ledger).total(TABLE, delta=before.account.delta).epsilon
    jobs = len(Jobs(here()).all())
    once_more.begin()
    assert once_more.wait().id == sweep.id
    assert (len(RunStore(here()).list()), len(Jobs(here()).all())) == (4, jobs)

    wider = small(1.0, 5.0, 10.0, seeds=2)
    assert (wider.price.new, wider.price.done) == (2, 4)
    assert wider.id != sweep.id


@pytest.mark.usefixtures("in_this_process")
def test_a_sweep_written_as_a_recipe_is_reproduced_from_its_own_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "recipe.json"
    sweep = small(1.0, repeats=2).wait()
    command = [
        "sweep",
        "independent-marginals",
        "--dataset",
        TABLE,
        "--epsilons",
        "1",
        "--repeats",
        "2",
        "--metrics",
        MEASURE,
        "--num",
        "50",
    ]
    speed = ["--device", "cpu", "--performance", "num_threads=1"]
    with pytest.raises(SystemExit, match="0"):
        main([*command, *speed, "--out", str(path), "--dry-run", "--json"])
    assert json.loads(capsys.readouterr().out)["done"] == 2
    made = list(reproduce(load_recipe(str(path)), here(), reuse=True))
    assert [result["run"] for result in made] == [result["run"] for result in sweep.results]
    with pytest.raises(SystemExit, match="0"):
        main(["sweeps", sweep.id, "--out", str(tmp_path / "results.json"), "--json"])
    assert json.loads(capsys.readouterr().out)["measured"] == "2 of 2"
    assert (tmp_path / "results.md").read_text().count("independent-marginals, epsilon 1") == 1
    assert (tmp_path / "results.png").exists()
    with pytest.raises(SystemExit, match="0"):
        main(["sweeps", sweep.id, "--forget"])
    assert (KeptSweep.all(here()), sweep.job, len(RunStore(here()).list())) == ([], None, 2)


@pytest.mark.usefixtures("in_this_process")
def test_runs_without_seeds_are_taken_each_once() -> None:
    """One that another sweep has trained spares the next one a run, and one run is no spread."""
    (first,) = small(1.0).wait().results
    sweep = small(1.0, repeats=3)
    assert (sweep.price.new, sweep.price.done) == (2, 1)
    run_ids = [result["run"] for result in sweep.wait().results]
    assert len(set(run_ids)) == len(RunStore(here()).list()) == 3
    assert first["run"] in run_ids


@pytest.mark.usefixtures("in_this_process")
def test_runs_of_a_sweep_train_where_it_says_and_are_measured_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LAUNCHERS, "engine", Here())
    sweep = small(seeds=1)
    sweep.begin(on="engine", resources=Resources(minutes=5))
    assert len(sweep.wait().results) == 2
    assert {(job.launcher, job.terms.asked.minutes) for job in Jobs(here()).all() if job.task == "train"} == {("engine", 5)}
    assert {job.launcher for job in Jobs(here()).all() if not job.terms.trains} == {"local"}
    sweep.begin()
    assert KeptSweep.keep(here(), sweep.recipe).launcher()["on"] == "local", "as it was asked last"


@pytest.mark.usefixtures("in_this_process")
def test_an_engine_is_asked_once_for_all_runs_of_a_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, questions = Line(), []
    monkeypatch.setitem(LAUNCHERS, "engine", engine)
    monkeypatch.setattr(passing, "ensure_process", lambda _workspace: None)

    def do_one(_seconds: float) -> None:
        questions.append(engine.asked)
        if engine.waiting:
            engine.do()
        engine.asked = 0

    monkeypatch.setattr(children, "time", SimpleNamespace(sleep=do_one))
    sweep = small(seeds=3)
    assert len(sweep.recipe.seeded_runs) == 6
    sweep.begin(on="engine")
    assert len(sweep.results) == 6
    assert max(questions[1:]) <= 4, "a look at all runs, the begin of a measure, and the queue: no question a run"


@pytest.mark.usefixtures("in_this_process")
def test_a_recipe_is_carried_out_as_a_sweep(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe, file = small(seeds=2).recipe, tmp_path / "recipe.json"
    file.write_text(recipe.model_dump_json(exclude_defaults=True))
    with pytest.raises(SystemExit) as ended:
        main(["sweep", "--recipe", str(file), "--yes", "--wait"])
    assert ended.value.code == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == {"sweep": small(seeds=2).id}, "the same as a sweep that asks for it"
    assert len(small(seeds=2).results) == 4
    for more in (["mst"], ["--seeds", "2"], ["--delta", "0.1"], ["--dataset", TABLE], ["--title", "Mine"]):
        with pytest.raises(SystemExit) as ended:
            main(["sweep", "--recipe", str(file), "--dry-run", *more])
        assert ended.value.code == 2
        assert "Give --recipe, or METHODs" in capsys.readouterr().err
    other = recipe.model_copy(update={"runs": (*recipe.runs, recipe.runs[0].model_copy(update={"name": "other", "dataset": "digits"}))})
    with pytest.raises(
        WorkbenchError, match=r"Expected lines of one dataset, read in one way, got breast-cancer .* and digits for 'other'"
    ):
        price(here(), other)


@pytest.mark.usefixtures("in_this_process")
def test_a_line_that_asks_of_records_is_answered_without_a_measure_of_samples() -> None:
    asks = {"probe": {"asks": "leakage", "draws": 40}, "metrics": ["log10_median_delta"]}
    line = {"name": "shown", "method": "ddm", "dataset": "patients", "settings": QUICK["ddm"], "seeds": [1], **asks}
    sweep = Sweep(here(), Recipe.model_validate({"title": "What samples show", "runs": [line]}))
    assert (sweep.price.new, sweep.price.reading) == (1, ())
    (result,) = sweep.wait().results
    assert [one["name"] for one in result["evaluation"]["results"]] == ["log10_median_delta"]
    assert [job.task for job in Jobs(here()).all() if job.task == "evaluate"] == []


def test_devices_that_this_machine_lacks_are_those_of_an_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LAUNCHERS, "engine", Line())
    recipe = small(performance={"device": "cuda:63"}).recipe
    with pytest.raises(WorkbenchError, match="cuda"):
        price(here(), recipe)
    assert price(here(), recipe, "engine").new == 2


@pytest.mark.usefixtures("in_this_process")
def test_a_failed_run_stops_no_other_and_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail_at_one(self: FitAttempt) -> dict[str, Any]:
        if self.plan.target_epsilon == 1.0:
            raise WorkbenchError("The disk is gone.")
        return whole(self)

    whole = FitAttempt.run
    monkeypatch.setattr(FitAttempt, "run", fail_at_one)
    sweep = small()
    with pytest.raises(WorkbenchError, match=r"is failed. 1 of 2 runs came to no end. .*epsilon 1: run \w{8} has failed. The disk is gone"):
        sweep.wait()
    assert [result["name"] for result in sweep.results] == ["independent-marginals, epsilon 10"]
    first = {run.id: run.attempt for run in RunStore(here()).list()}
    now = small().price
    assert (now.new, now.going_on, now.done, now.spends) == (0, 1, 1, True)
    monkeypatch.setattr(FitAttempt, "run", whole)
    sweep.begin()
    sweep.wait()
    assert len(sweep.results) == 2
    attempts = {run.id: run.attempt for run in RunStore(here()).list()}
    assert attempts.keys() == first.keys()
    assert sorted(attempts.values()) == [1, 2]


def test_what_all_runs_spend_is_composed_and_choosing_says_so() -> None:
    sweep = small(1.0, 2.0, repeats=2)
    composed = sweep.price
    assert composed.plain_sum == pytest.approx(sum(composed.epsilons))
    assert max(composed.epsilons) < composed.together.epsilon < composed.plain_sum
    assert composed.together.neighboring_relation == "REPLACE_SPECIAL"
    assert f"epsilon {composed.together.epsilon:.4g} at delta" in composed.choosing_words
    assert composed.account == composed.together.model_copy(update={"reason": composed.account.reason})
    assert "depends on all" not in small(1.0, 2.0, seeds=2).price.choosing_words
    assert "of what is chosen by the scores of such runs" in small(1.0, 2.0, seeds=2).price.choosing_words
    assert small(1.0, repeats=2, metrics=["closest_record"]).price.reading == ("closest_record",)


def test_a_budget_is_asked_before_anything_starts() -> None:
    Ledger(here().ledger).set_budget(TABLE, 3.0, 1e-5)
    (warning,) = [words for words in small(1.0, 2.0, repeats=2).price.warnings if "budget" in words]
    assert "with this sweep to" in warning
    assert not [words for words in small(1.0).price.warnings if "budget" in words]


def test_lines_that_ask_for_the_same_are_refused() -> None:
    """Without an epsilon the method takes 10."""
    sweep = workbench.sweep("independent-marginals", TABLE, [None, 10.0])
    with pytest.raises(WorkbenchError, match="Expected different plans, got the same for"):
        sweep.price  # noqa: B018


def test_a_sweep_without_confirmation_starts_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["sweep", "independent-marginals", "--dataset", TABLE, "--epsilons", "1,10", "--seeds", "2"]
    with pytest.raises(SystemExit, match="2"):
        main(command)
    printed = capsys.readouterr()
    shown = " ".join(printed.out.split())
    assert "Nothing was started" in printed.err
    for words in ("4: 4 new", "all runs together", "plain sum of their bounds", f"account of {TABLE} afterwards", "NOT releasable"):
        assert words in shown
    with pytest.raises(SystemExit, match="0"):
        main([*command, "--dry-run"])
    assert (RunStore(here()).list(), Jobs(here()).all(), KeptSweep.all(here())) == ([], [], [])


def test_in_a_read_only_home_a_sweep_has_its_price_and_begins_nothing() -> None:
    kept = KeptSweep.keep(here(), small(5.0).recipe)
    set_read_only(here(), closed=True)
    sweep = small()
    assert sweep.price.new == 2
    for act in (sweep.begin, lambda: sweeping.forget(here(), kept.id)):
        with pytest.raises(WorkbenchError, match="which is read-only"):
            act()
    assert [one.id for one in KeptSweep.all(here())] == [kept.id]


def test_a_cancelled_sweep_cancels_what_it_has_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LAUNCHERS, "local", Nowhere())
    other = small(5.0).recipe
    kept = KeptSweep.keep(here(), small().recipe)
    sweeping.begin(here(), other)
    stop, calls = StopSignal(), []

    def tell(_share: float, words: str) -> None:
        calls.append(words)
        if len(calls) > 8:
            stop.cancelled = True
            raise StoppedError

    with pytest.raises(WorkbenchError, match=r"is starting\. Cancel it first"):
        sweeping.forget(here(), KeptSweep.keep(here(), other).id)
    carrying = SweepAttempt(kept, lambda run, _: Jobs(here()).get(run), tell)
    with pytest.raises(StoppedError):
        carrying.carry_out()
    assert [run.state for run in RunStore(here()).list()] == ["queued", "starting"]
    carrying.cancel()
    assert [run.state for run in RunStore(here()).list()] == ["cancelled", "cancelling"]
    assert Jobs(here()).get(sweeping.find_job(here(), other).id).state == "starting"  # type: ignore[union-attr]


def test_two_sweeps_at_once_share_the_runs_that_both_ask_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LAUNCHERS, "local", Nowhere())
    recipes = [small(*epsilons, seeds=1).recipe for epsilons in ((1.0, 10.0), (10.0, 1.0, 5.0))]

    def begin(recipe: Recipe) -> None:
        messages: list[str] = []

        def tell(_share: float, words: str) -> None:
            messages.append(words)
            if len(messages) > 1 + len(recipe.runs):  # all have begun
                raise StoppedError

        with suppress(StoppedError):
            SweepAttempt(KeptSweep.keep(here(), recipe), lambda run, _: Jobs(here()).get(run), tell).carry_out()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(begin, recipes))
    assert sorted(run.plan.target_epsilon or 0.0 for run in RunStore(here()).list()) == [1.0, 5.0, 10.0]


def until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"waited too long for {what}"
        time.sleep(0.1)


def test_with_one_place_on_the_cpu_a_killed_sweep_goes_on_to_its_end() -> None:
    """Processes of their own: the sweep takes no place that its runs need, and dies without one of them."""
    orders.set_cpu_runs(here(), 1)
    sweep = small(1.0, 10.0)
    sweep.begin()
    until(lambda: len(RunStore(here()).list()) == 2, "two runs")
    job = sweep.job
    assert job is not None
    assert job.process is not None
    os.kill(job.process["pid"], signal.SIGKILL)
    until(lambda: Jobs(here()).get(job.id).state == "lost", "the kill to be seen")
    ran = {run.id for run in RunStore(here()).list()}
    control.resume(here(), job.id)
    sweep.wait(PATIENCE)
    assert Jobs(here()).get(job.id).state == "done"
    runs = RunStore(here()).list()
    assert ({run.id for run in runs}, {run.attempt for run in runs}) == (ran, {1})
    assert len(sweep.results) == 2
