"""Launching from the Train page: an equal plan is asked about first, and whoever launches is taken to the run."""

import time
from dataclasses import dataclass
from typing import Any, NoReturn

import streamlit as st

from workbench import runs
from workbench.escaping import markdown
from workbench.plan import Plan
from workbench.privacy.attacks.canaries import AuditDesign
from workbench.runs.again import Repetition, repetition
from workbench.training.state import PerformanceSettings
from workbench.ui.actions import errors_shown
from workbench.ui.formats import number
from workbench.ui.scrolling import to_top
from workbench.ui.session import loaded_dataset
from workbench.workspace import Workspace

ASKED = "This plan has been started before"


@dataclass(frozen=True)
class LaunchRequest:
    """What a press of Launch asks for: a plan, how it is run, and canaries where it is to be audited."""

    plan: Plan
    performance: dict[str, Any]
    seed: int | None
    audit: AuditDesign | None
    on: str | None = None

    def repeats(self) -> Repetition | None:
        """What to ask where an equal plan has been started on the same records."""
        return repetition(Workspace.default(), self.plan, loaded_dataset(self.plan.request.place, self.plan.facts))

    def launch(self) -> str:
        """Have it trained by a process of its own, in its turn; the run's id."""
        settings = PerformanceSettings.model_validate(self.performance)
        records = loaded_dataset(self.plan.request.place, self.plan.facts)
        how: dict[str, Any] = {"performance": settings, "seed": self.seed, "audit": self.audit, "on": self.on}
        run = runs.launch(Workspace.default(), self.plan, loaded=records, **how)
        return run.id


def launch_button(request: LaunchRequest | None, prefix: str) -> None:
    """The button; beside it what goes on once it is pressed, and over the page the question where an equal plan was started before."""
    with st.container(horizontal=True, vertical_alignment="center"):
        pressed = st.button("Launch", type="primary", key=f"{prefix}launch", icon=":material/play_arrow:", disabled=request is None)
        beside = st.container(width="content")
    question = f"{prefix}question"
    with errors_shown():
        if pressed and request is not None:
            with beside, st.spinner("Handing the run to the queue …", width="content"):
                run_id = request.launch() if request.repeats() is None else ""
            if run_id:
                go_to_run(run_id, prefix)
            st.session_state[question] = request
        if request := st.session_state.get(question):  # until it is answered: a run that changes its state draws the page anew
            again = request.repeats()  # with the account as it stands by then
            if again is None:
                del st.session_state[question]
                return
            dialog = st.dialog(ASKED, icon=":material/content_copy:", on_dismiss=lambda: st.session_state.pop(question, None))
            dialog(ask)(request, again, prefix)


def ask(request: LaunchRequest, again: Repetition, prefix: str) -> None:
    """Whether to spend once more, over the page; closing it starts nothing."""
    st.markdown(markdown(again.question))
    cost = number(request.plan.bound.epsilon)
    watch = st.button(f"Watch run {again.run.id}", key=f"{prefix}instead", type="primary", icon=":material/monitoring:", width="stretch")
    spend = st.button(f"Spend {cost} more and start another", key=f"{prefix}again", icon=":material/play_arrow:", width="stretch")
    if watch:
        go_to_run(again.run.id, prefix)
    if spend:
        with errors_shown():
            go_to_run(request.launch(), prefix)


def go_to_run(run_id: str, prefix: str) -> NoReturn:
    """Draw the page anew, with this run at its top and no question over it."""
    st.session_state.pop(f"{prefix}question", None)
    st.session_state[f"{prefix}launched"] = run_id
    st.rerun()


def launched_run(prefix: str) -> str | None:
    """The run that the page has been drawn anew for: it says so over the page and shows its top; None where there is none."""
    run_id = st.session_state.pop(f"{prefix}launched", None)
    if run_id is not None:
        st.toast(f"Run {run_id} begins in its turn: watch it at the top of this page.", icon=":material/play_circle:")
        to_top(f"{run_id}{time.time_ns()}")  # a second look at the same run is another occasion
    return run_id
