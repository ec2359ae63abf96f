"""Commands that keep a home in order: label, clean, archive, restore, home."""

from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.options import Json, RunId, check_target
from workbench.cli.output import print_fields, print_json, print_table, warn
from workbench.escaping import terminal
from workbench.ui.formats import counted, memory
from workbench.workspace import Workspace

app = typer.Typer()
Tags = Annotated[list[str] | None, typer.Option(help="A tag to give it; may be repeated.")]
Untag = Annotated[list[str] | None, typer.Option(help="A tag to take away; may be repeated.")]


@app.command()
def label(
    run_id: RunId,
    name: Annotated[str | None, typer.Option(help="A name for people; empty takes it away.")] = None,
    note: Annotated[str | None, typer.Option(help="A note; empty takes it away.")] = None,
    tag: Tags = None,
    untag: Untag = None,
    as_json: Json = False,
) -> None:
    """Name a run, note something about it, tag it. Names, notes and tags stay in this home: no export has them."""
    from workbench.runs.labels import label as label_run

    run = label_run(Workspace.default(), run_id, name, note, tag or (), untag or ())
    labels = {"run": run.id, "name": run.name, "tags": run.tags, "note": run.note}
    print_json(labels) if as_json else print_fields(labels)


@app.command()
def clean(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what could go.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: Json = False,
) -> None:
    """Tell how much room the home takes, and remove what is made again when it is asked for or was left by dead processes."""
    from workbench.runs import housekeeping

    workspace = Workspace.default()
    leftovers, parts = housekeeping.removable(workspace), housekeeping.sizes(workspace)
    if as_json and dry_run:
        print_json({"sizes": parts, "removable": leftovers, "freed": 0})
        return
    if not as_json:
        print_fields({f"{workspace.home.name}/{name}": memory(size) for name, size in parts.items()})
        print_table(housekeeping.rows(workspace, leftovers), "Nothing can go. `workbench delete RUN` removes a run.")
    if dry_run or not leftovers:
        return
    room = memory(sum(one.size for one in leftovers))
    if not yes and not typer.confirm(f"Remove {len(leftovers)} files of {room}? Runs, samples and the ledger stay.", err=True):
        raise typer.Exit(1)
    freed = housekeeping.clean(workspace, leftovers)
    print_json({"sizes": parts, "removable": leftovers, "freed": freed}) if as_json else print(f"Freed {memory(freed)}.")


@app.command()
def archive(
    run_ids: Annotated[list[str], typer.Argument(metavar="RUN...", help="Ids of finished runs; `workbench runs` lists them.")],
    to: Annotated[Path, typer.Option("--to", help="The file to write; it ends in .tar.")],
    as_json: Json = False,
) -> None:
    """Write finished runs to a private file, to restore them in another home. They stay here, and so does what they spent."""
    from workbench.runs.archiving.pack import archive_runs

    check_target(to, ".tar")
    archived = archive_runs(Workspace.default(), run_ids, to)
    files = sum(len(one.files) for one in archived.runs)
    if as_json:
        print_json(
            {
                "file": str(to),
                "runs": [one.run.id for one in archived.runs],
                "files": files,
                "bytes": to.stat().st_size,
                "note": archived.note,
            }
        )
    else:
        size = f"{counted(files, 'file')}, {memory(to.stat().st_size)}"
        print(f"Wrote {counted(len(archived.runs), 'run')} ({size}) to {terminal(to)}. {archived.note}")


@app.command()
def restore(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="What `workbench archive` wrote.")],
    as_json: Json = False,
) -> None:
    """Put archived runs into this home, which charges in its ledger what they have spent. A run that is here already is refused."""
    from workbench.runs.archiving.unpack import restore_runs

    restored = restore_runs(Workspace.default(), path)
    if as_json:
        print_json([{"run": one.run.id, "epsilon_spent": one.run.epsilon_spent, "records_found": one.records_found} for one in restored])
        return
    for one in restored:
        named = terminal(f"{one.run.id} ({one.run.method} on {one.run.dataset})")
        print(f"Restored run {named}; what it has spent is in the ledger of this home.")
    warn(
        f"The records of run {one.run.id} are not here: nothing can be measured against them." for one in restored if not one.records_found
    )


home = typer.Typer(
    invoke_without_command=True, rich_markup_mode=None, help="Show the home that is in use, empty it, or close it to writing."
)


@home.callback()
def show_home(context: typer.Context, as_json: Json = False) -> None:
    """Show where the home in use lies (WORKBENCH_HOME), what is in it, and whether it may be written."""
    from workbench.runs.homes import contents

    if context.invoked_subcommand is not None:
        return
    workspace = Workspace.default()
    inside = contents(workspace)
    values = {"home": str(workspace.home), "data": str(workspace.data), "read_only": workspace.is_read_only, "bytes": inside.size}
    values |= {"runs": inside.runs, "active_jobs": inside.active, "imports": inside.imports, "sweeps": inside.sweeps, "spent": inside.spent}
    print_json(values) if as_json else print_fields(values)


@home.command()
def reset(
    with_ledger: Annotated[bool, typer.Option("--ledger", help="Remove the ledger too.")] = False,
    forget: Annotated[bool, typer.Option("--forget-spending", help="With --ledger: though it knows of spending.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Empty the home: runs, samples, imports, sweeps, verdicts, logs. The ledger stays, and so do downloaded datasets."""
    from workbench.runs import homes

    workspace = Workspace.default()
    inside = homes.contents(workspace)
    ledger = f"{inside.spending_words} It is removed too. " if with_ledger else "What they have spent stays in the ledger. "
    if not yes and not typer.confirm(f"{inside.words} {ledger}Remove all of it from {terminal(workspace.home)}?", err=True):
        raise typer.Exit(1)
    homes.reset(workspace, with_ledger, forget)
    print(f"{terminal(workspace.home)} is empty" + ("." if with_ledger else ", but for its ledger."))


@home.command()
def close() -> None:
    """Let nothing be written in the home from now on: pages and commands that only read go on, such as a demonstration for a class."""
    from workbench.runs.homes import set_read_only

    set_read_only(Workspace.default(), closed=True)
    print("This home is read-only now; `workbench home reopen` lets it be written again.")


@home.command()
def reopen() -> None:
    """Let the home be written again."""
    from workbench.runs.homes import set_read_only

    set_read_only(Workspace.default(), closed=False)
    print("This home may be written again.")
