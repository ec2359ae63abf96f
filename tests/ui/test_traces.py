"""Curves of what a run's steps reported."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from streamlit.testing.v1 import AppTest
from support.homes import here

from workbench.lazy import torch
from workbench.runs.folder import RunFolder
from workbench.runs.recorder import MetricsWriter
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


@pytest.mark.parametrize(("steps", "words"), [(0, "No step has been recorded yet."), (2, "The steps of this method report no values.")])
def test_steps_without_values_are_said_to_have_none(workbench_home: Path, steps: int, words: str) -> None:
    def draw() -> None:
        from support.homes import here

        from workbench.runs.folder import RunFolder
        from workbench.ui.traces import show_values

        show_values(RunFolder(here(), "abcdefgh"), "x_")

    folder = RunFolder(here(), "abcdefgh")
    folder.path.mkdir(parents=True)
    writer = MetricsWriter(folder, torch.device("cpu"))
    for step in range(1, steps + 1):
        writer.add(Step("release", step, steps), step)
    assert [caption.value for caption in AppTest.from_function(draw).run().caption] == [words]


def test_what_steps_had_to_show_stands_side_by_side_first_and_last_among_them(workbench_home: Path) -> None:
    def draw() -> None:
        from types import SimpleNamespace

        from workbench.datasets import facts
        from workbench.ui.traces import show_steps

        show_steps(SimpleNamespace(id="abcdefgh", plan=SimpleNamespace(facts=facts("digits"))))

    folder = RunFolder(here(), "abcdefgh")
    folder.previews.mkdir(parents=True)
    assert not AppTest.from_function(draw).run().markdown
    for step in range(1, 21):
        Image.fromarray(np.zeros((8, 8), np.uint8)).save(folder.shown_step("votes", step, 2 * step, "latest.png"))
    shown = AppTest.from_function(draw).run()
    assert not shown.exception
    assert [caption.value for caption in shown.caption] == [f"votes, step {step}" for step in (1, 5, 9, 12, 16, 20)]
