"""What launchers say, without an engine: their words for its states, what they ask it for, and when they refuse."""

import sys
from pathlib import Path

import pytest

from workbench.cli.options import parse_resources
from workbench.errors import WorkbenchError
from workbench.jobs.launchers import LAUNCHERS, Resources, chosen_launcher, slurm
from workbench.jobs.launchers.base import away_command
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


def asked(cluster: Path) -> list[str]:
    return (cluster / "asked").read_text().splitlines()


@pytest.mark.parametrize(
    ("state", "found"),
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
def test_states_of_slurm(cluster: Path, state: str, found: tuple[str, bool, bool]) -> None:
    (cluster / "squeue.out").write_text(f"7|{state}|Priority\n")
    status, gone = Slurm().poll([{"job": "7"}, {"job": "8"}])
    assert (status.state, status.is_due, status.was_cancelled) == found
    assert (gone.state, gone.is_due) == ("ended", False), "the controller has forgotten it"
    assert asked(cluster) == ["squeue --noheader --states=all --jobs=7,8 --format=%i|%T|%r"], "one question for all"


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
    words = asked(cluster)[0]
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
    with pytest.raises(WorkbenchError, match=r"Unknown launcher 'moon'\. Choose one of: local, slurm"):
        chosen_launcher("moon")
    assert set(LAUNCHERS) == {"local", "slurm"}


def test_resources_are_numbers_of_known_things() -> None:
    assert parse_resources(None) == Resources()
    with pytest.raises(WorkbenchError, match=r"Unknown resource 'gpu'\. Choose one of: gpus, cpus, memory, minutes"):
        parse_resources(["gpu=1"])
    with pytest.raises(WorkbenchError, match="gpus"):
        parse_resources(["gpus=-1"])
