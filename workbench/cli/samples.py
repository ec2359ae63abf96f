"""Commands that make sets of samples: sample, of a finished run; import and forget, of a file made elsewhere; samples lists them."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.options import Classes, Json, Num, Out, Resize, RunId, Settings, check_target, parse_settings
from workbench.cli.output import QUICK, describe_value, print_fields, print_json, print_table, progress_bar, reading_bar, warn
from workbench.cli.waiting import wait_for
from workbench.errors import WorkbenchError
from workbench.escaping import terminal
from workbench.serialization import jsonable
from workbench.ui.formats import counted, number
from workbench.workspace import Workspace

if TYPE_CHECKING:
    from workbench.plan import SamplingPlan
    from workbench.records import Kind, Records
    from workbench.runs.samples import SampleSet
    from workbench.runs.samples.drawn import RunSamples

app = typer.Typer()
Name = Annotated[str, typer.Option("--name", help="What the samples are called; as the file by default.")]


@app.command()
def sample(
    run_id: RunId,
    out: Out = None,
    num: Num = None,
    settings: Settings = None,
    label: Annotated[list[str] | None, typer.Option("--label", help="Only this class; may be repeated: then in turn.")] = None,
    balanced: Annotated[
        bool, typer.Option("--balanced", help="All classes in equal shares, of a method that draws them in those it released.")
    ] = False,
    seed: Annotated[int | None, typer.Option(help="Draws the same samples from the same weights again.", min=0)] = None,
    sheet: Annotated[Path | None, typer.Option("--sheet", metavar="PNG", help="Write them as one picture, a class a row.")] = None,
    with_records: Annotated[
        bool, typer.Option("--with-records", help="Put real training records above them, framed in red: then the sheet is private.")
    ] = False,
    ranges: Annotated[
        bool, typer.Option("--ranges", help="Write the ranges of numbers to a .csv or .parquet, and draw no number within them.")
    ] = False,
    plan: Annotated[bool, typer.Option("--plan", help="Only show what it would cost.")] = False,
    as_json: Json = False,
) -> None:
    """Make samples of a finished run, otherwise than planned if asked (--set sampler.eta=0); write them with --out
    to an .npz, or rows of a table to a .csv or a .parquet with types, and as a picture with --sheet. In rows, a number is drawn within
    each range.

    They are kept as a set of the run: the same request gives the same samples, and more are added to them.
    """
    from workbench.datasets.table_files import SUFFIXES
    from workbench.runs.samples.drawn import request_samples

    check_target(out, ".npz", *SUFFIXES)
    check_target(sheet, ".png")
    if with_records and sheet is None:
        raise WorkbenchError("Expected --with-records beside --sheet, which it is for, got it alone. Name a .png with --sheet.")
    if ranges and (out is None or out.suffix not in SUFFIXES):
        raise WorkbenchError(f"Expected --ranges beside --out with a {' or '.join(SUFFIXES)}, which they are for. Name one.")
    requested = request_samples(Workspace.default(), run_id, parse_settings(settings), label or (), seed, balanced=balanced)
    _check_kind(requested.facts.kind, out, sheet)
    price = requested.plan(num)
    if plan:
        print_json({"run": run_id, "samples": requested.id, **jsonable(price)}) if as_json else _print_price(requested, price)
        return
    if price.releases:
        print(f"Warning: the sampler touches private records; with these samples run {run_id} is at", end=" ", file=sys.stderr)
        print(f"epsilon {price.bound.epsilon:.4g}.", file=sys.stderr)
    requested.check_ready()
    requested.begin()
    wait_for("sample", run_id, {"samples": requested.id, "num_samples": num})
    records = requested.records(num)
    if out is not None:
        _write_records(out, requested, records, ranges)
    if sheet is not None:
        _write_sheet(sheet, requested, records, with_records)
    warn(requested.cautions)
    if not requested.releasable:
        print(f"Warning: samples of run {run_id} are not releasable. {requested.release_reason}", file=sys.stderr)
    _tell(requested, records, out, sheet, as_json)


@app.command()
def samples(
    run_id: Annotated[str | None, typer.Argument(metavar="RUN", help="A run or an import; all imports by default.")] = None,
    as_json: Json = False,
) -> None:
    """List the sets of samples of a run, or all that was imported."""
    from workbench.runs.samples import sample_sets
    from workbench.runs.samples.imported import imports

    sets = imports(Workspace.default()) if run_id is None else sample_sets(Workspace.default(), run_id)
    rows = [_row(one) for one in sets]
    empty = "Nothing is imported." if run_id is None else f"No samples yet. `workbench sample {run_id}` makes some."
    print_json(rows) if as_json else print_table(rows, empty)


@app.command("import")
def import_file(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="An .npz with images (N, H, W, C) or rows, and labels; or rows as text.")],
    dataset: Annotated[str, typer.Option(help="What the samples are to look like: a name, a folder of class subfolders, or an .npz.")],
    name: Name = "",
    dataset_name: Annotated[str | None, typer.Option(help="The name of your own dataset, as --name of `train`.")] = None,
    resize: Resize = None,
    classes: Classes = None,
    as_json: Json = False,
) -> None:
    """Keep samples made elsewhere, to evaluate and judge them like a run's. No epsilon is known of them."""
    from workbench.datasets.reference import DatasetRef
    from workbench.runs.samples.imported import import_samples

    place = DatasetRef.parse(dataset, dataset_name, resize, classes)
    with reading_bar(f"read {file.name}"):
        imported = import_samples(Workspace.default(), file, place, name)
    print(f"Warning: {imported.release_reason}", file=sys.stderr)
    row = _row(imported)
    print_json(row) if as_json else print(f"Imported {counted(row['num_samples'], 'sample')} as {imported.owner}.")


