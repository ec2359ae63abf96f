"""Commands about runs as processes: app, runs, show, jobs, cancel, resume, finish, clone, delete, example."""

from typing import Annotated

import typer

from workbench.cli.options import Ask, JobId, Json, Now, OnAgain, Priority, RunId, Settings, Wait, Yes, parse_resources, parse_settings
from workbench.cli.output import bounds_of, describe_value, moment, print_fields, print_json, print_table, run_values
from workbench.errors import WorkbenchError
from workbench.escaping import terminal
from workbench.runs.run import Run
from workbench.serialization import jsonable
from workbench.ui.formats import memory
from workbench.workspace import Workspace

app = typer.Typer()
APART = ("plan", "claim", "bound", "replace_one", "performance", "environments", "audit", "audit_design")  # told in their own way, or not
OF_THE_REGISTRY = ("turn", "settled")  # of use to its own work alone


@app.command("app")
def open_app(
    port: Annotated[int, typer.Option(envvar="PORT", help="Port on 127.0.0.1.", min=1, max=65535)] = 8501,
    no_token: Annotated[bool, typer.Option("--no-token", help="Open the pages to every account of this machine.")] = False,
    address: Annotated[bool, typer.Option("--address", help="Print the addresses of the workbench that is open, and start none.")] = False,
    host: Annotated[str, typer.Option("--host", help="Listen on this IP address; other machines need --users-from.")] = "127.0.0.1",
    name: Annotated[list[str] | None, typer.Option("--name", help="What browsers call the proxy or this machine; may be repeated.")] = None,
    users_from: Annotated[str, typer.Option("--users-from", help="Header in which an authenticating proxy says who looks.")] = "",
    proxy: Annotated[list[str] | None, typer.Option("--proxy", help="IP address of that proxy; 127.0.0.1 by default.")] = None,
    data_holder: Annotated[list[str] | None, typer.Option("--data-holder", help="Who may see records and runs; may be repeated.")] = None,
    insecure: Annotated[bool, typer.Option("--insecure", help="Open --host to other machines without a proxy.")] = False,
) -> None:
    """Serve the workbench's pages until Ctrl-C, on this machine alone by default; the address to open is printed, with its token."""
    from workbench.server.access import Access
    from workbench.server.address import open_addresses
    from workbench.server.start import serve

    if not address:
        who = Access(host, tuple(name or ()), users_from, tuple(proxy or ("127.0.0.1",)), tuple(data_holder or ()), insecure)
        serve(port, with_token=not no_token, who=who)
    elif addresses := open_addresses(Workspace.default()):
        print("\n".join(addresses))
    else:
        raise WorkbenchError("Expected an open workbench, found none. Start one with `workbench app`.")


@app.command("runs")
def list_runs(
    state: Annotated[str | None, typer.Option(help="Only runs in this state.")] = None,
    method: Annotated[str | None, typer.Option(help="Only runs of this method.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Only runs with this tag; may be repeated.")] = None,
    limit: Annotated[int | None, typer.Option("--limit", help="Only so many, the newest.", min=1)] = None,
    sizes: Annotated[bool, typer.Option("--sizes", help="How much room each takes on the disk.")] = False,
    as_json: Json = False,
) -> None:
    """List all runs, newest first."""
    from workbench.errors import choose
    from workbench.jobs.job import STATES
    from workbench.jobs.queue.passing import look_after
    from workbench.runs.housekeeping import size_of_run
    from workbench.runs.selection import Selection
    from workbench.runs.store import RunStore

    look_after(Workspace.default())
    wanted = None if state is None else choose(state, dict(zip(map(str, STATES), STATES, strict=True)), "state")
    selection = Selection(() if wanted is None else (wanted,), () if method is None else (method,), (), tag or (), limit=limit)
    listed = RunStore(Workspace.default()).select(selection)
    room = {run.id: size_of_run(Workspace.default(), run.id) for run in listed} if sizes else {}
    if as_json:
        values = [run_values(run) | ({"bytes": room[run.id]} if sizes else {}) for run in listed]
        print_json([{name: value for name, value in run.items() if name != "plan"} for run in values])
        return
    rows = [
        {
            "run": run.id,
            "method": run.method,
            "dataset": run.dataset,
            "state": run.state,
            "step": f"{run.step}/{run.steps}",
            "spent": run.epsilon_spent,
            "bound": run.bound.epsilon,
            "note": ", ".join(_notes(run)),
        }
        | ({"name": run.name, "tags": ", ".join(run.tags)} if any(one.name or one.tags for one in listed) else {})
        | ({"size": memory(room[run.id])} if sizes else {})
        for run in listed
    ]
    if state is not None or method is not None or tag:
        print_table(rows, "No run fits. `workbench runs` lists all.")
    else:
        print_table(rows, "No runs yet. `workbench train dp-merf --dataset digits --epsilon 10 --wait` makes one in seconds.")


