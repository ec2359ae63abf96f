"""Which of the waiting jobs fit beside those at work, and why the others wait: nothing here reads a clock or a file."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from workbench.jobs.job import Job
from workbench.jobs.launchers import has_machines

BESIDE = 0.5  # the room beside the runs of the CPU, in runs
PAUSED = "the queue is paused"


@dataclass(frozen=True)
class Room:
    """What there is for jobs: runs at once on the CPU, GPUs, and bytes of memory; nothing starts in a `paused` one."""

    cpu_runs: int = 1
    gpus: int = 0
    memory: int = 0
    paused: bool = False


@dataclass(frozen=True)
class Turn:
    """What becomes of a waiting job: the `device` that it gets now, or the `reason` why it waits."""

    job: Job
    device: str = ""
    reason: str = ""

    @property
    def fits(self) -> bool:
        """Whether it may start now."""
        return not self.reason


def assign(waiting: Sequence[Job], at_work: Sequence[Job], room: Room) -> list[Turn]:
    """What becomes of each waiting job, in order: none overtakes one that waits for the same.

    A job that waits keeps its place: those behind it get only what it cannot use.
    """
    taken = UsedPlaces(room)
    for job in at_work:
        if not has_machines(job.launcher):
            taken.add(job, job.placed or job.terms.device)
    return [taken.turn(job) for job in waiting]


@dataclass
class UsedPlaces:
    """What is in use, or kept for a job that waits: GPUs by the job that has them, runs of the CPU, the room beside them, bytes."""

    room: Room
    gpus: dict[int, str] = field(default_factory=dict)
    runs: int = 0
    beside: float = 0.0
    memory: int = 0

    def turn(self, job: Job) -> Turn:
        """What becomes of the next job that waits; it is counted either way."""
        if needs_nothing(job):
            return Turn(job, job.terms.device)
        device = self._free_gpu(job) if on_gpu(job.terms.device) else job.terms.device
        reason = PAUSED if self.room.paused else self._reason(job, device)
        self.add(job, device or job.terms.device)
        return Turn(job, reason=reason) if reason else Turn(job, device)

    def add(self, job: Job, device: str) -> None:
        """Count a job on its device."""
        if on_gpu(device):
            self.gpus.setdefault(gpu_of(device), job.id)
        elif job.terms.cpu_share >= 1:
            self.runs += 1
        else:
            self.beside += job.terms.cpu_share
        self.memory += job.terms.memory

    def _free_gpu(self, job: Job) -> str:
        """The GPU that a job may have, empty where it waits for one; where there are none its own process says so."""
        if job.terms.device != "cuda":
            return "" if gpu_of(job.terms.device) in self.gpus else job.terms.device
        free = [number for number in range(self.room.gpus) if number not in self.gpus]
        return f"cuda:{free[0]}" if free else "" if self.room.gpus else "cuda"

    def _reason(self, job: Job, device: str) -> str:
        """Why it waits; empty where it need not."""
        if not device:
            having = self.gpus.get(gpu_of(job.terms.device))
            return f"it waits for {job.terms.device}, which {having} has" if ":" in job.terms.device else "it waits for a GPU"
        if not on_gpu(device):
            free = self.room.cpu_runs - self.runs
            if job.terms.cpu_share >= 1 and free <= 0:
                return f"it waits for a place on the CPU, which has {self.room.cpu_runs} for runs"
            left = BESIDE + max(0, free - (job.terms.cpu_share >= 1))
            if self.beside + (job.terms.cpu_share < 1) * job.terms.cpu_share > left:
                return "it waits for measures that share the CPU"
        if job.terms.memory and self.memory and self.memory + job.terms.memory > self.room.memory:
            return f"it waits for memory: it takes about {gibibytes(job.terms.memory)} of {gibibytes(self.room.memory)}, others the rest"
        return ""


def needs_nothing(job: Job) -> bool:
    """Whether a job never waits: it takes no place here, as an engine has it, or it only waits for other jobs or gives way to all."""
    return has_machines(job.launcher) or (job.terms.cpu_share == 0 and not on_gpu(job.terms.device))


def on_gpu(device: str) -> bool:
    """Whether a device is a GPU."""
    return device.startswith("cuda")


def gpu_of(device: str) -> int:
    """The number of a GPU: 0 of one without."""
    return int(device.partition(":")[2] or 0)


def gibibytes(count: int) -> str:
    """Bytes in words."""
    return f"{count / 2**30:.1f} GiB"
