"""The files of a dossier: to release, the private one, the export that it is checked against, and the entry for the registry."""

import streamlit as st

from workbench.errors import WorkbenchError
from workbench.escaping import prose
from workbench.pages.runs.release import export_bytes
from workbench.runs.dossier import QUESTIONS, dossier_of, kept_statements, registry_entry, render
from workbench.runs.dossier.values import Audience
from workbench.runs.run import Run
from workbench.workspace import Workspace

CHECKED = (
    "Anybody can check it without data: `workbench verify run.zip --dossier dossier.html`. Print it from the browser to sign on paper."
)


def files_section(run: Run, prefix: str) -> None:
    """Buttons that make each file when they are pressed."""
    st.header("The files", anchor=False)
    st.caption(prose(CHECKED))
    if not run.may_be_released:
        st.warning(prose(run.release_reason))
    with st.container(horizontal=True):
        st.download_button(
            "Dossier to release", lambda: page_of(run.id, "outside"), f"dossier-{run.id}.html", "text/html",
            key=f"{prefix}outside", icon=":material/lock_open:", type="primary", on_click="ignore",
        )  # fmt: skip
        st.download_button(
            "Private dossier", lambda: page_of(run.id, "room"), f"private-dossier-{run.id}.html", "text/html",
            key=f"{prefix}room", icon=":material/lock:", on_click="ignore",
            help="With verdicts, attacks and training records. Do not share it.",
        )  # fmt: skip
        st.download_button(
            "Its export", lambda: export_bytes(run.id), f"run-{run.id}.zip", "application/zip",
            key=f"{prefix}export", icon=":material/outbox:", on_click="ignore", disabled=not run.may_be_released,
        )  # fmt: skip
        missing = missing_for_registry(run)
        st.download_button(
            "Entry for the deployments registry", lambda: entry_of(run.id), f"registry-{run.id}.yaml", "application/yaml",
            key=f"{prefix}registry", icon=":material/public:", on_click="ignore", disabled=bool(missing), help=prose(missing) or None,
        )  # fmt: skip


def page_of(run_id: str, audience: Audience) -> str:
    """A dossier as HTML; made when it is asked for."""
    return render(dossier_of(Workspace.default(), run_id, audience))


def entry_of(run_id: str) -> str:
    """The entry for the OpenDP deployments registry; made when it is asked for."""
    return registry_entry(dossier_of(Workspace.default(), run_id)).text


def missing_for_registry(run: Run) -> str:
    """Why there is no entry yet; empty where there can be one."""
    if not run.may_be_released:
        return run.release_reason
    try:
        answers = kept_statements(Workspace.default(), run.id).answers
    except WorkbenchError as error:
        return str(error)
    missing = [question.asks for key, question in QUESTIONS.items() if question.registry and not answers.get(key)]
    return f"{len(missing)} answers are missing: {missing[0]}" if missing else ""
