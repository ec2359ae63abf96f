"""Jobs on the pages: begun here, done by processes of their own, found again after a reload."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

import streamlit as st

from workbench import tasks
from workbench.errors import WorkbenchError
from workbench.escaping import markdown
from workbench.jobs import control
from workbench.jobs.job import ENDED, Job, Life
from workbench.jobs.lifecycle import Jobs
from workbench.jobs.queue.line import line
from workbench.ui.actions import attempt, cancel_or_resume, errors_shown
from workbench.workspace import Workspace

POLL_SECONDS = 1.0
LOG_LINES = 20


def needed_job(task: str, owner: str, request: Mapping[str, Any], prefix: str, offer: str) -> None:
    """The job that makes what a page lacks, begun by a button called `offer`.

    Its end draws the page anew. One that was stopped, has failed or died says so and waits for a person.
    """
    workspace = Workspace.default()
    job = tasks.find(workspace, task, owner, request)
    if job is None or job.state == "done":
        if st.button(offer, key=f"{prefix}begin", type="primary"):
            attempt(lambda: tasks.begin(workspace, task, owner, request))
    else:
        show_job(job, prefix)


@dataclass(frozen=True)
class AutomaticJob:
    """A job that a page begins by itself: the one that there is, how it is begun, and whether what it makes is there."""

    find: Callable[[], Job | None]
    begin: Callable[[], Job]
    is_there: Callable[[], bool]


def automatic_job(work: AutomaticJob, prefix: str, busy: str, poll_seconds: float) -> None:
    """A job that is begun once the page has settled; the line `busy` stands in the place of what it makes, and its end draws the page anew.

    The first pass belongs to the page itself, which shares the processor with whatever it starts.
    """
    job, passes = work.find(), count()
    if job is not None and job.state in ENDED:
        show_job(job, prefix)
        return

    @st.fragment(run_every=poll_seconds)
    def waiting() -> None:
        with errors_shown():
            now = work.find()
            if work.is_there() or (now is not None and now.state in ENDED):
                st.rerun()
            if next(passes) > 0 and (now is None or now.state == "done"):
                work.begin()
            st.caption(busy)

    waiting()


def other_jobs(owner: str, prefix: str) -> None:
    """The jobs of a run beside its training that are at work, or came to no good end."""
    for job in Jobs(Workspace.default()).of(owner):
        if job.id != owner and job.state != "done":
            show_job(job, f"{prefix}{job.id}_")


def show_job(job: Job, prefix: str) -> None:
    """How far a job at work is, with a button to cancel it; or how it ended, with buttons to go on and to take it away."""
    if job.is_active:
        _watch(job, prefix)
        return
    st.warning(markdown(f"The {job.terms.title} ({job.id}) {ENDED[job.state]}. {job.error or ''}"))
    with st.container(horizontal=True):
        cancel_or_resume(job, prefix)
        if st.button("Dismiss", key=f"{prefix}dismiss", icon=":material/close:"):
            attempt(lambda: Jobs(Workspace.default()).forget(job.id))
    if tail := control.log_tail(Workspace.default(), job, LOG_LINES):
        with st.expander("Log"):
            st.code(tail, language=None, wrap_lines=True)


def how_far(job: Life) -> str:
    """The state of a job at work with its share, or why it waits; looking at one that waits sees to the queue."""
    if job.state == "paused":
        return f"paused. {job.error or ''}".rstrip()
    if job.state == "pending":
        return f"pending. {job.reason}".rstrip()
    if job.state != "queued":
        return f"{job.state}, {100 * job.share:.0f} %"
    entry = line(Workspace.default()).entry(job.id)
    return "about to start" if entry is None or not entry.place else f"at place {entry.place} of the queue, as {entry.reason}"


def _watch(job: Job, prefix: str) -> None:
    """Looks at the registry while the job is active; its end draws the page anew."""

    @st.fragment(run_every=POLL_SECONDS)
    def live() -> None:
        with errors_shown():
            try:
                now = Jobs(Workspace.default()).get(job.id)
            except WorkbenchError:  # removed meanwhile
                st.rerun()
            if not now.is_active:
                st.rerun()
            st.progress(now.share, text=f"{now.terms.title.capitalize()}: {how_far(now)}")
            with st.container():
                cancel_or_resume(now, prefix)

    live()
