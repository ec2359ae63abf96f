"""Jobs on a Ray cluster, by the REST interface of Ray Jobs: no package of Ray is needed here.

`RAY_ADDRESS` names the cluster's dashboard, as http://127.0.0.1:8265; `RAY_JOB_HEADERS` holds headers of every request as JSON, where a
proxy asks for them. The job's folder lies on a file system that the nodes share (`WORKBENCH_SHARED`), and `WORKBENCH_PYTHON` is the
interpreter on the nodes where it is called otherwise than here.
"""

import json
import os
import secrets
import shlex
import signal
import urllib.error
import urllib.request
from collections.abc import Sequence
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from workbench.errors import WorkbenchError
from workbench.jobs.launchers.base import Engine, Handle, Resources, Status, away_command
from workbench.workspace import Workspace

ADDRESS, HEADERS = "RAY_ADDRESS", "RAY_JOB_HEADERS"
ASK_SECONDS = 20.0
DUE = frozenset({  # the engine's own doing: its node or its supervisor is gone, or the job has waited longer than Ray lets one wait
    *("JOB_SUPERVISOR_ACTOR_DIED", "JOB_SUPERVISOR_ACTOR_UNKNOWN_FAILURE", "JOB_SUPERVISOR_ACTOR_START_FAILURE"),
    *("JOB_SUPERVISOR_ACTOR_START_TIMEOUT", "JOB_SUPERVISOR_ACTOR_UNSCHEDULABLE"),
})  # fmt: skip


class Ray(Engine):
    """Handles hold the id of the submission, which Ray takes once."""

    is_apart = True

    def missing(self) -> str:
        """The address has to be known, and of the dashboard: clients of Ray's own take another."""
        address = os.environ.get(ADDRESS, "")
        if address.startswith(("http://", "https://")):
            return ""
        expected = f"Expected the address of the Ray cluster's dashboard in {ADDRESS}, as http://127.0.0.1:8265"
        if not address:
            return f"{expected}, found none. Set it."
        host = urlsplit(address).hostname or "host" if "://" in address else "host"
        return f"{expected}, got {address!r}, at which no jobs are taken. Set it to that of the dashboard: http://{host}:8265 by default."

    def start(self, workspace: Workspace, job_id: str, attempt: int, log: Path, device: str = "", needs: Resources | None = None) -> Handle:
        """One submission, which takes a processor of its node unless it asks for more; the shell becomes the worker."""
        del workspace, device
        needs = needs or Resources()
        if needs.minutes:
            raise WorkbenchError("Expected no minutes, as Ray ends no job by time: leave out `--ask minutes`.")
        command = f"exec {shlex.join(away_command(log, attempt, needs.gpus))} >>{shlex.quote(str(log.resolve()))} 2>&1"
        name = f"workbench-{job_id}-{attempt}-{secrets.token_hex(4)}"
        resources = {
            "entrypoint_num_cpus": max(1, needs.cpus),
            "entrypoint_num_gpus": needs.gpus,
            "entrypoint_memory": needs.memory * 2**20,
        }
        order = {"entrypoint": command, "submission_id": name} | {key: value for key, value in resources.items() if value}
        return {"job": _fields(_answer("jobs/", order), "submission_id")["submission_id"]}

    def signal(self, process: Handle, number: signal.Signals, group: bool = False) -> bool:
        """One that waits is stopped. One that runs has been told by its folder: Ray would leave it three seconds for its checkpoint."""
        job = str(process["job"])
        try:
            if number == signal.SIGTERM and not group and self.poll([process])[0].state == "running":
                return True
            return bool(_fields(_answer(f"jobs/{job}/stop", {}), "stopped")["stopped"])
        except WorkbenchError:
            return False

    def states(self, jobs: Sequence[str]) -> dict[str, Status] | None:
        """One list of all that the cluster knows; None where it does not answer."""
        try:
            answer = _answer("jobs/")
            rows = [_fields(row, "status") for row in (answer if isinstance(answer, list) else [answer])]
        except WorkbenchError:
            return None
        return {row["submission_id"]: _status(row) for row in rows if row.get("submission_id") in jobs}


def _status(row: dict[str, Any]) -> Status:
    """What Ray says of a job."""
    state, error = row["status"], row.get("error_type") or ""
    if state == "PENDING":
        return Status("pending", f"Ray: {row.get('message') or state}")
    if state == "RUNNING":
        return Status("running")
    return Status("ended", f"Ray: {error or state}", is_due=error in DUE, was_cancelled=state == "STOPPED")


def _answer(path: str, order: dict[str, Any] | None = None) -> Any:
    """What the dashboard answers to a request, a posted `order` or a question; WorkbenchError where it refuses or there is no Ray."""
    address = os.environ.get(ADDRESS, "").rstrip("/")
    try:
        return _received(f"{address}/api/{path}", order)
    except urllib.error.HTTPError as error:
        said = error.read().decode(errors="replace").strip().splitlines()
        if not _is_ray(address):
            raise WorkbenchError(f"{_not_ray(address)} It answers {error.code} ({error.reason}).") from error
        raise WorkbenchError(
            f"Ray at {address} refused ({error.code} {error.reason}): {said[-1] if said else 'no reason given'}"
        ) from error
    except json.JSONDecodeError as error:
        raise WorkbenchError(_not_ray(address)) from error
    except (OSError, ValueError, HTTPException) as error:
        raise WorkbenchError(f"Expected an answer of the Ray cluster at {address}, got none ({error}).") from error


def _received(url: str, order: dict[str, Any] | None = None) -> Any:
    """The value at an address; HTTPError, OSError, ValueError or HTTPException where there is none."""
    headers = {"Content-Type": "application/json"} | json.loads(os.environ.get(HEADERS) or "{}")
    data = None if order is None else json.dumps(order).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=ASK_SECONDS) as answer:
        return json.load(answer)


def _is_ray(address: str) -> bool:
    """Whether the server at an address says which version of Ray it is."""
    try:
        version = _received(f"{address}/api/version")
    except (OSError, ValueError, HTTPException):
        return False
    return isinstance(version, dict) and "ray_version" in version


def _fields(answer: Any, *names: str) -> dict[str, Any]:
    """An answer that has these fields; WorkbenchError for any other, as no Ray gave it."""
    if not isinstance(answer, dict) or not all(name in answer for name in names):
        raise WorkbenchError(_not_ray(os.environ.get(ADDRESS, "")))
    return answer


def _not_ray(address: str) -> str:
    return (
        f"Expected the dashboard of a Ray cluster at {address}, found another server. Set {ADDRESS} to the dashboard's address, "
        f"and {HEADERS} where a proxy stands before it."
    )
