"""Jobs about samples: one of equal requests, whole results or none, and what becomes of them when processes or runs go away."""

import errno
import json
import os
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psutil
import pytest
import torch
from support.homes import here
from support.launchers import Here, Nowhere

from workbench import runs, tasks
from workbench.cli import main
from workbench.datasets.reference import DatasetRef
from workbench.errors import WorkbenchError
from workbench.evaluation import device
from workbench.jobs import control
from workbench.jobs.heartbeat import StopSignal
from workbench.jobs.launchers import LAUNCHERS
from workbench.jobs.lifecycle import Jobs
from workbench.runs import finished
from workbench.runs.forgetting import forget_import
from workbench.runs.run import Run
from workbench.runs.samples import sample_set
from workbench.runs.samples.imported import import_samples
from workbench.runs.store import RunStore
from workbench.runs.threads import few_threads, threads_of_measures
from workbench.tasks import TASKS, worker
from workbench.training.state import PerformanceSettings

Make = Callable[..., Run]
FEW: dict[str, Any] = {"num_samples": 30, "metrics": ["nearer_to_training"]}


@pytest.fixture
def run(quick_plan: Callable[..., Any], train_here: Make) -> Run:
    """A finished run."""
    return train_here(quick_plan("dp-merf"))


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LAUNCHERS, "local", Here())


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LAUNCHERS, "local", Nowhere())


@pytest.mark.usefixtures("in_process")
def test_every_task_does_what_its_function_does(run: Run) -> None:
    for task, request in (("sample", {"num_samples": 30}), ("evaluate", FEW), ("neighbours", {})):
        job = tasks.begin(here(), task, run.id, request)
        assert (job.state, job.share, job.error) == ("done", 1.0, None)
    kept = sample_set(here(), run.id).kept_records()
    assert kept is not None
    assert len(kept) == 30
    measured = finished.kept_evaluation(here(), run.id)
    assert measured is not None
    assert [result["name"] for result in measured["results"]] == FEW["metrics"]
    near = finished.kept_neighbours(here(), run.id, "pixels", 30)
    assert near is not None
    assert near.indices.shape == (30, 5)
    copying = finished.kept_copying(here(), run.id, "pixels", 30)
    assert copying is not None
    assert [result["name"] for result in copying] == list(finished.COPYING)


@pytest.mark.usefixtures("in_process")
def test_the_command_line_lists_jobs(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    job = tasks.begin(here(), "sample", run.id, {"num_samples": 3})
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["jobs", run.id, "--json"])
    rows = json.loads(capsys.readouterr().out)
    assert [(row["job"], row["task"], row["state"], row["done"]) for row in rows] == [
        (job.id, "sample", "done", "100 %"),
        (run.id, "train", "done", "100 %"),
    ]


@pytest.mark.parametrize(
    ("task", "request_", "message"),
    [
        ("evaluate", {"metrics": ["fid"]}, "Unknown metric"),
        ("neighbours", {"features": "smell"}, "Unknown feature space"),
        ("neighbours", {"num_samples": 0}, "num_samples"),
        ("evaluate", {"num_samples": 1}, "num_samples: Expected at least 2"),
        ("copies", {"num_samples": 10**9}, "num_samples: Expected at most 1000000"),
        ("evaluate", {"device": "cuda"}, "Device 'cuda' was asked for, but 0 GPUs are visible here"),
        ("copies", {"device": "abacus"}, "Unknown device 'abacus'"),
        ("sample", {"samples": "00000000"}, "has no set of samples"),
        ("sample", {"number": 3}, "number"),
        ("auction", {}, "Unknown task"),
        ("train", {}, "Expected a plan"),
    ],
)
@pytest.mark.usefixtures("nowhere")
def test_what_cannot_be_carried_out_is_refused_before_there_is_a_job(run: Run, task: str, request_: dict[str, Any], message: str) -> None:
    with pytest.raises(WorkbenchError, match=message):
        tasks.begin(here(), task, run.id, request_)
    assert [job.id for job in Jobs(here()).all()] == [run.id]


