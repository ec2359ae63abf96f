"""What a run leaves as it goes: its latest generated records and the values of its steps."""

from typing import Any

import pandas as pd
import streamlit as st

from workbench.escaping import markdown
from workbench.runs.folder import RunFolder
from workbench.runs.run import Run
from workbench.runs.samples.cautions import of_preview
from workbench.ui import charts
from workbench.ui.cards import releasable_mark
from workbench.ui.formats import number
from workbench.ui.gallery import VIEWS
from workbench.ui.runs import show_cautions
from workbench.workspace import Workspace

SHOWN_STEPS = 6


def show_preview(run: Run) -> None:
    """The latest generated records."""
    st.markdown("**Preview**")
    preview = RunFolder(Workspace.default(), run.id).preview()
    if preview is None:
        coming = "The first generated records appear here after a while." if run.is_active else "It ended before it generated a record."
        st.caption(coming)
    else:
        show_cautions(of_preview(run.plan))
        VIEWS[run.plan.facts.kind.name].preview(preview, run.id)


def show_steps(run: Run) -> None:
    """What single steps had to show (candidates of a round, say), side by side: at most `SHOWN_STEPS`, first and last among them."""
    steps = RunFolder(Workspace.default(), run.id).shown_steps()
    if not steps:
        return
    st.markdown("**Step by step**")
    places = sorted({round(place * (len(steps) - 1) / max(1, SHOWN_STEPS - 1)) for place in range(SHOWN_STEPS)})
    for column, place in zip(st.columns(len(places)), places, strict=True):
        stage, step, path = steps[place]
        with column:
            VIEWS[run.plan.facts.kind.name].preview(path, run.id)
            st.caption(f"{markdown(stage)}, step {step}")


def show_values(folder: RunFolder, prefix: str) -> None:
    """What the steps reported (losses, say) against the step, a chart a name, with their mark."""
    frames = value_frames(folder)
    if not frames and folder.read_metrics():
        st.caption("The steps of this method report no values.")
        return
    for name, frame in (frames or {"loss": pd.DataFrame()}).items():
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{markdown(value_title(name))}**")
            releasable_mark(False, "Values of private steps are computed from private records without noise.")
        if frame.empty:
            st.caption("No step has been recorded yet.")
        else:
            last = frame.iloc[-1]
            points = f"{len(frame)} points, last {number(float(last[name]))} at step {int(last['step'])}"
            show_curves(frame, name, value_title(name), f"{value_title(name)} against training step, {points}", f"{prefix}{name}_chart")


def show_curves(frame: pd.DataFrame, name: str, title: str, alt: str, key: str) -> None:
    """The chart of a frame of `value_frames`, logarithmic unless a value is not above 0."""
    charts.show(charts.step_curves(frame, name, title, logarithmic=bool((frame[name] > 0).all())), alt, value_table(frame, name), key)


def value_frames(folder: RunFolder, run: str | None = None) -> dict[str, pd.DataFrame]:
    """Recorded values by name, each with columns run (the stage, or `run` if given), step, and one called as the value is."""
    series: dict[str, list[dict[str, Any]]] = {}
    for row in folder.read_metrics():
        for name, value in row["values"].items():
            series.setdefault(name, []).append({"run": run or row["stage"], "step": row["step"], name: value})
    return {name: pd.DataFrame(rows) for name, rows in series.items()}


def value_table(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """A frame of `value_frames` as it is shown and exported: with the mark of its values."""
    return frame.rename(columns={name: f"{name} (private)"})


def value_title(name: str) -> str:
    """A value's name as a title: "real_score" is "Real score"."""
    return name.replace("_", " ").capitalize()
