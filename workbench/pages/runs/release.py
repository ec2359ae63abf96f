"""A finished run as a file that may leave, from the Runs page."""

import tempfile
from pathlib import Path

import streamlit as st

from workbench.escaping import prose
from workbench.runs.run import Run
from workbench.workspace import Workspace

HOLDS = (
    "Samples made so far, weights, plan and privacy card, with hashes; nothing else leaves, and what stays is listed. "
    "`workbench verify` checks the file anywhere."
)


def export_button(run: Run, prefix: str) -> None:
    """A file of what may leave of a run; where no bound covers it, only once that is said to be known."""
    with st.popover("Export", icon=":material/outbox:"):
        st.caption(HOLDS)
        known = run.may_be_released
        if not known:
            st.warning(prose(run.release_reason))
            known = st.checkbox("Export it though it is not private", key=f"{prefix}not_private")
        st.download_button(
            "Write the file", lambda: export_bytes(run.id), f"run-{run.id}.zip", "application/zip",
            key=f"{prefix}export", icon=":material/download:", disabled=not known, on_click="ignore",
        )  # fmt: skip


def export_bytes(run_id: str) -> bytes:
    """The export as bytes; made when it is asked for."""
    from workbench.runs.release import export_run

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.zip"
        export_run(Workspace.default(), run_id, path, not_private=True)
        return path.read_bytes()
