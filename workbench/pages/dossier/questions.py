"""What only people know of a release: a form in the order of NIST SP 800-226, whose answers are kept with the run."""

import streamlit as st

from workbench.runs.dossier import QUESTIONS, SECTIONS, kept_statements, state
from workbench.runs.dossier.questions import LONGEST, Question
from workbench.ui.actions import attempt
from workbench.workspace import Workspace

NEVER_INVENTED = (
    "The workbench fills in what it knows, and never what only people know. An open question stands in the dossier as not stated."
)


def questions_section(run_id: str, prefix: str) -> None:
    """The questions by section, each with what was said; saved with one button."""
    kept = kept_statements(Workspace.default(), run_id).answers
    answered = sum(1 for key in QUESTIONS if kept.get(key))
    st.header("What only people know", anchor=False)
    st.progress(answered / len(QUESTIONS), text=f"{answered} of {len(QUESTIONS)} questions have an answer")
    st.caption(NEVER_INVENTED)
    with st.form(f"{prefix}form", border=False):
        given: dict[str, str] = {}
        for section, title in SECTIONS.items():
            with st.expander(title):
                for key, question in QUESTIONS.items():
                    if question.section == section:
                        given[key] = _field(question, kept.get(key, ""), f"{prefix}{key}")
        if st.form_submit_button("Save the answers", key=f"{prefix}save", type="primary"):
            changed = {key: text for key, text in given.items() if text != kept.get(key, "")}
            attempt(lambda: state(Workspace.default(), run_id, changed))


def _field(question: Question, kept: str, key: str) -> str:
    if question.choices:
        index = question.choices.index(kept) if kept in question.choices else None
        return st.selectbox(question.asks, question.choices, index, key=key, placeholder="not stated") or ""
    if question.section == "signature":
        return st.text_input(question.asks, kept, key=key, max_chars=LONGEST, placeholder="not stated").strip()
    return st.text_area(question.asks, kept, key=key, max_chars=LONGEST, height="content", placeholder="not stated").strip()