@app.command()
def forget(
    import_id: Annotated[str, typer.Argument(metavar="IMPORT", help="`workbench samples` lists them.")], as_json: Json = False
) -> None:
    """Delete what was imported, with its measures and verdicts."""
    from workbench.runs.forgetting import forget_import

    forget_import(Workspace.default(), import_id)
    print_json({"import": import_id, "deleted": True}) if as_json else print(f"Deleted import {import_id}.")


def _row(sample_set: "SampleSet") -> dict[str, Any]:
    kept = sample_set.kept_records()
    return {
        "run": sample_set.owner,
        "samples": sample_set.id,
        "num_samples": 0 if kept is None else len(kept),
        "summary": sample_set.summary,
        "dataset": sample_set.place.text,
        "bound": "none known" if sample_set.bound is None else sample_set.bound.epsilon,
        "releasable": sample_set.releasable,
        "evaluated": sample_set.evaluation.exists(),
    }


def _check_kind(kind: "Kind", out: Path | None, sheet: Path | None) -> None:
    """Refuse files that such records cannot be written to, before any is drawn."""
    from workbench.records import ImageKind, TableKind

    if sheet is not None:
        ImageKind.of(kind)
    if out is not None and out.suffix != ".npz":
        TableKind.of(kind)


def _write_records(path: Path, sample_set: "RunSamples", records: "Records", ranges: bool) -> None:
    from workbench.datasets.table_files import SUFFIXES, TableFile
    from workbench.runs.sample_files import write_records

    if path.suffix not in SUFFIXES:
        write_records(records, path, sample_set.notes(), sample_set.facts)
        return
    with progress_bar(f"write {path.name}", QUICK) as move:
        TableFile(records, sample_set.facts, sample_set.notes(), not ranges).write(path, move)


def _tell(sample_set: "RunSamples", records: "Records", out: Path | None, sheet: Path | None, as_json: bool) -> None:
    """What was made, and where it stands."""
    from workbench.runs.contact_sheet import number_shown

    values = {"run": sample_set.owner, "samples": sample_set.id, "num_samples": len(records), "releasable": sample_set.releasable}
    values["cautions"] = sample_set.cautions
    where, drawn = "", ""
    if out is not None:
        values["file"], where = str(out), f" to {terminal(out)}"
    if sheet is not None:
        values |= {"sheet": str(sheet), "on_sheet": number_shown(records, sample_set.facts)}
        drawn = f" {values['on_sheet']} of them stand on {terminal(sheet)}, at most ten of a class."
    shown = f"{'Wrote' if out else 'Made'} {counted(len(records), 'sample')}{where}, set {sample_set.id} ({terminal(sample_set.summary)})."
    print_json(values) if as_json else print(f"{shown}{drawn}")


def _write_sheet(path: Path, sample_set: "RunSamples", records: "Records", with_records: bool) -> None:
    from workbench.files import written_atomically
    from workbench.runs import contact_sheet

    originals = sample_set.dataset().train if with_records else None
    bound = sample_set.bound  # of the run with all its sampling, whatever is drawn here
    proved = f"proved epsilon {number(bound.epsilon)} at delta {number(bound.delta)}" if bound.is_finite else "no epsilon is proved"
    about = f"Run {sample_set.owner}: {sample_set.run.method} on {sample_set.facts.name}, {proved}."  # a name: a place stays in the room
    content = contact_sheet.contact_sheet(records, sample_set.facts, sample_set.releasable, originals, sample_set.cautions, about)
    with written_atomically(path, "wb") as file:
        file.write(content)
    if with_records:
        print(f"Warning: {terminal(path)} is private. {contact_sheet.PRIVATE}", file=sys.stderr)


def _print_price(sample_set: "RunSamples", price: "SamplingPlan") -> None:
    spends = [stage.name for stage in price.releases] or "nothing: it is post-processing"
    print_fields(
        {"run": sample_set.owner, "samples": sample_set.id, "request": sample_set.summary, "drawn": f"{price.start} to {price.stop}"}
    )
    print_fields({"sampler spends": spends, "bound with it": describe_value(price.bound)})