@app.command()
def show(run_id: RunId, as_json: Json = False) -> None:
    """Show one run: state, progress, what it spent, claim, bound, configuration, the end of its log."""
    from workbench.runs.audits import audit_of
    from workbench.runs.folder import RunFolder
    from workbench.runs.housekeeping import size_of_run
    from workbench.runs.public_votes import votes_in
    from workbench.runs.store import RunStore
    from workbench.runs.trained import as_shown

    run = as_shown(RunStore(Workspace.default()).get(run_id))
    folder = RunFolder(Workspace.default(), run_id)
    shown = run_values(run) | {"peak_bytes": folder.peak_bytes(), "environments": folder.environments()}
    shown["bytes"] = size_of_run(Workspace.default(), run_id)
    audit = audit_of(Workspace.default(), run.plan)
    shown["audit"] = None if audit is None else {**jsonable(audit), "alarm": audit.alarm}
    if chosen := votes_in(Workspace.default(), run):
        shown["public_votes"] = chosen.words
    if as_json:
        print_json(shown)
        return
    values = {name: value for name, value in shown.items() if name not in (*APART, *OF_THE_REGISTRY)}
    times = {name: moment(values[name]) for name in ("heartbeat", "created", "started", "finished")}
    measured = "No audit has been run." if audit is None else describe_value(audit.value)
    print_fields({**values, **times, "claim": describe_value(run.claim), **bounds_of(run.bound, run.replace_one), "audit": measured})
    print(f"\n{terminal(folder.log_tail(8))}")


@app.command()
def jobs(
    owner: Annotated[str | None, typer.Argument(metavar="RUN", help="Only the jobs of this run or import.")] = None, as_json: Json = False
) -> None:
    """List training, sampling, evaluation, searches and what the pages begin by themselves, newest first; each can be cancelled."""
    from workbench.jobs.lifecycle import Jobs
    from workbench.jobs.queue.passing import look_after
    from workbench.runs.run import check_run_id

    look_after(Workspace.default())
    kept = Jobs(Workspace.default())
    if owner is not None:
        check_run_id(owner)
    empty = "No jobs yet." if owner is None else f"No jobs of {owner}. `workbench jobs` lists all."
    rows = [
        {
            "job": job.id,
            "task": job.task,
            "run": job.owner,
            "state": job.state,
            "done": f"{100 * job.share:.0f} %",
            "started": moment(job.started),
            "error": job.error,
        }
        for job in (kept.all() if owner is None else kept.of(owner))
    ]
    print_json(rows) if as_json else print_table(rows, empty)


@app.command()
def cancel(run_id: JobId, as_json: Json = False) -> None:
    """Stop a run, after the step at work with a checkpoint to resume from, or another job."""
    from workbench.jobs import control

    job = control.cancel(Workspace.default(), run_id)
    print_json({"run": job.id, "state": job.state}) if as_json else print(f"{job.id} is {job.state} at step {job.step}/{job.steps}.")


@app.command()
def resume(run_id: JobId, wait: Wait = False, now: Now = False, on: OnAgain = None) -> None:
    """Go on, in its turn, with a paused, cancelled, failed or lost run from its checkpoint, or another job; prints {"run": ID} last."""
    from workbench import runs
    from workbench.cli.launched import finish_launch

    finish_launch(runs.resume(Workspace.default(), run_id, at_once=now, on=on), wait)


@app.command()
def finish(run_id: RunId, wait: Wait = False, yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False) -> None:
    """End a run before its last step and keep its model; a budget gets back what it did not take. Prints {"run": ID} last."""
    from workbench.cli.launched import finish_launch
    from workbench.runs.early import check_interruptible, end_early
    from workbench.runs.store import RunStore

    run = RunStore(Workspace.default()).get(run_id)
    check_interruptible(run)
    if not yes and not typer.confirm(f"End run {run_id} at step {run.step} of {run.steps}? It cannot be resumed after that.", err=True):
        raise typer.Exit(1)
    finish_launch(end_early(Workspace.default(), run_id), wait)


@app.command()
def clone(
    run_id: RunId,
    settings: Settings = None,
    wait: Wait = False,
    yes: Yes = False,
    now: Now = False,
    priority: Priority = 0,
    on: OnAgain = None,
    ask: Ask = None,
) -> None:
    """Start a new run with another's plan, --set replacing fields; the last line is {"run": ID}."""
    from workbench import runs
    from workbench.cli.launched import finish_launch
    from workbench.cli.starting import ask_again
    from workbench.runs.store import RunStore

    changed = parse_settings(settings)
    plan = runs.cloned_plan(RunStore(Workspace.default()).get(run_id), changed)
    loaded = plan.request.place.load(plan.facts)
    ask_again(plan, loaded, yes)
    resources = parse_resources(ask) if ask else None
    finish_launch(runs.clone(Workspace.default(), run_id, changed, loaded, priority, now, on, resources), wait)


@app.command()
def delete(run_id: RunId, yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False, as_json: Json = False) -> None:
    """Delete a run that has ended, with its folder; what it spent stays in the ledger."""
    from workbench import runs
    from workbench.runs.store import RunStore

    run = RunStore(Workspace.default()).get(run_id)
    what = terminal(f"run {run.id} ({run.method} on {run.dataset}, {run.state})")
    if not yes and not typer.confirm(f"Delete {what} and all its files?", err=True):
        raise typer.Exit(1)
    runs.delete(Workspace.default(), run_id)
    print_json({"run": run_id, "deleted": True}) if as_json else print(f"Deleted run {run_id}; its entry in the ledger stays.")


@app.command()
def example(as_json: Json = False) -> None:
    """Make the small finished example run, if there is none."""
    from workbench.tasks.example import ensure_example

    run = ensure_example(Workspace.default())
    print_json({"run": run.id, "state": run.state}) if as_json else print(f"Example run {run.id} is {run.state}.")
    if not run.is_active and run.state != "done":
        raise typer.Exit(1)


def _notes(run: Run) -> list[str]:
    notes = {
        "ended early": run.ends_early,
        "claim only": run.claim_only,
        "example": run.example,
        "seeded, not releasable": run.seed is not None,
    }
    notes["audited, not releasable"] = run.audit is not None
    return [note for note, applies in notes.items() if applies]
