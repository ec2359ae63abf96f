"""The queue on a page: what is at work, what waits and why, when each is expected to start and end, and what can be done about it."""

from datetime import datetime
from typing import Any

import psutil
import streamlit as st

from workbench import runs
from workbench.escaping import markdown
from workbench.jobs import control
from workbench.jobs.job import AT_WORK, Job
from workbench.jobs.queue import orders
from workbench.jobs.queue.line import Entry, Line, line
from workbench.jobs.queue.places import needs_nothing
from workbench.runs.lengths import lengths
from workbench.runs.store import RunStore
from workbench.ui.actions import attempt, errors_shown
from workbench.workspace import Workspace

POLL_SECONDS = 2.0
MOST_ROWS = 12
DEVICES = {"cpu": "CPU", "cuda": "a GPU"}
ALL_STOP = "Cancel all that waits and all that is at work? What is at work keeps a checkpoint, and all of it can be resumed."


def queue_list(prefix: str) -> None:
    """The queue, looked at every two seconds; a job that begins or ends draws the page anew. Nothing where there is nothing."""
    drawn = _job_states(current())

    @st.fragment(run_every=POLL_SECONDS)
    def live() -> None:
        with errors_shown():
            queue = current()
            if _job_states(queue) != drawn:
                st.rerun()
            _show(queue, prefix)

    if drawn:
        live()


def current() -> Line:
    """The queue as it is now, without what takes no place."""
    workspace = Workspace.default()
    queue = line(workspace, lengths(workspace))
    return Line(tuple(entry for entry in queue.entries if not needs_nothing(entry.job)), queue.settings)


def _job_states(queue: Line) -> list[tuple[str, str]]:
    """What the page around the list shows too: which jobs there are, and their states; that the queue is paused."""
    return [(entry.job.id, entry.job.state) for entry in queue.entries] + [("", "paused")] * queue.settings.paused


def _show(queue: Line, prefix: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.header("Queue", anchor=False, width="content")
        _controls(queue, prefix)
    if queue.settings.paused:
        st.warning("The queue is paused: what waits does not begin. What is at work goes on.", icon=":material/pause_circle:")
    st.caption(markdown(devices(queue, psutil.virtual_memory())))
    for entry in queue.entries[:MOST_ROWS]:
        _row(entry, prefix)
    if len(queue.entries) > MOST_ROWS:
        st.caption(f"{len(queue.entries) - MOST_ROWS} more wait; `workbench queue` lists all.")


def devices(queue: Line, memory: Any) -> str:
    """What each device has to do, and the machine's memory: `memory` has bytes `total` and `available`."""
    at_work = [entry.job for entry in queue.entries if entry.job.state in AT_WORK]
    busy: dict[str, list[str]] = {"cpu": []}
    for job in at_work:
        busy.setdefault(job.placed or job.terms.device, []).append(job.id)
    said = [f"{DEVICES.get(device, device)}: {', '.join(jobs) or 'idle'}" for device, jobs in sorted(busy.items())]
    taken = memory.total - memory.available
    return " · ".join([*said, f"memory: {taken / 2**30:.1f} of {memory.total / 2**30:.1f} GiB in use"])


def _controls(queue: Line, prefix: str) -> None:
    """Pause or go on, how many runs the CPU takes, and the end of everything."""
    workspace = Workspace.default()
    if queue.settings.paused:
        if st.button("Go on", key=f"{prefix}queue_go_on", icon=":material/play_arrow:"):
            attempt(lambda: orders.unpause(workspace))
    elif st.button("Pause", key=f"{prefix}queue_pause", icon=":material/pause:", help="Nothing that waits begins."):
        attempt(lambda: orders.pause(workspace))
    with st.popover("Runs at once"):
        number = st.number_input("On the CPU", 1, 1024, queue.settings.cpu_runs, key=f"{prefix}queue_cpu_runs")
        st.caption("A measure may go beside them. Each GPU takes one run.")
        if st.button("Set", key=f"{prefix}queue_set"):
            attempt(lambda: orders.set_cpu_runs(workspace, int(number)))
    with st.popover("Cancel all", icon=":material/stop_circle:"):
        st.markdown(ALL_STOP)
        if st.button("Cancel all of it", key=f"{prefix}queue_cancel_all", type="primary"):
            attempt(lambda: control.cancel_all(workspace))


def _row(entry: Entry, prefix: str) -> None:
    """A job in a line, with buttons for one that waits; one at work is cancelled where it shows."""
    workspace, job = Workspace.default(), entry.job
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(markdown(f"{_place(entry)} {_job_name(job)}: {_words(entry)}"), width="stretch")
        if not entry.place:
            return
        if entry.place > 1 and st.button("Next", key=f"{prefix}queue_{job.id}_next", help="Put it before all others that wait."):
            attempt(lambda: orders.move(workspace, job.id, 1))
        with st.popover("Priority", help="Jobs of a higher priority come first."):
            number = st.number_input(
                "Priority", -orders.MOST_PRIORITY, orders.MOST_PRIORITY, job.priority, key=f"{prefix}queue_{job.id}_priority"
            )
            if st.button("Set", key=f"{prefix}queue_{job.id}_set_priority", help="It goes behind all others of this priority."):
                attempt(lambda: orders.set_priority(workspace, job.id, int(number)))
        if st.button("Start now", key=f"{prefix}queue_{job.id}_now", help="Start it beside whatever is at work."):
            attempt(lambda: runs.begin(workspace, job.id, at_once=True))
        if st.button("Cancel", key=f"{prefix}queue_{job.id}_cancel", help="It has not begun, so nothing of it has been spent."):
            attempt(lambda: control.request_cancel(workspace, job.id))


def _place(entry: Entry) -> str:
    return f"{entry.place}." if entry.place else "Paused:" if entry.job.state == "paused" else "At work:"


def _job_name(job: Job) -> str:
    """A run by what it trains, another job by its title and the run that it belongs to."""
    if job.terms.trains:
        run = RunStore(Workspace.default()).get(job.id)
        return f"run {run.id} ({run.method} on {run.dataset})"
    return f"{job.terms.title} {job.id}" + (f" of {job.owner}" if job.owner else "")


def _words(entry: Entry) -> str:
    """Why it waits or how far it is, and what is expected of it."""
    starts, ends = entry.expected.starts, entry.expected.ends
    said = [entry.reason or f"{entry.job.state}, {100 * entry.job.share:.0f} %"]
    if entry.place and starts:
        said.append(f"expected to start at {_clock(starts)}")
    if ends:
        said.append(f"expected to end at {_clock(ends)}")
    return "; ".join(said)


def _clock(moment: float) -> str:
    """A time of today by the clock, another with its day."""
    then = datetime.fromtimestamp(moment)
    return then.strftime("%H:%M" if then.date() == datetime.now().date() else "%Y-%m-%d %H:%M")
