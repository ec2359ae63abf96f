"""A night of 60 runs, each killed once: its worker at any moment, the queue, whoever launched it or looks at it. All end, none twice."""

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import torch
from support.appointments.sitecustomize import FOLDER
from support.clusters import until
from support.homes import here

from workbench import runs
from workbench.jobs.queue import passing
from workbench.jobs.queue.passing import look_after
from workbench.planning import make_plan
from workbench.privacy.spending.ledger import Ledger
from workbench.request import Request
from workbench.runs.folder import RunFolder
from workbench.runs.run import Run
from workbench.runs.store import RunStore
from workbench.training.state import PerformanceSettings, load_saved

DEPENDS = [
    *(
        "workbench/jobs/**",
        "workbench/tasks/**",
        "!workbench/tasks/example.py",
        "workbench/privacy/spending/**",
        "workbench/sqlite.py",
        "workbench/files.py",
    ),
    *("workbench/runs/fitting.py", "workbench/runs/account.py", "workbench/runs/launching.py", "workbench/runs/folder.py"),
    *("workbench/training/checkpoints.py", "workbench/training/checkpoint_files.py", "tests/support/appointments/**"),
]
RUNS, SEED, MOST_SECONDS = 60, 11, 7200.0
SPEED = PerformanceSettings(device="cpu", num_threads=1)
SMALL = {"network.base_channels": 8, "network.num_res_blocks": 1}
METHODS: dict[str, tuple[str, str, dict[str, Any]]] = {  # dataset, preset, and settings of about half a minute
    "dp-sgd-dm": ("digits", "default", SMALL | {"pretraining.steps": 300}),
    "dpdm": ("digits", "selected", SMALL | {"selected.steps": 150, "training.steps": 40}),
    "dp-promise": ("digits", "default", SMALL | {"pretraining.steps": 250, "phase_two.steps": 40}),
    "private-evolution": ("digits", "default", {}),
    "dp-merf": ("digits", "default", {}),
    "aim": ("patients-large", "default", {}),
}
WHO = ("worker", "start", "checkpoint", "ledger", "queue", "app", "launcher")
PATH = os.pathsep.join(map(str, (Path(__file__).parents[1] / "support/appointments", Path(__file__).parents[1], Path(__file__).parents[2])))


@pytest.fixture(autouse=True)
def killers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    folder = tmp_path / "appointments"
    folder.mkdir()
    for name, value in {FOLDER: str(folder), "PYTHONPATH": PATH, "OMP_NUM_THREADS": "1", "WORKBENCH_CHECKPOINT_SECONDS": "1"}.items():
        monkeypatch.setenv(name, value)
    torch.set_num_threads(1)
    return folder


def plan_of(method: str) -> Any:
    dataset, preset, settings = METHODS[method]
    return make_plan(Request.of(method, dataset, preset=preset, epsilon=3, settings=settings))


def launched(method: str) -> Run:
    return runs.launch(here(), plan_of(method), METHODS[method][0], performance=SPEED, seed=SEED)