@pytest.mark.usefixtures("nowhere")
def test_a_measure_on_a_gpu_is_another_job_which_waits_for_its_device(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    here_is = tasks.begin(here(), "evaluate", run.id, FEW | {"device": "cpu"})
    assert (here_is.id, here_is.terms.device) == (tasks.begin(here(), "evaluate", run.id, FEW).id, "cpu")
    monkeypatch.setattr("torch.cuda.device_count", lambda: 1)
    there = TASKS["evaluate"].register(here(), run.id, FEW | {"device": "cuda"})
    assert (there.terms.device, there.request["device"], there.id != here_is.id) == ("cuda", "cuda", True)


@pytest.mark.usefixtures("in_process")
def test_what_measures_on_a_device_is_kept_apart_and_told_the_device(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr("workbench.evaluation.device.chosen_device", lambda name: None if name is None else "cpu:0")
    monkeypatch.setattr("workbench.evaluation.evaluate", lambda *_, **__: seen.append(device.name()) or [])
    for request in (FEW, FEW | {"device": "cuda"}, FEW | {"device": "cuda"}, FEW):
        assert tasks.begin(here(), "evaluate", run.id, request).state == "done"
    assert seen == ["cpu", "cpu:0"], "each measured once"
    for task in ("neighbours", "copies"):
        seen.clear()
        monkeypatch.setattr("workbench.runs.finished.neighbours_run", lambda *_, **__: seen.append(device.name()))
        monkeypatch.setattr("workbench.runs.finished.copying_run", lambda *_, **__: None)
        monkeypatch.setattr("workbench.runs.copies.copies_run", lambda *_, **__: seen.append(device.name()))
        assert tasks.begin(here(), task, run.id, {"device": "cuda"}).state == "done"
        assert seen == ["cpu:0"], task


@pytest.mark.usefixtures("nowhere")
def test_all_who_ask_for_the_same_share_one_process(run: Run) -> None:
    with ThreadPoolExecutor(6) as pool:
        jobs = list(pool.map(lambda _: tasks.begin(here(), "evaluate", run.id, FEW), range(6)))
    assert {(job.id, job.attempt) for job in jobs} == {(jobs[0].id, 1)}
    assert tasks.begin(here(), "evaluate", run.id, {"metrics": FEW["metrics"], "num_samples": 30, "seed": 0}).id == jobs[0].id
    assert tasks.begin(here(), "evaluate", run.id, {}).id != jobs[0].id


def test_a_job_whose_app_was_killed_before_its_start_is_started_by_who_asks_next(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    job = TASKS["evaluate"].register(here(), run.id, FEW)
    monkeypatch.setitem(LAUNCHERS, "local", Nowhere())
    monkeypatch.setattr(Nowhere, "start", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        tasks.begin(here(), "evaluate", run.id, FEW)
    assert Jobs(here()).get(job.id).state == "starting"
    Jobs(here()).change(job.id, {"starting"}, "aged", heartbeat=time.time() - 61)
    assert Jobs(here()).get(job.id).state == "queued"
    monkeypatch.setitem(LAUNCHERS, "local", Here())
    again = tasks.begin(here(), "evaluate", run.id, FEW)
    assert (again.id, again.state, again.attempt) == (job.id, "done", 2)


def test_a_killed_process_is_found_dead_and_another_ends_its_job(run: Run) -> None:
    options = {"num_samples": 500, "metrics": ["accuracy_logistic_regression"]}
    job = tasks.begin(here(), "evaluate", run.id, options)
    process = Jobs(here()).get(job.id).process
    assert process is not None
    worker_ = psutil.Process(process["pid"])
    assert os.getsid(worker_.pid) == worker_.pid
    worker_.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 30
    while Jobs(here()).get(job.id).is_active and time.monotonic() < deadline:
        time.sleep(0.05)
    assert Jobs(here()).get(job.id).state == "lost"
    assert finished.kept_evaluation(here(), run.id) is None
    runs.resume(here(), job.id)
    done = control.wait(here(), job.id, 300)
    assert (done.state, done.attempt) == ("done", 2), control.log_tail(here(), done)
    assert finished.kept_evaluation(here(), run.id) is not None


@pytest.mark.usefixtures("nowhere")
def test_a_cancelled_job_leaves_no_half_result_and_goes_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    job = tasks.begin(here(), "neighbours", run.id, {"num_samples": 30})
    stop = StopSignal()

    def cancelled(*arguments: Any) -> Any:
        stop.cancelled = True
        arguments[-1](0.5)
        pytest.fail("went on")

    with monkeypatch.context() as patched:
        patched.setattr("workbench.evaluation.find_neighbours", cancelled)
        assert worker.take_on(here(), job.id, 1, stop) == 0
    assert Jobs(here()).get(job.id).state == "cancelled"
    assert finished.kept_neighbours(here(), run.id, "pixels", 30) is None
    assert not list(here().home.rglob("*.partial"))
    monkeypatch.setitem(LAUNCHERS, "local", Here())
    assert runs.resume(here(), job.id).state == "done"


@pytest.mark.usefixtures("in_process")
def test_a_full_disk_is_a_sentence_and_no_half_file(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    sample_set(here(), run.id).records(30)
    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))))
        job = tasks.begin(here(), "neighbours", run.id, {})
    assert job.state == "paused"
    assert (job.error or "").startswith("A file could not be written: No space left on device. It is paused, and goes on by itself once ")
    assert not list(here().home.rglob("*.partial"))
    runs.resume(here(), job.id)  # here, or by the queue's process, which looks after what is paused
    assert control.wait(here(), job.id, 60).state == "done"


@pytest.mark.usefixtures("nowhere")
def test_a_run_is_not_deleted_while_a_job_of_it_is_at_work_and_takes_its_jobs_along(run: Run) -> None:
    job = tasks.begin(here(), "evaluate", run.id, FEW)
    with pytest.raises(WorkbenchError, match=rf"job {job.id} \(evaluation\) is starting\. Cancel it first"):
        runs.delete(here(), run.id)
    Jobs(here()).change(job.id, {"starting"}, "ended", state="lost")
    assert (here().jobs / job.id).is_dir()
    runs.delete(here(), run.id)
    assert Jobs(here()).all() == RunStore(here()).list() == []
    assert not (here().jobs / job.id).exists()
    with pytest.raises(WorkbenchError, match="Unknown run or job"):
        worker.take_on(here(), job.id, 1, StopSignal())
    with pytest.raises(WorkbenchError, match="Unknown run"):
        tasks.begin(here(), "evaluate", run.id, FEW)
    assert Jobs(here()).beat(job.id, 1) is None


def test_an_import_has_jobs_like_a_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    sample_set(here(), run.id).records(30)
    other = import_samples(here(), sample_set(here(), run.id).file, DatasetRef(name="digits"), "other")
    monkeypatch.setitem(LAUNCHERS, "local", Here())
    assert tasks.begin(here(), "evaluate", other.owner, FEW).state == "done"
    with pytest.raises(WorkbenchError, match="Expected 1 to 30 samples of other, got 31"):
        tasks.begin(here(), "evaluate", other.owner, FEW | {"num_samples": 31})
    monkeypatch.setitem(LAUNCHERS, "local", Nowhere())
    job = tasks.begin(here(), "neighbours", other.owner, {})
    with pytest.raises(WorkbenchError, match="Cancel it first"):
        forget_import(here(), other.owner)
    assert other.file.exists()
    Jobs(here()).change(job.id, {"starting"}, "ended", state="failed")
    forget_import(here(), other.owner)
    assert Jobs(here()).of(other.owner) == []


def test_another_launcher_is_a_value_and_a_line_and_measures_stay_here(
    run: Run, quick_plan: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LAUNCHERS, "local", Here())
    monkeypatch.setitem(LAUNCHERS, "queue", Here())
    monkeypatch.setenv("WORKBENCH_LAUNCHER", "queue")
    trained = runs.launch(here(), quick_plan(), "digits", performance=PerformanceSettings(device="cpu", num_threads=1))
    assert (trained.launcher, trained.state) == ("queue", "done")
    assert tasks.begin(here(), "sample", run.id, {"num_samples": 10}).launcher == "local"
    with pytest.raises(WorkbenchError, match="Unknown launcher 'moon'"):
        runs.launch(here(), quick_plan(), "digits", on="moon")


def test_measures_take_few_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORKBENCH_THREADS", "1")
    torch.set_num_threads(2)
    with few_threads():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 2
    monkeypatch.delenv("WORKBENCH_THREADS")
    assert threads_of_measures() == max(1, (os.cpu_count() or 1) // 2)
    monkeypatch.setenv("WORKBENCH_THREADS", "none")
    with pytest.raises(WorkbenchError, match="Expected a number of threads"):
        threads_of_measures()
