"""What a run leaves as it goes: its latest generated records and its losses."""

import pandas as pd
import streamlit as st

from workbench.jobs.folder import RunFolder
from workbench.jobs.run import Run
from workbench.ui import charts
from workbench.ui.cards import releasable_mark
from workbench.ui.formats import number
from workbench.ui.gallery import VIEWS
from workbench.workspace import Workspace


def show_preview(run: Run) -> None:
    """The latest generated records."""
    st.markdown("**Preview**")
    preview = RunFolder(Workspace.default(), run.id).preview()
    if preview is None:
        st.caption("The first generated records appear here after a while.")
    else:
        VIEWS[run.plan.facts.kind.name].preview(preview, run.id)


def show_loss(folder: RunFolder, key: str) -> None:
    """The training loss against the step, with its mark."""
    frame = loss_frame(folder)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("**Loss**")
        releasable_mark(False, "Losses of private steps are computed from private records without noise.")
    if frame.empty:
        st.caption("No step has been recorded yet.")
        return
    last = frame.iloc[-1]
    alt = f"Loss against training step, {len(frame)} points, last {number(float(last['loss']))} at step {int(last['step'])}"
    charts.show(charts.step_curves(frame, "loss", "Loss", logarithmic=True), alt, loss_table(frame), key)


def loss_frame(folder: RunFolder, name: str | None = None) -> pd.DataFrame:
    """Recorded losses with columns run (the stage, or `name` if given), step and loss."""
    rows = [row for row in folder.read_metrics() if row["loss"] is not None]
    columns = {"run": [name or row["stage"] for row in rows], "step": [row["step"] for row in rows], "loss": [row["loss"] for row in rows]}
    return pd.DataFrame(columns)


def loss_table(frame: pd.DataFrame) -> pd.DataFrame:
    """`loss_frame` as it is shown and exported: with the mark of its losses."""
    return frame.rename(columns={"loss": "loss (private)"})
