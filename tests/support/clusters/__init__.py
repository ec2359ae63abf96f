"""Real clusters on this machine's loopback, for the slow tier: set up, and ended by the ids of their own processes."""

import ctypes
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
NEW_NETWORK, PORT = 0x40000000, 8265  # of Linux: a network namespace of its own
SLURM = ("slurmctld", "slurmd", "munged", "sbatch")


@contextmanager
def slurm(nodes: int = 2) -> Iterator[Path]:
    """A controller and so many node daemons; yields the folder of their files, with `SLURM_CONF` set meanwhile."""
    folder = Path(tempfile.mkdtemp(prefix="slurm-", dir="/tmp"))  # munged refuses one that is closed to others above its socket
    folder.chmod(0o755)
    before = os.environ.get("SLURM_CONF")
    os.environ["SLURM_CONF"] = str(folder / "slurm.conf")
    try:
        subprocess.run(["bash", HERE / "slurm_up.sh", folder, str(nodes)], check=True, capture_output=True, text=True, timeout=60)
        yield folder
    finally:
        subprocess.run(["bash", HERE / "slurm_down.sh", folder], check=False, capture_output=True, timeout=60)
        os.environ.pop("SLURM_CONF")
        if before is not None:
            os.environ["SLURM_CONF"] = before
        shutil.rmtree(folder, ignore_errors=True)


def has_slurm() -> bool:
    """Whether Slurm and munge are installed."""
    return all(shutil.which(name) or Path("/usr/sbin", name).exists() for name in SLURM)


class RayNodes:
    """A cluster of Ray that takes further nodes."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process, self._number = process, 2

    def join(self) -> None:
        """One more node, in a while."""
        self._number += 1
        assert self._process.stdin is not None
        self._process.stdin.write(f"{self._number}\n")
        self._process.stdin.flush()


@contextmanager
def ray() -> Iterator[RayNodes]:
    """Two nodes of one processor each, with `RAY_ADDRESS` set meanwhile: this thread has a network of its own until they are gone."""
    folder = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))  # a longer name would be too long for its sockets
    before, libc = os.open("/proc/thread-self/ns/net", os.O_RDONLY), ctypes.CDLL(None, use_errno=True)
    assert libc.unshare(NEW_NETWORK) == 0, os.strerror(ctypes.get_errno())
    process = None
    try:
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        alone = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
        environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        command = [*alone, "bash", str(HERE / "ray_up.sh"), str(folder), str(PORT)]
        with (folder / "nodes.log").open("w") as log:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log, text=True, env=environment)
        until(lambda: (folder / "up").exists() or process.poll() is not None, "Ray to be up")
        assert process.poll() is None, (folder / "nodes.log").read_text()
        os.environ["RAY_ADDRESS"] = f"http://127.0.0.1:{PORT}"
        yield RayNodes(process)
    finally:
        os.environ.pop("RAY_ADDRESS", None)
        if process is not None:
            process.kill()
            process.wait()
        libc.setns(before, NEW_NETWORK)
        os.close(before)
        shutil.rmtree(folder, ignore_errors=True)


def has_ray() -> bool:
    """Whether Ray is installed, and this process may make namespaces."""
    return importlib.util.find_spec("ray") is not None and os.geteuid() == 0 and all(map(shutil.which, ("ip", "unshare")))


def until(condition: Callable[[], object], what: str, seconds: float = 120.0) -> None:
    """Wait for a condition; the test fails where it never holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds:.0f} s for {what}"
        time.sleep(0.1)
