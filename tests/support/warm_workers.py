"""Workers that begin with what a run imports: most of a small run's time are imports.

One process imports it all and forks for each worker, which is then in a session of its own, with its log and environment, as a real
one is. Tests of how processes begin and die start real ones (`REAL`), and so does the slow tier.
"""

import faulthandler
import importlib
import json
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

REAL = ("tests/jobs/", "tests/slow/", "tests/runs/test_jobs.py", "tests/runs/test_runs.py")
PLACE, OWNER = "WORKBENCH_TEST_WORKERS", "WORKBENCH_TEST_PROCESS"  # the socket, and the process of the tests that it serves
WORKER = "workbench.tasks.worker"
ONLY_SHOWN = ("workbench.app", "workbench.pages", "workbench.server", "workbench.ui", "workbench.cli", WORKER)
OTHERS = ("torch._dynamo", "opacus", "scipy.stats", "sklearn.linear_model", "pandas", "matplotlib.pyplot")
HERE = Path(__file__).parent


@pytest.fixture(scope="session", autouse=True)
def worker_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The socket of a process that is asked for workers, which the first question starts; processes that tests start ask it too."""
    place = tmp_path_factory.mktemp("workers") / "socket"
    paths = os.pathsep.join(filter(None, (str(HERE / "warm"), os.environ.get("PYTHONPATH"))))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {PLACE: str(place), OWNER: str(os.getpid()), "PYTHONPATH": paths}.items():
            patch.setenv(name, value)
        yield place
    if place.exists():
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
            asking.connect(str(place))  # and ask for nothing: it ends, and its workers with it


@pytest.fixture(autouse=True)
def warm_workers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have this process start its workers by a fork, and those that it starts, but for tests of how processes begin."""
    if request.node.nodeid.startswith(REAL):
        monkeypatch.delenv(PLACE)
    else:
        from workbench.jobs.launchers import local

        monkeypatch.setattr(local, "start_apart", start_apart)


def start_apart(log: Path, command: Sequence[str], environment: Mapping[str, str], keep: Sequence[int] = ()) -> dict[str, Any]:
    """As `detach.start_apart` has it, by a fork."""
    from workbench.jobs.identity import identity_of

    assert list(command[:3]) == [sys.executable, "-m", WORKER]
    assert not keep
    request = {"environment": dict(environment), "folder": os.getcwd(), "arguments": command[3:], "log": str(log)}
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.connect(str(served(Path(os.environ[PLACE]))))
        asking.sendall(json.dumps(request).encode())
        asking.shutdown(socket.SHUT_WR)
        pid = int(asking.recv(100))
    process = identity_of(pid)
    assert process is not None, Path(log).read_text()
    return process.model_dump()


def served(place: Path) -> Path:
    """The socket, once somebody listens; who comes first starts that process."""
    try:
        os.close(os.open(f"{place}.begun", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        pass
    else:
        environment = os.environ | {"PYTHONPATH": os.pathsep.join((str(HERE.parents[1]), os.environ.get("PYTHONPATH", "")))}
        environment.pop("WORKBENCH_HOME", None)  # it belongs to no home, whose end would be its own
        with Path(f"{place}.log").open("wb") as log:  # nobody's own output, which its reader would wait for
            command = [sys.executable, __file__, str(place)]
            subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    deadline = time.monotonic() + 120
    while not place.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return place


def serve(place: Path) -> None:
    """Import, listen, and fork for whoever asks, until somebody comes who asks for nothing."""
    import workbench

    for name in (*OTHERS, *(module.name for module in pkgutil.walk_packages(workbench.__path__, "workbench."))):
        if not name.startswith(ONLY_SHOWN):
            importlib.import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no zombies
    workers, owner = list[int](), int(os.environ[OWNER])
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(f"{place}.partial")
        listening.listen()
        os.rename(f"{place}.partial", place)
        listening.settimeout(5.0)
        while psutil.pid_exists(owner):
            try:
                asking, _ = listening.accept()
            except TimeoutError:
                continue
            with asking:
                if not (text := asking.makefile("rb").read()):
                    break
                if not (pid := os.fork()):
                    asking.close()
                    listening.close()
                    become(json.loads(text))
                workers.append(pid)
                asking.sendall(str(pid).encode())
    for pid in workers:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def become(request: dict[str, Any]) -> None:
    """The worker, in this process."""
    code: Any = 1
    try:
        prepare(request)
        runpy.run_module(WORKER, run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        sys.excepthook(*sys.exc_info())  # pyright: ignore[reportArgumentType]
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 1)


def prepare(request: dict[str, Any]) -> None:
    """What the new process would have had from its start."""
    import numpy as np
    import torch

    from workbench.files import open_private
    from workbench.jobs.launchers import local

    os.setsid()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    with open_private(Path(request["log"]), "ab") as output, Path(os.devnull).open("rb") as nothing:
        for number, file in enumerate((nothing, output, output)):
            os.dup2(file.fileno(), number)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    sys.argv[:] = [WORKER, *request["arguments"]]
    faulthandler.enable()
    np.random.seed()  # or all forks would draw alike
    torch.seed()
    if threads := os.environ.get("OMP_NUM_THREADS"):
        torch.set_num_threads(int(threads))
    local.start_apart = start_apart


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
