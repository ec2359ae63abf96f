"""The example run, once for however many ask; and recipes, from file to table."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.homes import here
from support.launchers import Here, Nowhere
from support.quick import QUICK

from workbench import runs
from workbench.cli import main
from workbench.errors import WorkbenchError
from workbench.evaluation import METRICS
from workbench.jobs import control
from workbench.jobs.heartbeat import StopSignal
from workbench.jobs.job import WORKSPACE
from workbench.jobs.launchers import LAUNCHERS
from workbench.jobs.lifecycle import Jobs
from workbench.recipes import documents
from workbench.recipes import lines as recipes
from workbench.recipes import report as recipe_report
from workbench.recipes.reproducing import reproduce
from workbench.runs import finished
from workbench.runs.audits import audit_of
from workbench.runs.run import Run
from workbench.runs.samples import sample_set
from workbench.runs.store import RunStore
from workbench.tasks import example, worker
from workbench.training.state import PerformanceSettings

COPYING = ("nearer_to_training", "privacy_score")


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch, quick_plan: Callable[..., Any], train_here: Callable[..., Run]) -> None:
    """Launches train a plan of seconds here, so that no process is started."""
    monkeypatch.setattr(
        runs,
        "launch",
        lambda _workspace, _plan, *_, seed=None, example=False, audit=None, **__: train_here(
            _plan, seed=seed, example=example, audit=audit
        ),
    )
    monkeypatch.setattr(runs, "wait", lambda workspace, run_id, **_: RunStore(workspace).get(run_id))


def test_all_who_ask_for_the_example_get_the_same_one(monkeypatch: pytest.MonkeyPatch, quick_plan: Callable[..., Any]) -> None:
    plan = quick_plan()
    monkeypatch.setitem(LAUNCHERS, "local", Nowhere())
    monkeypatch.setattr(example, "_launch", lambda *_: runs.register(here(), plan, "digits", example=True))
    with ThreadPoolExecutor(4) as pool:
        examples = list(pool.map(lambda _: example.ensure_example(here(), wait_seconds=0), range(4)))
    assert len({run.id for run in examples}) == 1
    assert examples[0].example
    assert len(RunStore(here()).list()) == 1


def test_a_failed_example_is_made_anew(monkeypatch: pytest.MonkeyPatch, quick_plan: Callable[..., Any]) -> None:
    plan = quick_plan()
    monkeypatch.setitem(LAUNCHERS, "local", Nowhere())
    monkeypatch.setattr(example, "_launch", lambda *_: runs.register(here(), plan, "digits", example=True))
    first = example.ensure_example(here(), wait_seconds=0)
    RunStore(here()).change(first.id, {"starting"}, "failed", state="failed")
    assert example.ensure_example(here(), wait_seconds=0).id != first.id


@pytest.fixture
def two_measures() -> Iterator[None]:
    """What tells of copying alone; afterwards the registry has its order again, which other tests of this process read."""
    kept = dict(METRICS)
    METRICS.clear()
    METRICS.update({name: kept[name] for name in COPYING})
    yield
    METRICS.clear()
    METRICS.update(kept)


@pytest.mark.usefixtures("two_measures")
def test_its_job_makes_and_measures_it_once(monkeypatch: pytest.MonkeyPatch, quick_plan: Callable[..., Any]) -> None:
    monkeypatch.setitem(LAUNCHERS, "local", Here())
    on_one_thread = PerformanceSettings(device="cpu", num_threads=1)
    plan = quick_plan()
    options: dict[str, Any] = {"performance": on_one_thread, "example": True}
    monkeypatch.setattr(example, "_launch", lambda _workspace, audit=None: runs.launch(here(), plan, "digits", audit=audit, **options))
    assert example.is_wanted(here(), [])
    job = example.begin(here())
    assert (job.task, job.owner, job.state, job.error) == ("example", WORKSPACE, "done", None)
    run, audited = RunStore(here()).list()
    assert (run.example, run.state, run.audit) == (True, "done", None)
    assert example.find_example(here()) == run
    measured = audit_of(here(), run.plan)
    assert measured is not None
    assert measured.run == audited.id, "the tour's attack has something to show"
    assert finished.kept_neighbours(here(), run.id, "pixels", len(sample_set(here(), run.id).records())) is not None
    assert [result["name"] for result in (finished.kept_evaluation(here(), run.id) or {})["results"]] == list(COPYING)
    assert not example.is_wanted(here(), [run])
    assert example.begin(here()).attempt == 2
    made = [("neighbours", 1), ("evaluate", 1), ("train", 1), ("audit", 1), ("train", 1)]
    assert [(job.task, job.attempt) for job in Jobs(here()).all()] == [*made, ("example", 2)]


def test_its_job_fails_with_it_and_cancels_it(monkeypatch: pytest.MonkeyPatch, quick_plan: Callable[..., Any]) -> None:
    plan = quick_plan()
    monkeypatch.setattr(example, "_launch", lambda *_: runs.launch(here(), plan, "digits", example=True))
    monkeypatch.setitem(LAUNCHERS, "local", Nowhere())
    job, stop = example.begin(here()), StopSignal()
    wait = control.wait

    def cancelled(*arguments: Any, **options: Any) -> Any:
        stop.cancelled = True
        return wait(*arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(control, "wait", cancelled)
        worker.take_on(here(), job.id, 1, stop)
    (run,) = RunStore(here()).list()
    assert (Jobs(here()).get(job.id).state, run.state) == ("cancelled", "cancelling")
    RunStore(here()).change(run.id, {"cancelling"}, "ended", state="failed", error="No space left.")
    monkeypatch.setattr(example, "_launch", lambda *_: RunStore(here()).get(run.id))
    monkeypatch.setitem(LAUNCHERS, "local", Here())
    again = runs.resume(here(), job.id)
    assert (again.state, again.error) == ("failed", f"{run.id} is failed. No space left.")


def write(path: Path, **values: Any) -> str:
    run: dict[str, Any] = {"name": "tiny", "method": "dp-merf", "dataset": "digits", "epsilon": 10, "num_samples": 30}
    run |= {"performance": {"device": "cpu", "num_threads": 1}}  # as `train_here` has it
    run |= {"metrics": ["accuracy_logistic_regression"], "settings": {"num_features": 100, "training.steps": 4, "training.batch_size": 20}}
    path.write_text(json.dumps({"title": "Two runs", "runs": [run | values]}))
    return str(path)


@pytest.mark.usefixtures("in_this_process")
def test_a_recipe_plans_trains_and_measures(tmp_path: Path) -> None:
    recipe = recipes.load_recipe(write(tmp_path / "recipe.json", repeats=2))
    shares: list[float] = []
    made = list(reproduce(recipe, here(), progress=shares.append))
    assert len({result["run"] for result in made}) == 2
    rows = recipe_report.summary_rows(made)
    assert [(row["line"], row["measure"], row["runs"]) for row in rows] == [("tiny", "accuracy_logistic_regression", 2)]
    values = [result["evaluation"]["results"][0]["value"] for result in made]
    assert rows[0]["mean"] == pytest.approx(sum(values) / 2)
    assert shares == sorted(shares)
    assert all(result["drawing_seconds"] > 0 and result["peak_bytes"] > 2**20 for result in made)
    reused = list(reproduce(recipe, here(), reuse=True))
    assert {result["run"] for result in reused} == {result["run"] for result in made}
    in_bfloat16 = recipes.load_recipe(write(tmp_path / "other.json", performance={"precision": "bfloat16"}))
    assert next(reproduce(in_bfloat16, here(), reuse=True))["run"] not in {result["run"] for result in made}


@pytest.mark.usefixtures("in_this_process")
def test_a_line_with_canaries_is_audited_and_takes_no_run_without_them(tmp_path: Path) -> None:
    (plain,) = reproduce(recipes.load_recipe(write(tmp_path / "plain.json", seeds=[0])), here())
    recipe = recipes.load_recipe(write(tmp_path / "recipe.json", seeds=[0], audit={"num_canaries": 40}))
    (made,) = reproduce(recipe, here(), reuse=True)
    assert made["run"] != plain["run"]
    assert "audit" not in plain
    assert (made["audit"]["run"], made["audit"]["design"]["num_canaries"]) == (made["run"], 40)
    assert next(reproduce(recipe, here(), reuse=True))["run"] == made["run"]
    documents.write([made], recipe, tmp_path / "found.json")
    table = (tmp_path / "found.md").read_text()
    assert f"{made['audit']['num_correct']} of 20 | 40 (patterns)" in table
    assert table.index("measured at least") < table.index("accuracy_logistic_regression")
    with pytest.raises(SystemExit):
        main(["reproduce", str(tmp_path / "recipe.json"), "--reuse", "--releasable", "--out", str(tmp_path / "left.json")])
    assert "audit" not in json.loads((tmp_path / "left.json").read_text())["results"][0], "of a seeded run"


def test_a_line_reads_a_file_of_ones_own_as_the_command_line_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    images = np.zeros((12, 6, 6, 1), np.uint8)
    np.savez(tmp_path / "scan.npz", images=images, labels=np.arange(12) % 2)  # which names no classes
    given = {"dataset": str(tmp_path / "scan.npz"), "dataset_name": "scans", "resize": "1,8,8", "classes": "cat,dog"}
    recipe = recipes.load_recipe(write(tmp_path / "recipe.json", **given))
    launched: list[Any] = []
    monkeypatch.setattr(runs, "launch", lambda workspace, plan, **_: launched.append(plan) or runs.register(workspace, plan))
    monkeypatch.setattr(runs, "wait", lambda workspace, run_id, **_: RunStore(workspace).get(run_id))
    with pytest.raises(WorkbenchError, match="is queued"):
        next(reproduce(recipe, here()))
    (plan,) = launched
    assert plan.request.place.path == given["dataset"]
    assert (plan.facts.name, plan.facts.shape, plan.facts.classes) == ("scans", (1, 8, 8), ("cat", "dog"))


@pytest.mark.usefixtures("in_this_process")
def test_what_a_recipe_found_can_be_written_without_its_private_numbers(tmp_path: Path) -> None:
    out = tmp_path / "found.json"
    for options, private in (([], False), (["--releasable", "--reuse"], True)):
        with pytest.raises(SystemExit) as ended:
            main(["reproduce", write(tmp_path / "recipe.json"), "--out", str(out), *options])
        assert ended.value.code == 0
        (result,) = json.loads(out.read_text())["results"]
        (entry,) = result["evaluation"]["results"]
        assert [entry[name] is None for name in ("value", "ceiling")] == [private, private]
        assert ("(private)" in out.with_suffix(".md").read_text()) is not private


@pytest.mark.usefixtures("in_this_process")
def test_results_that_all_stand_are_written_under_the_recipe_as_it_is_now(tmp_path: Path) -> None:
    recipe, out = Path(write(tmp_path / "recipe.json", seeds=[0])), tmp_path / "found.json"
    written = []
    for title in ("Before", "Now"):
        recipe.write_text(json.dumps(json.loads(recipe.read_text()) | {"title": title}))
        with pytest.raises(SystemExit) as ended:
            main(["reproduce", str(recipe), "--reuse", "--out", str(out)])
        assert ended.value.code == 0
        written.append(json.loads(out.read_text()))
    assert [kept["recipe"]["title"] for kept in written] == ["Before", "Now"]
    assert written[0]["results"] == written[1]["results"]


@pytest.mark.usefixtures("in_this_process")
def test_lines_that_ask_for_other_samples_of_a_run_share_it(tmp_path: Path) -> None:
    line = json.loads(Path(write(tmp_path / "recipe.json", repeats=2)).read_text())["runs"][0]
    threes = line | {"name": "threes and fours", "labels": ["3", "4"], "sampling_seed": 1}
    recipe = recipes.Recipe.model_validate({"title": "x", "runs": [line, threes, threes]})
    made = list(reproduce(recipe, here()))
    trained = [result["run"] for result in made]
    assert len(set(trained[:2])) == 2
    assert set(trained[2:4]) == set(trained[:2])
    assert set(trained[4:]).isdisjoint(trained[:4])  # the same samples again are of other runs
    sets = [result["evaluation"]["samples"] for result in made]
    assert sets[:2] == ["default"] * 2
    assert len(set(sets[2:])) == 1
    wrong = recipes.Recipe.model_validate({"title": "x", "runs": [line, threes | {"sampling": {"sampler.eta": 0}}]})
    with pytest.raises(WorkbenchError, match="sampler"):
        next(reproduce(wrong, here()))


@pytest.mark.usefixtures("in_this_process")
def test_reuse_goes_on_with_a_run_that_was_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = recipes.load_recipe(write(tmp_path / "recipe.json"))
    (first,) = reproduce(recipe, here())
    resumed = []
    monkeypatch.setattr(
        control,
        "resume",
        lambda _workspace, run_id, *_: resumed.append(run_id) or RunStore(here()).change(run_id, {"lost"}, "ended", state="done"),
    )
    RunStore(here()).change(first["run"], {"done"}, "lost", state="lost")
    (again,) = reproduce(recipe, here(), reuse=True)
    assert resumed == [again["run"]] == [first["run"]]


@pytest.mark.parametrize(
    ("content", "message"),
    [("{", "is not a recipe"), ('{"title": "x", "runs": []}', "runs"), ('{"title": "x", "runs": [{"nme": 1}]}', "is not a recipe")],
)
def test_a_file_that_is_no_recipe_is_one_sentence(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "recipe.json"
    path.write_text(content)
    with pytest.raises(WorkbenchError, match=message):
        recipes.load_recipe(str(path))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"method": "dp"}, "Unknown method"),
        ({"dataset": "digit"}, "Unknown dataset"),
        ({"dataset": "none/here.npz"}, "found nothing"),
        ({"resize": "8,8"}, "C,H,W"),
        ({"dataset_name": "mine"}, "only files of your own"),
        ({"performance": {"precision": "half"}}, "precision: Expected "),
        ({"performance": {"threads": 1}}, "Unknown performance setting"),
        ({"metrics": ["fid"]}, "Unknown metric"),
    ],
)
def test_a_wrong_name_is_refused_before_anything_is_trained(values: dict[str, Any], message: str) -> None:
    good = {"name": "first", "method": "dp-merf", "dataset": "digits"}
    recipe = recipes.Recipe.model_validate({"title": "x", "runs": [good, good | {"name": "second"} | values]})
    with pytest.raises(WorkbenchError, match=message):
        next(reproduce(recipe, here()))
    assert RunStore(here()).list() == []


def test_an_unknown_recipe_lists_the_known_ones() -> None:
    with pytest.raises(WorkbenchError, match="Unknown recipe 'nothing'"):
        recipes.load_recipe("nothing")


@pytest.mark.usefixtures("in_this_process")
def test_the_sets_of_a_recipe_are_exports_that_verify_of_runs_without_a_seed(tmp_path: Path) -> None:
    """Each plan once, though two lines have it, and not the one with canaries; another call makes nothing."""
    from workbench.recipes.exports import export_sets
    from workbench.runs.release import verify

    shared = {"method": "class-moments", "dataset": "digits", "settings": QUICK["class-moments"], "epsilon": 10.0}
    shared |= {"performance": {"device": "cpu", "num_threads": 1}, "metrics": ["accuracy_logistic_regression"]}
    lines = [
        shared | {"num_samples": count} | more
        for count, more in ((20, {"seeds": [0]}), (30, {"seeds": [0, 1]}), (20, {"audit": {"num_canaries": 40, "seed": 0}}))
    ]
    file = tmp_path / "recipe.json"
    runs = [line | {"name": f"Digits, bound 10: {number}"} for number, line in enumerate(lines)]
    file.write_text(json.dumps({"title": "t", "description": "d", "measure": "accuracy_logistic_regression", "runs": runs}))
    recipe, folder = recipes.load_recipe(str(file)), tmp_path / "sets"
    next(reproduce(recipe, here()))
    folder.mkdir()
    (made,) = export_sets(recipe, here(), folder, lambda _share: None)
    checked = verify(made)
    assert (made.name, checked.holds, checked.card.releasable) == ("digits-bound-10-1.zip", True, True)
    seen, when = {run.id for run in RunStore(here()).list()}, made.stat().st_mtime_ns
    assert list(export_sets(recipe, here(), folder, lambda _share: None)) == [made]
    made.unlink()
    with pytest.raises(SystemExit):
        main(["export-sets", str(file), str(folder)])
    assert {run.id for run in RunStore(here()).list()} == seen
    assert made.stat().st_mtime_ns > when
