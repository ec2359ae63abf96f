"""What launchers say, without an engine: their words for its states, what they ask it for, and when they refuse."""

import json
import socket
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from signal import Signals
from threading import Thread
from typing import Any

import pytest

from workbench.cli.options import parse_resources
from workbench.errors import WorkbenchError
from workbench.jobs.launchers import LAUNCHERS, Resources, chosen_launcher, slurm
from workbench.jobs.launchers.base import away_command
from workbench.jobs.launchers.ray import Ray
from workbench.jobs.launchers.slurm import Slurm


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of commands by Slurm's names: each notes how it was called and prints what `NAME.out` holds."""
    for name in slurm.COMMANDS:
        path = tmp_path / name
        lines = (f'echo {name} "$@" >> asked', f"cat {name}.out 2>/dev/null", f"cat > {name}.in")
        path.write_text("\n".join(["#!/bin/bash", f"cd {tmp_path}", *lines, ""]))
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


def commands(cluster: Path) -> list[str]:
    return (cluster / "asked").read_text().splitlines()


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("PENDING", ("pending", False, False)),
        ("REQUEUED", ("pending", False, False)),
        ("RUNNING", ("running", False, False)),
        ("COMPLETING", ("running", False, False)),
        ("NODE_FAIL", ("ended", True, False)),
        ("TIMEOUT", ("ended", True, False)),
        ("FAILED", ("ended", False, False)),
        ("OUT_OF_MEMORY", ("ended", False, False)),
        ("CANCELLED", ("ended", False, True)),
    ],
)
def test_states_of_slurm(cluster: Path, state: str, expected: tuple[str, bool, bool]) -> None:
    (cluster / "squeue.out").write_text(f"7|{state}|Priority\n")
    status, gone = Slurm().poll([{"job": "7"}, {"job": "8"}])
    assert (status.state, status.is_due, status.was_cancelled) == expected
    assert (gone.state, gone.is_due) == ("ended", False), "the controller has forgotten it"
    assert commands(cluster) == ["squeue --noheader --states=all --jobs=7,8 --format=%i|%T|%r"], "one question for all"


def test_a_controller_that_does_not_answer_ends_nothing(cluster: Path) -> None:
    (cluster / "squeue").write_text("#!/bin/bash\necho 'Unable to contact slurm controller' >&2\nexit 1\n")
    assert Slurm().poll([{"job": "7"}])[0].state == "unknown"
    (cluster / "squeue").write_text("#!/bin/bash\necho 'slurm_load_jobs error: Invalid job id specified' >&2\nexit 1\n")
    assert Slurm().poll([{"job": "7"}])[0].state == "ended"


def test_what_slurm_is_asked_for(cluster: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WORKBENCH_SLURM", "--partition=gpu --comment='two words'")
    (cluster / "sbatch.out").write_text("12;cluster\n")
    needs = parse_resources(["gpus=1", "memory=4000", "minutes=90", "cpus=2"])
    assert Slurm().start(None, "abcdefgh", 3, tmp_path / "log.txt", needs=needs) == {"job": "12"}  # type: ignore[arg-type]
    words = commands(cluster)[0]
    for option in ("--parsable", "--requeue", "--gpus=1", "--mem=4000M", "--time=90", "--cpus-per-task=2", "--partition=gpu", "two words"):
        assert option in words
    script = (cluster / "sbatch.in").read_text()
    assert script.splitlines()[1] == f"exec {sys.executable} -m workbench.tasks.away {tmp_path}/away 3"


def test_several_gpus_share_each_batch_by_torchrun(tmp_path: Path) -> None:
    words = away_command(tmp_path / "log.txt", 1, processes=4)
    assert words[1:6] == ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "4"]


