"""The short-lived process between the app and a worker: it starts the worker, prints its identity, and ends.

The worker is then a child of init, in a session of its own: it survives whatever happens to the app, and leaves no zombie.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from workbench.errors import WorkbenchError
from workbench.files import open_private
from workbench.jobs.identity import ProcessIdentity, identity_of
from workbench.jobs.launchers.base import Handle


def start_apart(log: Path, command: Sequence[str], environment: Mapping[str, str], keep: Sequence[int] = ()) -> Handle:
    """Start `command` as nobody's child, with its output appended to `log`; the open files `keep` are its too.

    Returns the fields of its `ProcessIdentity`; raises WorkbenchError where it has ended already, or whoever starts it was killed.
    """
    ended = subprocess.run(
        [sys.executable, "-m", "workbench.jobs.launchers.detach", str(log), ",".join(map(str, keep)), *command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=dict(environment),
        pass_fds=keep,
        check=False,
    )
    if ended.returncode < 0:
        raise WorkbenchError(f"its starter was killed by {name_of(-ended.returncode)} before it began; start it again")
    if ended.returncode:
        raise WorkbenchError((ended.stderr.strip().splitlines() or ["no reason given"])[-1])
    return json.loads(ended.stdout)


def name_of(number: int) -> str:
    """The name of a signal, as SIGKILL; of a real-time one its number."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def start_detached(log: Path, command: Sequence[str], keep: Sequence[int]) -> ProcessIdentity | None:
    """Start `command` detached from everything, with `log` as its only output; None if it has ended already."""
    with open_private(log, "ab") as output:
        worker = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True, pass_fds=keep)
    return identity_of(worker.pid)


if __name__ == "__main__":
    started = start_detached(Path(sys.argv[1]), sys.argv[3:], [int(number) for number in sys.argv[2].split(",") if number])
    if started is None:
        sys.exit("it ended at once; its log says why")
    print(started.model_dump_json())
