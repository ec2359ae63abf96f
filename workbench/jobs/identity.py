"""Which process is meant, and whether it still lives: a pid alone says neither."""

import os
import signal
from pathlib import Path

import psutil
from pydantic import BaseModel, ConfigDict


class ProcessIdentity(BaseModel):
    """A process told apart from every other: its pid, when it started, and the boot and pid namespace it belongs to."""

    model_config = ConfigDict(frozen=True)

    pid: int
    started: str
    boot: str


def boot_identity() -> str:
    """The boot and the pid namespace of this process; pids can be compared only where both agree."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    name = boot.read_text().strip() if boot.exists() else f"boot-{round(psutil.boot_time() / 60)}"
    namespace = Path("/proc/self/ns/pid")
    return f"{name} {os.readlink(namespace)}" if namespace.is_symlink() else name


def start_time(pid: int) -> str | None:
    """When process `pid` started, as text to compare; None if there is no such process or it has ended unreaped.

    On Linux this is the kernel's tick count since boot, which no change of the clock moves.
    """
    try:
        process = psutil.Process(pid)
        if process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
            return None
        stat = Path(f"/proc/{pid}/stat")
        if stat.exists():
            return stat.read_text().rpartition(")")[2].split()[19]
        return f"{process.create_time():.0f}"
    except (psutil.NoSuchProcess, FileNotFoundError, ProcessLookupError):
        return None


def identity_of(pid: int) -> ProcessIdentity | None:
    """The identity of a living process, or None."""
    started = start_time(pid)
    return None if started is None else ProcessIdentity(pid=pid, started=started, boot=boot_identity())


def is_here(process: ProcessIdentity) -> bool:
    """Whether the process belongs to this boot and namespace, so that its pid means something."""
    return process.boot == boot_identity()


def is_alive(process: ProcessIdentity) -> bool:
    """Whether that very process runs here; a zombie and a reused pid do not count."""
    return is_here(process) and start_time(process.pid) == process.started


def send_signal(process: ProcessIdentity, number: signal.Signals, group: bool = False) -> bool:
    """Signal the process, or its whole group; False if it no longer lives or lives elsewhere."""
    if not is_alive(process):
        return False
    try:
        (os.killpg if group else os.kill)(process.pid, number)
    except ProcessLookupError:
        return False
    return True
