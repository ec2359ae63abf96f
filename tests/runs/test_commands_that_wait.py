"""`workbench sample`, `evaluate` and `neighbours`, each a process of its own: the registry knows their job, and Ctrl-C ends both."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.homes import here
from support.launchers import Nowhere

from workbench import tasks
from workbench.cli import main
from workbench.jobs import control
from workbench.jobs.job import Job
from workbench.jobs.launchers import LAUNCHERS
from workbench.jobs.lifecycle import Jobs
from workbench.runs.run import Run
from workbench.runs.store import RunStore

Make = Callable[..., Run]
PATIENCE = 240.0  # seconds; imports take long on a busy machine
MANY = ["--num", "4000"]
AS_IN_A_TERMINAL = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from workbench.cli import main
main()
"""
SLOW = {"sampler.num_inference_steps": 100}


@pytest.fixture
def run(quick_plan: Callable[..., Any], train_here: Make) -> Run:
    """A finished run whose samples take a while."""
    made = train_here(quick_plan("nonprivate", **SLOW))
    assert made.state == "done", made.error
    return made


@contextmanager
def command(*arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """`workbench ARGUMENTS` as a terminal starts it: in a process group of its own, which is told of Ctrl-C and does not ignore it."""
    started = subprocess.Popen(
        [sys.executable, "-c", AS_IN_A_TERMINAL, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        process_group=0,
    )
    try:
        yield started
    finally:
        started.kill()
        started.wait()


def until_running(task: str) -> Job:
    """The job of the task, once it is at work."""
    deadline = time.monotonic() + PATIENCE
    while True:
        running = [job for job in Jobs(here()).all() if job.task == task and job.state == "running"]
        if running:
            return running[0]
        assert time.monotonic() < deadline, f"no {task} at work"
        time.sleep(0.05)


def interrupted(process: "subprocess.Popen[str]") -> str:
    """What the command says on Ctrl-C, its last line."""
    process.send_signal(signal.SIGINT)
    out, said = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (130, ""), said
    return said.strip().splitlines()[-1]


@pytest.mark.parametrize("task", ["sample", "evaluate", "neighbours"])
def test_the_pages_know_of_its_job_and_ctrl_c_cancels_it(task: str, run: Run, tmp_path: Path) -> None:
    out = {"sample": ["--out", str(tmp_path / "s.npz")], "neighbours": ["--out", str(tmp_path / "n.html")]}.get(task, [])
    with command(task, run.id, *MANY, *out) as process:
        job = until_running(task)
        said = interrupted(process)
    assert (job.owner, job.request["num_samples"]) == (run.id, 4000)
    assert (job.id in said, "cancelled; the same command goes on" in said, "Traceback" in said) == (True, True, False)
    assert Jobs(here()).get(job.id).state == "cancelled"
    assert not list(here().home.rglob("*.partial"))
    assert [path.name for path in tmp_path.iterdir()] == ["home"]
    assert RunStore(here()).get(run.id).state == "done"


def test_ctrl_c_leaves_alone_what_others_had_begun(run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setitem(LAUNCHERS, "local", Nowhere())
    monkeypatch.setattr(control, "wait", stopped)
    job = tasks.begin(here(), "evaluate", run.id, {"num_samples": 4000})
    with pytest.raises(SystemExit) as ended:
        main(["evaluate", run.id, *MANY])
    sentence = f"The evaluation ({job.id}) was at work before and goes on; `workbench cancel {job.id}` ends it.\n"
    assert (ended.value.code, capsys.readouterr().err) == (130, sentence)
    assert (Jobs(here()).get(job.id).state, Jobs(here()).get(job.id).attempt) == ("starting", 1)


def test_ctrl_c_anywhere_else_is_a_word(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(RunStore, "select", stopped)
    with pytest.raises(SystemExit) as ended:
        main(["runs"])
    assert (ended.value.code, capsys.readouterr().err) == (130, "Stopped.\n")


def test_what_it_prints_is_what_its_job_found(run: Run) -> None:
    with command("evaluate", run.id, "--num", "20", "--metric", "nearer_to_training", "--features", "pixels", "--json") as process:
        out, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said
    assert [result["name"] for result in json.loads(out)["results"]] == ["nearer_to_training"]
    (job,) = [job for job in Jobs(here()).of(run.id) if job.task == "evaluate"]
    assert (job.state, job.share, job.attempt) == ("done", 1.0, 1)


def test_work_that_fails_is_a_sentence_and_exit_code_1(run: Run) -> None:
    (here().runs / run.id / "model.pt").write_bytes(b"no weights")
    with command("sample", run.id, "--num", "20") as process:
        _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert said.strip().splitlines()[-1].startswith("The sampling (")
    assert "has failed. Expected" in said


def test_ctrl_c_while_a_command_is_being_imported_is_a_word(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    class Interrupted:
        def find_spec(self, name: str, *_: object) -> None:
            if name == "workbench.cli.commands":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "workbench.cli.commands", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupted(), *sys.meta_path])
    with pytest.raises(SystemExit) as ended:
        main(["runs"])
    assert (ended.value.code, capsys.readouterr().err) == (130, "Stopped.\n")
