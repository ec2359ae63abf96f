"""Runs of one table side by side: methods over epsilons, beside real rows and simple ones."""

from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.options import Json, Releasable
from workbench.cli.output import print_json, print_table
from workbench.cli.result_rows import releasable_results
from workbench.errors import WorkbenchError, choose
from workbench.workspace import Workspace

app = typer.Typer()
NO_TABLE = (
    "Expected runs of one table, got a run of images. `workbench sweeps` shows the runs of a sweep side by side, the Runs page any; "
    "`workbench evaluate RUN` measures one."
)


@app.command()
def compare(
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="Evaluated runs of one table, or a file of `reproduce --out`.")],
    metric: Annotated[list[str] | None, typer.Option(help="Only this measure; may be repeated.")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")] = False,
    releasable: Releasable = False,
    as_json: Json = False,
) -> None:
    """Put runs of one table side by side: accuracy, pairs of columns, the target's shares, unique rows, attacks; each number is marked."""
    from workbench.evaluation import METRICS
    from workbench.recipes import report, side_by_side
    from workbench.runs.store import RunStore

    for name in metric or ():
        choose(name, METRICS, "metric")
    if len(runs) == 1 and Path(runs[0]).is_file():
        _, results = report.recipe_with_results(Path(runs[0]))
    else:
        chosen = [RunStore(Workspace.default()).get(run) for run in runs]
        if any(run.plan.facts.kind.name != "table" for run in chosen):
            raise WorkbenchError(NO_TABLE)
        results = side_by_side.results_of_runs(Workspace.default(), chosen)
    if releasable:
        results = [{**result, "evaluation": releasable_results(result["evaluation"])} for result in results]
    rows = side_by_side.side_by_side(results, metric or side_by_side.MEASURES)
    if as_json:
        print_json(rows)
    elif markdown:
        print(side_by_side.as_markdown(rows), end="")
    else:
        print_table([dict(row) for row in rows], "")
