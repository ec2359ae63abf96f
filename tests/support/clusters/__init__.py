"""Real clusters on this machine's loopback, for the slow tier: set up, and ended by the ids of their own processes."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent
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


def until(condition: Callable[[], object], what: str, seconds: float = 120.0) -> None:
    """Wait for a condition; the test fails where it never holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds:.0f} s for {what}"
        time.sleep(0.1)
