"""The contact sheet of compared runs: methods by epsilon, originals first unless they are left out, and the same as files."""

from collections.abc import Callable, Sequence

import streamlit as st

from workbench.escaping import markdown, prose
from workbench.runs.method_sheet import MethodSheet, check_same_images, entries_of, method_sheet, without_samples
from workbench.runs.run import Run
from workbench.runs.samples import sample_set
from workbench.ui.actions import errors_shown
from workbench.ui.session import loaded_for
from workbench.ui.sheet_files import MARK_WORDS, SHEET_FILES
from workbench.workspace import Workspace

MIMES = {".png": "image/png", ".html": "text/html"}
ORIGINALS_HELP = "Real training records in the first row. No bound covers them: with them the sheet is private, whatever the runs are."


def compare_methods(runs: Sequence[Run], prefix: str) -> None:
    """The contact sheet of those runs of images that have samples; a sentence where their images are not the same."""
    images = [run for run in runs if run.plan.facts.kind.name == "image"]
    if not images:
        return
    st.markdown("**Methods by epsilon**")
    missing = without_samples(Workspace.default(), images)
    there = [run for run in images if run.id not in missing]
    if missing:
        st.caption(f"Not in the sheet, as they have no samples: {markdown(', '.join(missing))}.")
    with errors_shown():
        check_same_images(images)
        if there:
            _show(there, prefix)


def _show(runs: Sequence[Run], prefix: str) -> None:
    row = st.container(horizontal=True, vertical_alignment="center")
    with row:
        with_originals = st.checkbox("Originals first", True, key=f"{prefix}originals", bind="query-params", help=ORIGINALS_HELP)
    first = sample_set(Workspace.default(), runs[0].id)
    originals = first.same_records(loaded_for(runs[0])).train if with_originals else None
    sheet = method_sheet(entries_of(Workspace.default(), runs), first.facts, originals)
    with row:
        icon, colour = (":material/lock_open:", "green") if sheet.releasable else (":material/lock:", "orange")
        st.badge(sheet.mark, icon=icon, color=colour, help=MARK_WORDS[sheet.mark])
    st.image(sheet.picture, alt=sheet.alt, output_format="PNG")  # small images have hard edges
    for note in sheet.notes:
        st.caption(prose(note))
    with st.container(horizontal=True, gap="small"):
        for suffix in SHEET_FILES:
            name = suffix.removeprefix(".").upper()
            st.download_button(
                name, _maker(sheet, suffix), f"methods{suffix}", MIMES[suffix], key=f"{prefix}sheet{suffix}", on_click="ignore",
                help=f"The sheet as a file; it is marked {sheet.mark}.",
            )  # fmt: skip


def _maker(sheet: MethodSheet, suffix: str) -> Callable[[], bytes]:
    return lambda: SHEET_FILES[suffix](sheet)
