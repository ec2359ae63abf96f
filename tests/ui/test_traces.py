"""Curves of what a run's steps reported."""

from pathlib import Path

from support.homes import here

from workbench.jobs.folder import RunFolder
from workbench.jobs.recorder import MetricsWriter
from workbench.lazy import torch
from workbench.training.state import Step
from workbench.ui.traces import value_frames, value_table, value_title


def test_each_named_value_has_a_frame_of_its_own(workbench_home: Path) -> None:
    folder = RunFolder(here(), "abcdefgh")
    folder.path.mkdir(parents=True)
    writer = MetricsWriter(folder, torch.device("cpu"))
    writer.add(Step("release", 1, 1), 1)
    writer.add(Step("train", 1, 2, {"loss": 2.0}), 2)
    writer.add(Step("train", 2, 2, {"loss": 1.0, "real_score": -0.5}), 3)
    frames = value_frames(folder)
    assert {name: frame.to_dict("list") for name, frame in frames.items()} == {
        "loss": {"run": ["train", "train"], "step": [2, 3], "loss": [2.0, 1.0]},
        "real_score": {"run": ["train"], "step": [3], "real_score": [-0.5]},
    }
    assert value_table(frames["real_score"], "real_score").columns.tolist() == ["run", "step", "real_score (private)"]
    assert value_title("real_score") == "Real score"
