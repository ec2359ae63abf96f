"""Kernels of notebooks that begin with what every lesson imports: two thirds of a small lesson's time are imports.

One process imports it all and forks for each kernel. What nbclient starts in a kernel's place asks it for a fork and lives as long.
"""

import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

IMPORTED = (
    "ipykernel.kernelapp", "ipywidgets", "matplotlib.pyplot", "numpy", "pandas", "scipy.stats", "sklearn.linear_model", "torch",
    "torch._dynamo", "opacus", "plotly.graph_objects", "workbench.experiment", "workbench.evaluation", "workbench.tasks",
)  # fmt: skip
INLINE = "module://matplotlib_inline.backend_inline"  # as a kernel has it
LONGEST = 2**20  # bytes of a request


@pytest.fixture(scope="session")
def warm_kernels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """The command of a kernel, as a kernel's specification has it."""
    place = tmp_path_factory.mktemp("kernels") / "socket"
    server = subprocess.Popen(
        [sys.executable, __file__, "serve", str(place)], env=os.environ | {"MPLBACKEND": INLINE, "OMP_NUM_THREADS": "1"}
    )
    while not place.exists():
        assert server.poll() is None
        time.sleep(0.1)
    yield [sys.executable, __file__, "kernel", str(place), "-f", "{connection_file}"]
    server.kill()
    server.wait()


def serve(place: Path) -> None:
    """Import, listen, and fork for whoever asks."""
    for name in IMPORTED:
        __import__(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no zombies
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(f"{place}.partial")
        listening.listen()
        os.rename(f"{place}.partial", place)
        while True:
            asking, _ = listening.accept()
            request, files, _, _ = socket.recv_fds(asking, LONGEST, 3)
            if not os.fork():
                listening.close()
                become(json.loads(request), files)
            for file in (*files, asking.fileno()):
                os.close(file)
            asking.detach()


def become(request: dict[str, object], files: list[int]) -> None:
    """The kernel, in this process."""
    code = 1
    with suppress(SystemExit):
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for number, file in enumerate(files):
            os.dup2(file, number)
        os.environ.clear()
        os.environ.update(request["environment"])  # type: ignore[call-overload]
        os.chdir(str(request["folder"]))
        sys.argv[:] = ["ipykernel_launcher", *request["arguments"]]  # type: ignore[misc]
        sys.path[0] = str(request["folder"])
        runpy.run_module("ipykernel_launcher", run_name="__main__")
        code = 0
    sys.stdout.flush()
    os._exit(code)


def kernel(place: str, arguments: list[str]) -> None:
    """Ask for a kernel, and end when it does."""
    request = {"environment": dict(os.environ), "folder": os.getcwd(), "arguments": arguments}
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.connect(place)
        socket.send_fds(asking, [json.dumps(request).encode()], [0, 1, 2])
        asking.recv(1)  # nothing comes; it closes with the kernel


if __name__ == "__main__":
    serve(Path(sys.argv[2])) if sys.argv[1] == "serve" else kernel(sys.argv[2], sys.argv[3:])
