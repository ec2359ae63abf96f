"""Commands about what is released: export, of a run or a recipe's plans; verify, which checks such a file without data; track."""

import hashlib
import sys
from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.options import Json, RunId, check_target
from workbench.cli.output import print_fields, print_json, print_table, progress_bar
from workbench.escaping import terminal
from workbench.files import remove_unfinished
from workbench.workspace import Workspace

app = typer.Typer()
NotPrivate = Annotated[bool, typer.Option("--not-private", help="Export a run that no finite bound covers; its card says so.")]


@app.command()
def export(
    run_id: RunId,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The .zip to write.")],
    not_private: NotPrivate = False,
    as_json: Json = False,
) -> None:
    """Write what may leave of a run: samples made so far, weights, plan, privacy card and hashes; lists what stays."""
    from workbench.runs.release import export_run, left_out_here

    check_target(file, ".zip")
    for left in remove_unfinished(file.parent, "*.zip"):
        print(f"Removed {terminal(left)}: an export that was interrupted had left it.", file=sys.stderr)
    manifest = export_run(Workspace.default(), run_id, file, not_private)
    if as_json:
        print_json({"run": run_id, "file": str(file), **manifest})
        return
    print(f"Wrote {', '.join(manifest['files'])} to {terminal(file)}. Left out:")
    print_fields(left_out_here(Workspace.default(), run_id))


@app.command()
def verify(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `workbench export` wrote.")],
    dossier: Annotated[Path | None, typer.Option("--dossier", help="Also check this dossier (.html) against the export.")] = None,
    as_json: Json = False,
) -> None:
    """Check an export without any data: hashes, plan, bound, card, weights and samples; ends with 1 where something does not hold."""
    from workbench.runs.release import verify as verified

    checked = verified(file)
    if dossier is not None:
        from workbench.runs.dossier import check_dossier

        checked = checked.model_copy(update={"checks": checked.checks | check_dossier(dossier, file, checked.card)})
    if as_json:
        print_json({"holds": checked.holds, "sha256": checked.sha256, "checks": checked.checks, "card": checked.card})
    else:
        says = "may be released" if checked.card.releasable else "NOT PRIVATE"
        verdict = says if checked.holds else "THE FILE DOES NOT HOLD; do not rely on what it says"
        print(f"Run {terminal(checked.card.run)}: {verdict}. SHA-256 {checked.sha256}")
        print_fields({name: complaint or "holds" for name, complaint in checked.checks.items()})
    if not checked.holds:
        raise typer.Exit(1)


@app.command("export-sets")
def export_sets(
    recipe: Annotated[str, typer.Argument(metavar="RECIPE", help="A file, or the name of one that the workbench brings along.")],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the .zip files go, one for each plan.")],
    as_json: Json = False,
) -> None:
    """Train each plan of a recipe once more without a seed, and write its samples with their privacy card as an export that verifies.

    Seeded runs, which a recipe's numbers come from, may not be released; so each plan is spent again, and the ledger says so.
    """
    from workbench.recipes.exports import export_sets as made
    from workbench.recipes.lines import load_recipe

    loaded, written = load_recipe(recipe), list[dict[str, str]]()
    folder.mkdir(parents=True, exist_ok=True)
    with progress_bar(loaded.title) as progress:
        for path in made(loaded, Workspace.default(), folder, progress):
            written.append({"file": str(path), "sha256": hashlib.sha256(path.read_bytes()).hexdigest()})
    if as_json:
        print_json(written)
    else:
        print_table(written, "The recipe names no plan whose samples could leave.")


@app.command()
def track(
    run_id: RunId,
    to: Annotated[str, typer.Option("--to", help="tensorboard or mlflow.")],
    at: Annotated[str, typer.Option("--at", help="A folder, of tensorboard; the address or store of a tracking server, of mlflow.")],
    private: Annotated[
        bool, typer.Option("--private", help="Also values that must not be released: do not share the tracker then.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Tell TensorBoard or MLflow of a run: plan, bound, claim, measures and losses that may be released."""
    from workbench.trackers import track as told_to

    place, tracked = told_to(Workspace.default(), run_id, to, at, private)
    if tracked.private:
        print("Warning: the tracker now has values that must not be released.", file=sys.stderr)
    if as_json:
        counts = {"values": len(tracked.values), "series": len(tracked.series), "parameters": len(tracked.parameters)}
        print_json({"run": run_id, "place": place, **counts, "left_out": tracked.left_out, "releasable": not tracked.private})
        return
    print(f"Told {to} of {len(tracked.values)} values and {len(tracked.series)} series: {terminal(place)}.")
    if tracked.left_out:
        print(f"Left out, as they must not be released (--private sends them too): {terminal(', '.join(tracked.left_out))}.")
