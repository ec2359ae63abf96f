"""Runs of one dataset side by side: methods over epsilons in numbers, beside real records and simple ones, or as a sheet of images."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.options import Json, Releasable, check_target
from workbench.cli.output import print_json, print_table, warn
from workbench.cli.result_rows import releasable_results
from workbench.errors import WorkbenchError, choose
from workbench.escaping import terminal
from workbench.ui.formats import counted
from workbench.workspace import Workspace

if TYPE_CHECKING:
    from workbench.recipes.side_by_side import Row
    from workbench.runs.run import Run

app = typer.Typer()


@app.command()
def compare(
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="Evaluated runs of one dataset, or a file of `reproduce --out`.")],
    metric: Annotated[list[str] | None, typer.Option(help="Only this measure; may be repeated.")] = None,
    sheet: Annotated[
        Path | None, typer.Option("--sheet", metavar="FILE", help="Write images instead, methods by epsilon: a .png or an .html.")
    ] = None,
    without_originals: Annotated[
        bool, typer.Option("--without-originals", help="Leave real training records out of the sheet, with which it is private.")
    ] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")] = False,
    releasable: Releasable = False,
    as_json: Json = False,
) -> None:
    """Put runs of one dataset side by side, each number marked. Of tables: accuracy, pairs of columns, the target's shares, unique rows,
    attacks. Of images: every measure taken, with its 95 % interval; or their samples, with --sheet, from which
    --releasable leaves real records out as well.
    """
    from workbench.evaluation import METRICS
    from workbench.recipes import report, side_by_side
    from workbench.runs.store import RunStore

    for name in metric or ():
        choose(name, METRICS, "metric")
    check_target(sheet, ".png", ".html")
    if without_originals and sheet is None:
        raise WorkbenchError("Expected --without-originals beside --sheet, which it is for, got it alone. Name a .png or an .html.")
    if len(runs) == 1 and Path(runs[0]).is_file():
        if sheet is not None:
            raise WorkbenchError("Expected runs beside --sheet, got a file of results, which holds no samples. Name the runs.")
        _, results = report.recipe_with_results(Path(runs[0]))
        rows = side_by_side.side_by_side(_kept(results, releasable), metric or side_by_side.MEASURES)
    else:
        chosen = [RunStore(Workspace.default()).get(run) for run in runs]
        if sheet is not None:
            _write_sheet(sheet, chosen, not (without_originals or releasable), releasable, as_json)
            return
        rows = _rows(chosen, metric, releasable)
    if as_json:
        print_json(rows)
    elif markdown:
        print(side_by_side.as_markdown(rows), end="")
    else:
        print_table([dict(row) for row in rows], "")


def _rows(runs: "Sequence[Run]", metric: Sequence[str] | None, releasable: bool) -> "list[Row]":
    """Runs of images with intervals, a row a run; runs of a table with their mean and spread, a row a plan."""
    from workbench.recipes import side_by_side, with_intervals

    if {run.plan.facts.kind.name for run in runs} == {"image"}:
        results = with_intervals.results_of_images(Workspace.default(), runs)
        return with_intervals.with_intervals(_kept(results, releasable), *([metric] if metric else []))
    results = side_by_side.results_of_runs(Workspace.default(), runs)
    return side_by_side.side_by_side(_kept(results, releasable), metric or side_by_side.MEASURES)


def _kept(results: Sequence[dict[str, Any]], releasable: bool) -> list[dict[str, Any]]:
    """Results, without what may not leave the room where that is asked for."""
    if not releasable:
        return list(results)
    return [{**result, "evaluation": releasable_results(result["evaluation"])} for result in results]


def _write_sheet(path: Path, runs: "Sequence[Run]", with_originals: bool, releasable: bool, as_json: bool) -> None:
    from workbench.files import written_atomically
    from workbench.runs.contact_sheet import PRIVATE
    from workbench.runs.method_sheet import entries_of, method_sheet
    from workbench.runs.samples import sample_set
    from workbench.ui.sheet_files import SHEET_FILES

    first, entries = sample_set(Workspace.default(), runs[0].id), entries_of(Workspace.default(), runs)
    if releasable and (private := next((entry for entry in entries if not entry.releasable), None)):
        raise WorkbenchError(f"Expected runs that may be released beside --releasable, got {private.run}. {private.reason}")
    made = method_sheet(entries, first.facts, first.dataset().train if with_originals else None)
    with written_atomically(path, "wb") as file:
        file.write(SHEET_FILES[path.suffix](made))
    reasons = [f"Run {entry.run}: {entry.reason}" for entry in entries if not entry.releasable]
    warn(f"{path} is private. {reason}" for reason in [*([PRIVATE] if with_originals else []), *reasons])
    values = {"sheet": str(path), "mark": made.mark, "description": made.alt, "notes": made.notes, "runs": made.runs}
    print_json(values) if as_json else print(f"Wrote {counted(len(entries), 'run')} to {terminal(path)}, which is {made.mark}.")
