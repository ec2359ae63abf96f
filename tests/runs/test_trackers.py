"""What trackers are told of a run: all that may leave the room, nothing else unless asked; by the real clients, read back by them."""

import builtins
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mlflow.tracking import MlflowClient
from support.homes import here
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from workbench.cli.commands import run as command
from workbench.errors import WorkbenchError
from workbench.plan import Plan
from workbench.runs.folder import RunFolder
from workbench.runs.run import Run
from workbench.trackers import track, tracked_run
from workbench.trackers.tensorboard import EVENTS

PUBLIC, PRIVATE = {"public pre-training/loss", "accuracy/epsilon_zero"}, {"phase two/loss", "accuracy"}


@pytest.fixture
def run(quick_plan: Callable[..., Plan], train_here: Callable[..., Run]) -> Run:
    """A finished run of which a public and a private stage recorded losses, with a measure of either kind."""
    run = train_here(quick_plan("dp-promise"))
    result = {"name": "accuracy", "value": 0.75, "releasable": False, "epsilon_zero": 0.25, "epsilon_zero_releasable": True}
    (RunFolder(here(), run.id).path / "evaluation.json").write_text(json.dumps({"metrics": ["accuracy"], "results": [result]}))
    return run


def test_only_what_may_leave_the_room_is_told_unless_asked(run: Run) -> None:
    tracked = tracked_run(here(), run.id)
    assert tracked.series.keys() | tracked.values.keys() == PUBLIC
    assert set(tracked.left_out) >= PRIVATE
    assert not tracked.private
    everything = tracked_run(here(), run.id, private=True)
    assert everything.series.keys() | everything.values.keys() >= PUBLIC | PRIVATE
    assert everything.private
    assert everything.left_out == ()
    assert tracked.parameters["bound.status"] == run.bound.status
    assert tracked.parameters["bound.epsilon"] == str(run.bound.epsilon)


def test_tensorboard_reads_what_was_told_without_times_and_it_is_replaced_the_next_time(run: Run, tmp_path: Path) -> None:
    for private in (True, False):
        place, _ = track(here(), run.id, "tensorboard", str(tmp_path), private)
    (file,) = Path(place).iterdir()
    assert file.name == EVENTS
    events = EventAccumulator(place).Reload()
    assert set(events.Tags()["scalars"]) == PUBLIC
    assert [(event.step, event.wall_time) for event in events.Scalars("public pre-training/loss")] == [(1, 0.0), (2, 0.0)]
    assert events.Scalars("accuracy/epsilon_zero")[0].value == 0.25
    (file.parent / "mine").write_text("")
    with pytest.raises(WorkbenchError, match="one with other files"):
        track(here(), run.id, "tensorboard", str(tmp_path))


def test_mlflow_has_the_run_in_the_dataset_s_experiment(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    store = (tmp_path / "store").as_uri()
    place, tracked = track(here(), run.id, "mlflow", store)
    client = MlflowClient(store)
    logged = client.get_run(place)
    assert logged.data.metrics.keys() == PUBLIC
    assert logged.data.params == tracked.parameters
    assert logged.data.tags.keys() <= {"workbench.run", "workbench.mark", "mlflow.runName"}, "neither a user nor a place"
    assert [(point.step, point.timestamp) for point in client.get_metric_history(place, "public pre-training/loss")] == [(1, 0), (2, 0)]


def test_the_command_says_what_stayed(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["track", run.id, "--to", "tensorboard", "--at", str(tmp_path)]) == 0
    assert "accuracy, " in capsys.readouterr().out.partition("Left out")[2]
    assert command(["track", run.id, "--to", "tensorboard", "--at", str(tmp_path), "--private"]) == 0
    assert "values that must not be released" in capsys.readouterr().err
    assert command(["track", run.id, "--to", "aim", "--at", str(tmp_path)]) == 2
    assert "mlflow, tensorboard" in capsys.readouterr().err


def test_without_the_extra_it_says_which(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("mlflow"):
            raise ImportError(f"No module named {name!r}")
        return whole(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(WorkbenchError, match=r"dp-diffusion-workbench\[tracking\]"):
        track(here(), run.id, "mlflow", str(tmp_path))
