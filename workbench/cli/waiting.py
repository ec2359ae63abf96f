"""Work that a command waits for: a job like the pages', so that they know of it, and Ctrl-C ends it."""

import sys
from collections.abc import Mapping
from typing import Any, NoReturn

import typer

from workbench import tasks
from workbench.cli.output import progress_bar
from workbench.cli.starting import say_standing
from workbench.errors import WorkbenchError
from workbench.escaping import terminal
from workbench.jobs import control
from workbench.jobs.job import ENDED, Job
from workbench.tasks import TASKS
from workbench.workspace import Workspace


class InterruptedWorkError(Exception):
    """Ctrl-C, with the sentence that says what it did."""


def wait_for(task: str, owner: str, request: Mapping[str, Any]) -> None:
    """Return once the job of this request is done, with a bar on stderr meanwhile; else the command ends here and says why.

    Ctrl-C cancels what this command began; what a page or another command had begun before goes on.
    """
    workspace = Workspace.default()
    before = tasks.find(workspace, task, owner, request)
    try:
        job = tasks.begin(workspace, task, owner, request)
        say_standing(job)
        with progress_bar(TASKS[task].terms.title) as move:
            job = control.wait(workspace, job.id, progress=lambda now: move(now.share))
    except KeyboardInterrupt:
        _end_command(tasks.find(workspace, task, owner, request), begun_here=before is None or not before.is_active)
    if job.state != "done":
        print(f"The {TASKS[task].terms.title} ({job.id}) {ENDED[job.state]}. {terminal(job.error or '')}".rstrip(), file=sys.stderr)
        raise typer.Exit(1)


def _end_command(job: Job | None, begun_here: bool) -> NoReturn:
    """End the command, and the job if the command began it, in one sentence."""
    if job is None or not job.is_active:
        raise KeyboardInterrupt
    what = f"The {job.terms.title} ({job.id})"
    if not begun_here:
        raise InterruptedWorkError(f"{what} was at work before and goes on; `workbench cancel {job.id}` ends it.")
    try:
        ended = control.cancel(Workspace.default(), job.id)
    except WorkbenchError:  # it has come to its end by itself
        raise KeyboardInterrupt from None
    raise InterruptedWorkError(f"{what} is {ended.state}; the same command goes on from what it has kept.")