def by_command(method: str) -> subprocess.Popen[bytes]:
    """The command that launches the run and stays to look at it, as a page does."""
    dataset, preset, settings = METHODS[method]
    given = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    speed = ["--performance", "num_threads=1", "--device", "cpu", "--seed", str(SEED), "--yes", "--wait"]
    command = ["-m", "workbench.cli", "train", method, "--dataset", dataset, "--preset", preset, "--epsilon", "3", *given, *speed]
    return subprocess.Popen([sys.executable, *command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def result(run: Run) -> dict[str, Any]:
    """All that the run has made of the data: weights and tables, by name."""
    saved = load_saved(RunFolder(here(), run.id).model)
    return flat({name: saved[name] for name in ("modules", "tensors") if name in saved})


def flat(value: Any, name: str = "") -> dict[str, Any]:
    if isinstance(value, dict):
        return {key: one for part, inner in value.items() for key, one in flat(inner, f"{name}/{part}").items()}
    return {name: np.asarray(value)}


def queue_process() -> psutil.Process | None:
    """The queue's process, while it lives."""
    lock = here().home / passing.LOCK
    text = lock.read_text().strip() if lock.exists() else ""
    if not text or not psutil.pid_exists(int(text)):
        return None
    process = psutil.Process(int(text))
    return process if "workbench.jobs.queue.process" in process.cmdline() else None


def known_runs() -> set[str]:
    return {run.id for run in RunStore(here()).list()}


class Night:
    """Runs that are begun one after another, two waiting at most, and killed on the way; whoever is lost is resumed."""

    def __init__(self, appointments: Path, alone: dict[str, Run]) -> None:
        self.appointments, self.alone, self.random = appointments, alone, random.Random(SEED)
        self.killed: Counter[str] = Counter()
        self.resumed = 0
        self.appointed: dict[str, str] = {}  # who is killed, by the run
        self.due: list[tuple[str, str, subprocess.Popen[bytes] | None, float]] = []  # who, at which run, by which command, after how long

    def begin(self, method: str, who: str) -> None:
        """A run of `method` that is not to have its peace."""
        at = self.random.uniform(0.05, 0.9) * (self.alone[method].seconds_running or 0.0)
        if who in ("app", "launcher"):
            known = known_runs()
            process = by_command(method)
            if who == "launcher":
                time.sleep(self.random.uniform(0.5, 6.0))
                process.kill()
                process.wait()
                self.killed[who] += 1
                if known_runs() == known:
                    launched(method)  # the command had done nothing
                return
            until(lambda: known_runs() != known, "the command to launch")
            self.due.append((who, (known_runs() - known).pop(), process, at))
        elif who == "queue":
            self.due.append((who, launched(method).id, None, at))
        else:
            run = runs.register(here(), plan_of(method), METHODS[method][0], performance=SPEED, seed=SEED)
            counts = json.loads((self.appointments / f"{self.alone[method].id}.counts").read_text())
            places = {
                "worker": {"after": at},
                "start": {"after": self.random.uniform(0.1, 4.0)},
                "checkpoint": {"checkpoint": self.random.randint(1, counts["checkpoint"])},
                "ledger": {"ledger": self.random.randint(1, counts["ledger"]), "after": self.random.choice((0.0, 0.002, 0.006))},
            }
            (self.appointments / f"{run.id}.json").write_text(json.dumps(places[who]))
            self.appointed[run.id] = who
            runs.begin(here(), run.id)

    def look(self) -> None:
        """Kill who is due, and resume who is lost."""
        look_after(here())
        for run in RunStore(here()).list():
            was_never_begun = run.state == "failed" and "start it again" in str(run.error)  # the kill hit the worker's starter
            assert run.state != "failed" or was_never_begun, run.error
            if run.state == "lost" or was_never_begun:
                runs.resume(here(), run.id)
                self.resumed += 1
        for due in list(self.due):
            who, run_id, process, at = due
            run = RunStore(here()).get(run_id)
            victim = process or queue_process()
            if victim is not None and run.started is not None and time.time() > run.started + at:
                victim.kill()
                victim.wait()
                self.killed[who] += 1
                self.due.remove(due)

    def is_over(self) -> bool:
        """Whether nobody works or waits any more."""
        return not any(run.is_active or run.state in ("lost", "failed") for run in RunStore(here()).list())


@pytest.mark.slow(depends=DEPENDS)
def test_sixty_runs_that_are_killed_all_end_and_none_twice(killers: Path, figures: dict[str, Any]) -> None:
    began = time.monotonic()
    alone = {method: runs.wait(here(), launched(method).id, 600) for method in METHODS}
    assert {run.state for run in alone.values()} == {"done"}
    night = Night(killers, alone)
    pairs = list(islice(zip(cycle(METHODS), cycle(WHO), strict=False), RUNS))  # 6 and 7 have no common factor
    night.random.shuffle(pairs)
    while pairs or not night.is_over():
        while pairs and sum(run.state == "queued" for run in RunStore(here()).list()) < 2:
            night.begin(*pairs.pop())
        night.look()
        time.sleep(0.2)
        assert time.monotonic() - began < MOST_SECONDS
    assert night.due == []
    night.killed.update(night.appointed[file.stem] for file in killers.glob("*.kept"))
    assert night.killed.total() == RUNS
    ledger, ids = Ledger(here().ledger), {run.id for run in alone.values()}
    made = [run for run in RunStore(here()).list() if run.id not in ids]
    assert len(made) == RUNS
    for run in made:
        other = alone[run.plan.method]
        assert run.state == "done"
        assert [(one.charged, one.charged_again) for one in ledger.spent(run.id)] == [(one.charged, 0) for one in ledger.spent(other.id)]
        assert run.epsilon_spent >= other.epsilon_spent
        mine, theirs = result(run), result(other)
        assert theirs
        assert mine.keys() == theirs.keys()
        assert all(np.array_equal(mine[name], value) for name, value in theirs.items()), run.id
        assert not RunFolder(here(), run.id).can_go_on, "the key is gone"
    figures |= {f"killed: {who}": night.killed[who] for who in WHO} | {"resumed": night.resumed}
    figures |= {f"seconds of {method} alone": round(run.seconds_running or 0.0, 1) for method, run in alone.items()}
    figures |= {"hours": round((time.monotonic() - began) / 3600, 2)}
