"""Previews: a few samples of the weights so far, as the kind of record shows itself."""

import pandas as pd
import pytest
from PIL import Image
from support.homes import here
from support.odd_methods import odd
from support.quick import quick_plan

from workbench.experiment import new_state
from workbench.methods import METHODS
from workbench.runs.folder import RunFolder
from workbench.runs.recorder import NUM_PREVIEWS, Previews
from workbench.training.state import Step


def preview_of(method: str) -> RunFolder:
    """The folder of a run of `method` after one preview of its first weights."""
    plan, folder = quick_plan(method), RunFolder(here(), "preview1")
    folder.create()
    Previews(folder, plan.build(), new_state(plan, seed=0)).draw()
    return folder


def test_a_preview_of_images_is_a_picture() -> None:
    preview = preview_of("dp-merf").preview()
    assert preview is not None
    assert Image.open(preview).size == (10 * 9 * 8, 2 * 9 * 8)
    assert preview.stat().st_mode & 0o077 == 0


def test_what_a_step_has_to_show_is_kept_in_order_and_in_its_place() -> None:
    plan, folder = quick_plan("dp-merf"), RunFolder(here(), "preview2")
    folder.create()
    previews = Previews(folder, plan.build(), new_state(plan, seed=0))
    for step, total, count in ((2, 11, 20), (1, 9, 10), (2, 11, 10)):
        previews.keep(Step("the votes/of.all", step, 2, shown=plan.facts.draw(count)), total)
    previews.keep(Step("release", 1, 1), 12)
    shown = folder.shown_steps()
    assert [(stage, step) for stage, step, _ in shown] == [("the votes/of.all", 1), ("the votes/of.all", 2)]
    assert [Image.open(path).size for _, _, path in shown] == [(10 * 9 * 8, 9 * 8)] * 2, "a replayed step replaces what it had shown"
    assert folder.preview() is None


def test_a_preview_of_a_table_has_as_many_rows_as_were_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "odd-marginals", odd("odd-marginals"))
    preview = preview_of("odd-marginals").preview()
    assert preview is not None
    frame = pd.read_csv(preview)
    assert list(frame) == ["class", "column 1", "column 2", "column 3"]
    assert len(frame) == NUM_PREVIEWS
    assert preview.stat().st_mode & 0o077 == 0
