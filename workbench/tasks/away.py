"""The process of a job elsewhere: `python -m workbench.tasks.away FOLDER ATTEMPT`, started by an engine where FOLDER can be reached.

It works in a home of its own on the machine's own disk, whose key, job and run are the order's, and whose folder of the run is the shared
one. It reports by its post, and ends where another process has taken over.
"""

import fcntl
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from workbench.errors import WorkbenchError
from workbench.files import PRIVATE_FILE, make_private_folder
from workbench.jobs.away.order import Order
from workbench.jobs.away.post import Post
from workbench.jobs.heartbeat import StopSignal
from workbench.jobs.launchers.base import DEFAULT
from workbench.jobs.launchers.local import Local
from workbench.jobs.registry import insert, registry
from workbench.privacy.spending.journals import Counts
from workbench.privacy.spending.ledger import Ledger
from workbench.runs.fitting import follow
from workbench.runs.store import RunStore
from workbench.tasks import worker
from workbench.tasks.log import forgiving_log
from workbench.workspace import KEY, Workspace

PREFIX = "workbench-away-"
NEW_SECONDS = 60.0


def main(folder: Path, attempt: int) -> int:
    """Do what the order says, from the checkpoint on; returns the exit code."""
    stop = StopSignal()
    worker.listen(stop)
    order, rank = Order.read(folder), joined_rank()
    post = Post.take(folder, attempt) if rank == 0 else None
    with scratch_home(order) as workspace:
        furnish(workspace, order, folder, post)
        if post is None:
            follow(workspace, RunStore(workspace).get(order.job["id"]))
            return 0
        with forgiving_log(sys.stdout, sys.stderr):
            return worker.work(workspace, order.job["id"], attempt, stop)


def joined_rank() -> int:
    """This process's number among those that torchrun started, having joined them; 0 for a process of its own."""
    if "LOCAL_RANK" not in os.environ:
        return 0
    import torch

    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    torch.distributed.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    return torch.distributed.get_rank()


@contextmanager
def scratch_home(order: Order) -> Iterator[Workspace]:
    """An empty home on this machine's disk, removed at the end; those that killed processes left are removed too."""
    for left in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        _remove_if_left(left)
    home = Path(tempfile.mkdtemp(prefix=PREFIX))
    lock = os.open(home / "scratch.lock", os.O_RDWR | os.O_CREAT, PRIVATE_FILE)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield Workspace.open(home / "home", Path(os.environ.get("WORKBENCH_DATA") or order.data))
    finally:
        os.close(lock)
        shutil.rmtree(home, ignore_errors=True)


def furnish(workspace: Workspace, order: Order, folder: Path, post: Post | None) -> None:
    """Put key, rows, folder and counts of the order into a home: what was charged before, by whatever process, counts from the start.

    The job is this process's from then on, however long it waited in the engine's line. A process without a `post` charges nothing: it
    shares the steps of one that has.
    """
    descriptor = os.open(workspace.home / KEY, os.O_WRONLY | os.O_CREAT, PRIVATE_FILE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(bytes.fromhex(order.key))
    make_private_folder(workspace.runs)
    (workspace.runs / order.job["id"]).symlink_to(folder.resolve().parent)
    known: Counts = {}
    if post is not None:
        post.mark(workspace)
        known = post.begin()
    database = registry(workspace)
    database.prepare()
    own: dict[str, Any] = {"launcher": DEFAULT, "process": Local().own(), "heartbeat": time.time()}
    life = {"state": "starting", "attempt": order.attempt, **own}
    with database.transaction() as connection:
        insert(connection, "jobs", order.job | life)
        if order.run is not None:
            insert(connection, "runs", order.run | {"epsilon_spent": float(order.run["epsilon_spent"])})
    if order.run is not None and post is not None:
        _charge(workspace, order.job["id"], known)


def _charge(workspace: Workspace, run_id: str, known: Counts) -> None:
    """Open the run in this home's ledger with what is known."""
    run, ledger = RunStore(workspace).get(run_id), Ledger(workspace.ledger)
    named, public = (run.dataset, run.plan.method), run.plan.public_images
    ledger.open_run(run.id, run.fingerprint, *named, run.plan.stages, run.plan.delta, account=run.plan.facts.name, public=public)
    for stage, (charged, again) in known.items():
        if charged:
            ledger.charge(run.id, stage, charged)
        if again:
            ledger.charge_again(run.id, stage, again)


def _remove_if_left(home: Path) -> None:
    """Remove a home of which no process has the lock; one that is just being made may not have it yet."""
    with suppress(OSError), (home / "scratch.lock").open("rb") as lock:
        if time.time() - home.stat().st_mtime < NEW_SECONDS:
            return
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    try:
        sys.exit(main(Path(sys.argv[1]), int(sys.argv[2])))
    except WorkbenchError as problem:
        print(problem, file=sys.stderr)
        sys.exit(2)
