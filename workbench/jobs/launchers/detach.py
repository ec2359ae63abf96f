"""The short-lived process between the app and a worker: it starts the worker, prints its identity, and ends.

The worker is then a child of init, in a session of its own: it survives whatever happens to the app, and leaves no zombie.
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from workbench.files import open_private
from workbench.jobs.identity import ProcessIdentity, identity_of


def start_detached(log: Path, command: Sequence[str]) -> ProcessIdentity | None:
    """Start `command` detached from everything, with `log` as its only output; None if it has ended already."""
    with open_private(log, "ab") as output:
        worker = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True)
    return identity_of(worker.pid)


if __name__ == "__main__":
    started = start_detached(Path(sys.argv[1]), sys.argv[2:])
    if started is None:
        sys.exit("it ended at once; its log says why")
    print(started.model_dump_json())
