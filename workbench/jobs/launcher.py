"""The short-lived process between the app and a worker: it starts the worker, records it, and ends.

The worker is then a child of init, in a session of its own: it survives whatever happens to the app, and leaves no zombie.
"""

import os
import subprocess
import sys

from workbench.files import open_private
from workbench.jobs.folder import RunFolder
from workbench.jobs.identity import identity_of
from workbench.jobs.store import RunStore
from workbench.workspace import Workspace


def start_worker(workspace: Workspace, run_id: str, attempt: int) -> None:
    """Start the worker of `attempt` detached from everything, with the run's log as its only output, and record it."""
    with open_private(RunFolder(workspace, run_id).log, "ab") as log:
        worker = subprocess.Popen(
            [sys.executable, "-m", "workbench.jobs.worker", run_id, str(attempt)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={**os.environ, **workspace.environment, "PYTHONUNBUFFERED": "1", "PYTHONFAULTHANDLER": "1"},
        )
    RunStore(workspace).beat(run_id, attempt, process=identity_of(worker.pid))


if __name__ == "__main__":
    start_worker(Workspace.default(), sys.argv[1], int(sys.argv[2]))
