"""The queue on the command line: `workbench queue` lists it; its commands pause it, reorder it, cancel and retry."""

from typing import Annotated, Any

import typer

from workbench.cli.options import JobId, Json
from workbench.cli.output import moment, print_json, print_table
from workbench.errors import WorkbenchError
from workbench.jobs.job import Job
from workbench.jobs.queue.line import Entry, line
from workbench.runs.lengths import lengths
from workbench.workspace import Workspace

app = typer.Typer(invoke_without_command=True, rich_markup_mode=None)
Ids = Annotated[list[str] | None, typer.Argument(metavar="[RUN]...", help="Ids of runs or other jobs; `workbench queue` lists them.")]
EMPTY = "Nothing is at work and nothing waits."


@app.callback()
def queue(context: typer.Context, as_json: Json = False) -> None:
    """List what is at work and what waits for its turn, in order, and when each is expected to start and end."""
    if context.invoked_subcommand is None:
        show_queue(as_json)


@app.command()
def pause(as_json: Json = False) -> None:
    """Let no waiting job begin any more; what is at work goes on, and so does what starts with --now."""
    from workbench.jobs.queue import orders

    orders.pause(Workspace.default())
    show_queue(as_json)


@app.command()
def resume(as_json: Json = False) -> None:
    """Let waiting jobs begin again."""
    from workbench.jobs.queue import orders

    orders.unpause(Workspace.default())
    show_queue(as_json)


@app.command("cpu-runs")
def cpu_runs(number: Annotated[int, typer.Argument(help="Runs that may train on the CPU at once.")], as_json: Json = False) -> None:
    """Set how many runs share the CPU; a measure may go beside them. Each GPU takes one run."""
    from workbench.jobs.queue import orders

    orders.set_cpu_runs(Workspace.default(), number)
    show_queue(as_json)


@app.command()
def priority(
    job_id: JobId, number: Annotated[int, typer.Argument(help="Higher ones start first; 0 by default.")], as_json: Json = False
) -> None:
    """Give a waiting job a priority: it goes behind all others of that priority."""
    from workbench.jobs.queue import orders

    orders.set_priority(Workspace.default(), job_id, number)
    show_queue(as_json)


@app.command()
def move(job_id: JobId, place: Annotated[int, typer.Argument(help="1 is the next to start.")], as_json: Json = False) -> None:
    """Put a waiting job at a place of the queue."""
    from workbench.jobs.queue import orders

    orders.move(Workspace.default(), job_id, place)
    show_queue(as_json)


@app.command()
def cancel(
    ids: Ids = None,
    everything: Annotated[bool, typer.Option("--all", help="All that waits and all that is at work.")] = False,
    waiting: Annotated[bool, typer.Option("--waiting", help="All that waits.")] = False,
    as_json: Json = False,
) -> None:
    """Cancel jobs, or all of them; those at work keep a checkpoint and can be retried. Returns at once."""
    from workbench.jobs import control

    workspace = Workspace.default()
    if bool(ids) + everything + waiting != 1:
        raise WorkbenchError("Expected ids of jobs, --all or --waiting, one of them.")
    cancelled = [control.request_cancel(workspace, one) for one in ids] if ids else control.cancel_all(workspace, at_work=everything)
    _print_jobs(cancelled, as_json, "Nothing is at work and nothing waits, so nothing was cancelled.")


@app.command()
def retry(
    ids: Ids = None,
    everything: Annotated[bool, typer.Option("--all", help="All that has failed or was lost.")] = False,
    as_json: Json = False,
) -> None:
    """Have cancelled, failed or lost jobs wait for another turn; each goes on from what it has kept."""
    from workbench import runs
    from workbench.runs.retrying import retry_all

    workspace = Workspace.default()
    if bool(ids) == everything:
        raise WorkbenchError("Expected ids of jobs, or --all, one of them.")
    if ids:
        _print_jobs([runs.resume(workspace, one) for one in ids], as_json, "")
        return
    retried = retry_all(workspace)
    if retried.jobs or not retried.refused:
        _print_jobs(list(retried.jobs), as_json, "Nothing has failed or was lost.")
    if retried.refused:
        raise WorkbenchError("\n".join(retried.refused))


def show_queue(as_json: bool) -> None:
    """The whole queue, as a table or JSON."""
    workspace = Workspace.default()
    waiting = line(workspace, lengths(workspace))
    if as_json:
        print_json(
            {"paused": waiting.settings.paused, "cpu_runs": waiting.settings.cpu_runs, "jobs": [_values(one) for one in waiting.entries]}
        )
        return
    print_table([_row(one) for one in waiting.entries], EMPTY)
    if waiting.settings.paused:
        print("The queue is paused; `workbench queue resume` goes on.")


def _values(entry: Entry) -> dict[str, Any]:
    job = entry.job
    values = {"job": job.id, "task": job.task, "run": job.owner, "state": job.state, "place": entry.place, "priority": job.priority}
    times = {"starts": entry.expected.starts, "ends": entry.expected.ends}
    return values | {"device": job.placed or job.terms.device, "reason": entry.reason, "share": job.share} | times


def _row(entry: Entry) -> dict[str, Any]:
    values = _values(entry)
    done = {} if entry.reason else {"reason": f"{100 * values['share']:.0f} % done"}
    times = {"starts": moment(values["starts"]), "ends": moment(values["ends"])}
    return {name: value for name, value in (values | done | times).items() if name not in ("share", "run")}


def _print_jobs(jobs: list[Job], as_json: bool, empty: str) -> None:
    rows = [{"job": job.id, "task": job.task, "state": job.state} for job in jobs]
    print_json(rows) if as_json else print_table(rows, empty)