def test_engines_that_are_not_here_say_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(WorkbenchError, match=r"Expected the commands of Slurm, found no sbatch, squeue, scancel\. Start the run from"):
        chosen_launcher("slurm")
    with pytest.raises(WorkbenchError, match=r"Unknown launcher 'moon'\. Choose one of: local, slurm, ray"):
        chosen_launcher("moon")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with pytest.raises(WorkbenchError, match=r"Expected the address of the Ray cluster's dashboard in RAY_ADDRESS, as http.*found none"):
        chosen_launcher("ray")
    assert set(LAUNCHERS) == {"local", "slurm", "ray"}


def test_resources_are_numbers_of_known_things() -> None:
    assert parse_resources(None) == Resources()
    with pytest.raises(WorkbenchError, match=r"Unknown resource 'gpu'\. Choose one of: gpus, cpus, memory, minutes"):
        parse_resources(["gpu=1"])
    with pytest.raises(WorkbenchError, match="gpus"):
        parse_resources(["gpus=-1"])


class Dashboard(ThreadingHTTPServer):
    """What answers in the place of a Ray cluster's dashboard: `jobs` as told, and every order noted."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.jobs: list[dict[str, Any]] = []
        self.orders: list[tuple[str, dict[str, Any]]] = []
        self.questions = 0
        self.refusal = ""  # what every order is answered with, as 400, where it is not empty
        self.page = ""  # what another server answers to whatever it is asked
        self.code = 200


class Answers(BaseHTTPRequestHandler):
    server: Dashboard  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_GET(self) -> None:
        self.server.questions += 1
        self.answer({"version": "4", "ray_version": "2.60.0"} if self.path == "/api/version" else self.server.jobs)

    def do_POST(self) -> None:
        order = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.orders.append((self.path, order))
        if self.server.refusal:
            return self.send(400, self.server.refusal)
        return self.answer({"stopped": True} if self.path.endswith("/stop") else {"submission_id": order["submission_id"]})

    def answer(self, value: Any) -> None:
        self.send(self.server.code, self.server.page or json.dumps(value))

    def send(self, code: int, text: str) -> None:
        self.send_response(code)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@pytest.fixture
def dashboard(monkeypatch: pytest.MonkeyPatch) -> Iterator[Dashboard]:
    server = Dashboard()
    monkeypatch.setenv("RAY_ADDRESS", f"http://127.0.0.1:{server.server_port}")
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"status": "PENDING"}, ("pending", False, False)),
        ({"status": "RUNNING"}, ("running", False, False)),
        ({"status": "SUCCEEDED"}, ("ended", False, False)),
        ({"status": "FAILED", "error_type": "JOB_ENTRYPOINT_COMMAND_ERROR"}, ("ended", False, False)),
        ({"status": "FAILED", "error_type": "JOB_SUPERVISOR_ACTOR_DIED"}, ("ended", True, False)),
        ({"status": "FAILED", "error_type": "JOB_SUPERVISOR_ACTOR_START_TIMEOUT"}, ("ended", True, False)),
        ({"status": "STOPPED"}, ("ended", False, True)),
    ],
)
def test_states_of_ray(dashboard: Dashboard, row: dict[str, Any], expected: tuple[str, bool, bool]) -> None:
    dashboard.jobs = [{"submission_id": "a"} | row, {"submission_id": None, "status": "RUNNING"}]
    status, gone = Ray().poll([{"job": "a"}, {"job": "b"}])
    assert (status.state, status.is_due, status.was_cancelled) == expected
    assert (gone.state, gone.is_due) == ("ended", False), "the cluster has forgotten it"
    assert dashboard.questions == 1, "one question for all"


def test_a_cluster_that_does_not_answer_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = Ray()
    monkeypatch.setenv("RAY_ADDRESS", "http://127.0.0.1:1")
    assert ray.poll([{"job": "a"}])[0].state == "unknown"
    assert not ray.signal({"job": "a"}, Signals.SIGKILL), "nobody heard it"
    with pytest.raises(WorkbenchError, match=r"Expected an answer of the Ray cluster at http://127\.0\.0\.1:1, got none"):
        ray.start(None, "abcdefgh", 1, Path("log.txt"))  # type: ignore[arg-type]


def test_what_ray_is_asked_for(dashboard: Dashboard, tmp_path: Path) -> None:
    handle = Ray().start(None, "abcdefgh", 3, tmp_path / "my log.txt", needs=parse_resources(["gpus=1", "memory=4000"]))  # type: ignore[arg-type]
    ((path, order),) = dashboard.orders
    assert (path, order.pop("submission_id")) == ("/api/jobs/", handle["job"])
    assert handle["job"].startswith("workbench-abcdefgh-3-")
    assert order.pop("entrypoint") == f"exec {sys.executable} -m workbench.tasks.away {tmp_path}/away 3 >>'{tmp_path}/my log.txt' 2>&1"
    assert order == {"entrypoint_num_cpus": 1, "entrypoint_num_gpus": 1, "entrypoint_memory": 4000 * 2**20}
    with pytest.raises(WorkbenchError, match="Ray ends no job by time"):
        Ray().start(None, "abcdefgh", 3, tmp_path / "log.txt", needs=parse_resources(["minutes=5"]))  # type: ignore[arg-type]


@pytest.mark.parametrize(("state", "number", "stopped"), [("PENDING", 15, True), ("RUNNING", 15, False), ("RUNNING", 9, True)])
def test_a_job_of_ray_at_work_has_the_time_that_its_checkpoint_takes(dashboard: Dashboard, state: str, number: int, stopped: bool) -> None:
    dashboard.jobs = [{"submission_id": "a", "status": state}]
    assert Ray().signal({"job": "a"}, Signals(number))
    assert [path for path, _ in dashboard.orders] == ["/api/jobs/a/stop"] * stopped


@pytest.mark.parametrize(
    ("address", "wanted"),
    [("ray://head.example:10001", "http://head.example:8265"), ("auto", "http://host:8265"), ("127.0.0.1:6379", "http://host:8265")],
)
def test_an_address_that_takes_no_jobs_is_refused_with_the_one_that_does(
    address: str, wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(WorkbenchError, match=rf"got '{address}', at which no jobs are taken\..*{wanted} by default"):
        chosen_launcher("ray")


def test_what_ray_refuses_is_said_in_its_own_last_line(dashboard: Dashboard, tmp_path: Path) -> None:
    dashboard.refusal = "Traceback (most recent call last):\n  File ...\nValueError: entrypoint_num_gpus is too many\n"
    with pytest.raises(WorkbenchError) as refused:
        Ray().start(None, "abcdefgh", 1, tmp_path / "log.txt")  # type: ignore[arg-type]
    assert str(refused.value) == (
        f"Ray at http://127.0.0.1:{dashboard.server_port} refused (400 Bad Request): ValueError: entrypoint_num_gpus is too many"
    )


@pytest.mark.parametrize("code", [200, 404, 401])
@pytest.mark.parametrize("page", ["<html>no such page</html>", '{"detail": "Not Found"}', '["jobs"]', "7"])
def test_another_server_is_no_ray_and_ends_nothing(page: str, code: int, dashboard: Dashboard, tmp_path: Path) -> None:
    dashboard.page, dashboard.code = page, code
    assert Ray().poll([{"job": "a"}])[0].state == "unknown"
    assert not Ray().signal({"job": "a"}, Signals.SIGKILL)
    with pytest.raises(WorkbenchError, match=r"Expected the dashboard of a Ray cluster at .*, found another server\. Set RAY_ADDRESS"):
        Ray().start(None, "abcdefgh", 1, tmp_path / "log.txt")  # type: ignore[arg-type]


def test_a_server_that_speaks_no_http_is_no_ray(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv("RAY_ADDRESS", f"http://127.0.0.1:{server.getsockname()[1]}")
        answers = Thread(target=lambda: server.accept()[0].sendall(b"\x00\x00\x18\x04\n"))
        answers.start()
        with pytest.raises(WorkbenchError, match="Expected an answer of the Ray cluster"):
            Ray().start(None, "abcdefgh", 1, tmp_path / "log.txt")  # type: ignore[arg-type]
        answers.join()
