"""What only people know of a release: a form in the order of NIST SP 800-226, whose answers are kept with the run."""

import streamlit as st

from workbench.runs.dossier import QUESTIONS, SECTIONS, kept_statements, state
from workbench.runs.dossier.questions import LONGEST, PUBLISHED, Question
from workbench.ui.kept_fields import SAVED, kept_field
from workbench.workspace import Workspace

NEVER_INVENTED = (
    "The workbench fills in what it knows, and never what only people know. An open question stands in the dossier as not stated."
)


def questions_section(run_id: str, prefix: str) -> None:
    """The questions by section, each with what was said; each answer is kept by itself."""
    kept = kept_statements(Workspace.default(), run_id).answers
    answered = sum(1 for key in QUESTIONS if kept.get(key))
    st.header("What only people know", anchor=False)
    st.progress(answered / len(QUESTIONS), text=f"{answered} of {len(QUESTIONS)} questions have an answer")
    st.caption(f"{NEVER_INVENTED} {SAVED}")
    st.warning(PUBLISHED, icon=":material/public:")
    for section, title in SECTIONS.items():
        with st.expander(title):
            for name, question in QUESTIONS.items():
                if question.section == section:
                    _field(run_id, name, question, kept.get(name, ""), f"{prefix}{name}")


def _field(run_id: str, name: str, question: Question, kept: str, key: str) -> None:
    def save(text: str | None) -> None:
        state(Workspace.default(), run_id, {name: (text or "").strip()})

    if question.choices:
        chosen = kept if kept in question.choices else None
        kept_field(st.selectbox, question.asks, chosen, key, save, options=question.choices, placeholder="not stated")
    elif question.section == "signature":
        kept_field(st.text_input, question.asks, kept, key, save, max_chars=LONGEST, placeholder="not stated")
    else:
        kept_field(st.text_area, question.asks, kept, key, save, max_chars=LONGEST, height="content", placeholder="not stated")
