"""Commands about sweeps: sweep, which shows what one costs and starts it, and sweeps, which shows what came of them."""

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.options import (
    Ask,
    Json,
    On,
    Performance,
    Releasable,
    Wait,
    check_target,
    parse_performance,
    parse_resources,
)
from workbench.cli.output import describe_value, print_fields, print_json, print_table, progress_bar, warn
from workbench.cli.request_options import ConfiguredOptions, ReadingOptions, with_options
from workbench.cli.result_rows import releasable_results
from workbench.cli.starting import at_terminal
from workbench.errors import WorkbenchError
from workbench.escaping import terminal
from workbench.jobs import control
from workbench.jobs.job import ENDED, Job
from workbench.serialization import dumps, jsonable
from workbench.ui.formats import counted
from workbench.workspace import Workspace

if TYPE_CHECKING:
    from workbench.recipes.lines import Recipe
    from workbench.sweeps.grid import Grid
    from workbench.sweeps.kept import KeptSweep
    from workbench.sweeps.price import Price

app = typer.Typer()
DRY, OUT = "Only show what it would cost.", "Also write the sweep as a recipe to this .json, which `workbench reproduce --reuse` takes."
SET = "Values of a field of the configuration, between commas, as training.steps=100,300; METHOD:KEY=... sets them of one method."
RECIPE = "In the place of METHODs: a recipe of one dataset, by file or name, as `workbench reproduce` takes it."
OF_ONE = "A field that only one of the methods has: `--set METHOD:KEY=...`, as dp-merf:training.steps=100."


@dataclass(frozen=True)
class SweepOptions:
    """What the options of a sweep say: a field an option or a group of them, in the order in which `--help` lists them."""

    methods: Annotated[list[str] | None, typer.Argument(metavar="METHOD...", help="Names of methods; `workbench methods` lists them.")] = (
        None
    )
    dataset: Annotated[
        str | None, typer.Option("--dataset", help="A name, a folder of class subfolders (as ./NAME), an .npz or a .csv.")
    ] = None
    recipe: Annotated[str | None, typer.Option("--recipe", help=RECIPE)] = None
    epsilons: Annotated[str | None, typer.Option("--epsilons", help="Target epsilons between commas, as 0.2,1,10.")] = None
    seeds: Annotated[int, typer.Option(help="Seeds 0, 1, ... of each line: repeatable and NOT releasable.", min=0)] = 0
    repeats: Annotated[int, typer.Option(help="In the place of seeds: how many unseeded runs of each line.", min=1)] = 1
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=V1,V2", help=SET)] = None
    metrics: Annotated[str | None, typer.Option("--metrics", help="Measures between commas; the picture shows the first.")] = None
    num: Annotated[int | None, typer.Option("--num", help="Samples that are measured of each run.", min=2)] = None
    title: Annotated[str, typer.Option("--title", help="What the sweep is called.")] = ""
    reading: ReadingOptions = field(default_factory=ReadingOptions)
    configured: ConfiguredOptions = field(default_factory=ConfiguredOptions)
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N.")] = "auto"
    performance: Performance = None

    def lines(self) -> "Recipe":
        """The recipe of that name or file, or the lines of METHODs, a dataset and the options; never of both."""
        from workbench.recipes.lines import load_recipe

        if self.recipe is None:
            return self.grid().recipe(self.title)
        if self != SweepOptions(recipe=self.recipe):
            raise WorkbenchError("Give --recipe, or METHODs, --dataset and the options of their lines, not both.")
        return load_recipe(self.recipe)

    def grid(self) -> "Grid":
        """What METHODs, the dataset and the options ask for."""
        from workbench.sweeps.grid import Grid, choices, numbers

        if not self.methods or self.dataset is None:
            raise WorkbenchError("Expected METHODs and --dataset, or --recipe.")
        return Grid.of(
            methods=tuple(self.methods),
            dataset=self.reading.of(self.dataset),
            epsilons=(None,) if self.epsilons is None else numbers(self.epsilons, "epsilons"),
            settings=choices(self.settings or ()),
            seeds=tuple(range(self.seeds)),
            repeats=self.repeats,
            metrics=None if self.metrics is None else tuple(part.strip() for part in self.metrics.split(",") if part.strip()),
            num_samples=self.num,
            performance=parse_performance(self.device, self.performance).model_dump(exclude_defaults=True),
            **vars(self.configured),
        )


@app.command()
@with_options
def sweep(
    asked_for: SweepOptions,
    on: On = None,
    ask: Ask = None,
    out: Annotated[Path | None, typer.Option("--out", help=OUT)] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help=DRY)] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before it starts.")] = False,
    wait: Wait = False,
    as_json: Json = False,
) -> None:
    """Train and measure METHODs at several epsilons, settings and seeds, in turn; shows the whole cost first, and asks.

    Asked for again it goes on: what is done is skipped, what failed is tried again. The last line is {"sweep": ID}.
    """
    from workbench.recipes import pieces
    from workbench.sweeps.price import price
    from workbench.tasks import sweeping

    check_target(out, ".json")
    resources = parse_resources(ask)
    try:
        recipe = asked_for.lines()
        cost = price(Workspace.default(), recipe, on)
    except WorkbenchError as error:
        if len(asked_for.methods or ()) > 1 and str(error).startswith("Unknown field"):
            raise WorkbenchError(f"{error} {OF_ONE}") from None
        raise
    if as_json and dry_run:
        print_json({**jsonable(cost), "choosing": cost.choosing_words})
    elif not as_json:
        _print_price(cost)
    if out is not None:
        pieces.write_recipe(recipe, out)
    if dry_run:
        return
    _confirm(cost, yes)
    _finish(sweeping.begin(Workspace.default(), recipe, on, resources), recipe, wait, as_json)


@app.command()
def sweeps(
    sweep_id: Annotated[str | None, typer.Argument(metavar="SWEEP", help="Only this one, with its table.")] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Write its results as JSON to this file, their table (.md) and picture (.png) beside it."),
    ] = None,
    forget: Annotated[bool, typer.Option("--forget", help="Remove this sweep and its table; its runs stay.")] = False,
    releasable: Releasable = False,
    as_json: Json = False,
) -> None:
    """List sweeps, or show what one has found so far: mean and spread of each line over its runs; each number is marked."""
    from workbench.sweeps import results
    from workbench.sweeps.kept import KeptSweep

    check_target(out, ".json")
    if forget:
        _forget(sweep_id)
        return
    if sweep_id is None:
        rows = [_sweep_row(kept) for kept in KeptSweep.all(Workspace.default())]
        print_json(rows) if as_json else print_table(
            rows, "No sweeps yet. `workbench sweep METHOD... --dataset D --epsilons 1,10` makes one."
        )
        return
    kept = KeptSweep.read(Workspace.default(), sweep_id)
    measured = kept.results()
    if releasable:
        measured = [{**result, "evaluation": releasable_results(result["evaluation"])} for result in measured]
    standing, rows = _sweep_row(kept), results.table(measured)
    if as_json:
        print_json({**standing, "lines": rows, "results": measured})
    else:
        print_fields(standing)
        print_table(rows, "Nothing has been measured yet.")
    if out is not None:
        for path in results.write(kept.recipe, measured, out):
            print(terminal(path), file=sys.stderr)


def _forget(sweep_id: str | None) -> None:
    from workbench.tasks import sweeping

    if sweep_id is None:
        raise WorkbenchError("Expected a sweep beside --forget, got none. `workbench sweeps` lists them.")
    sweeping.forget(Workspace.default(), sweep_id)
    print(f"Removed sweep {sweep_id}. Its runs stay; `workbench delete RUN` removes one.")


def _sweep_row(kept: "KeptSweep") -> dict[str, Any]:
    """A sweep in a row: its title, its job's state, how many of its runs have been measured."""
    from workbench.tasks.sweeping import find_job

    job = find_job(kept.workspace, kept.recipe)
    fields = {"sweep": kept.id, "title": kept.recipe.title, "state": "not begun" if job is None else job.state}
    fields |= {"measured": f"{len(kept.results())} of {len(kept.recipe.seeded_runs)}"}
    return fields | ({"error": job.error} if job is not None and job.error else {})


def _print_price(cost: "Price") -> None:
    """The whole cost for people."""
    from workbench.ui.formats import duration

    there = {"already done": cost.done, "at work": cost.at_work, "to go on with": cost.going_on, "new": cost.new}
    unknown = f"unknown of {counted(cost.unknown, 'run')}, whose pace has not been measured" if cost.unknown else ""
    known = f"about {duration(cost.seconds)}, one run after another" if cost.seconds or not unknown else ""
    print_fields({
        "runs": f"{cost.runs}: " + ", ".join(f"{number} {what}" for what, number in there.items() if number),
        "expected time": "; ".join(filter(None, [known, unknown])),
        "all runs together": {name: value for name, value in describe_value(cost.together).items() if name in _TOLD},
        "plain sum of their bounds": {"epsilon": cost.plain_sum, "delta": cost.plain_delta},
        f"account of {cost.dataset} afterwards": {name: value for name, value in describe_value(cost.account).items() if name in _TOLD},
        "choosing the best": cost.choosing_words,
        **({"where to choose": cost.advice} if cost.advice else {}),
    })  # fmt: skip
    warn(cost.warnings)


_TOLD = ("epsilon", "delta", "status", "neighboring relation")


def _confirm(cost: "Price", yes: bool) -> None:
    """Ask before anything is spent; where nobody can answer, --yes does. What spends nothing is not asked about."""
    if yes or not cost.spends:
        return
    if not at_terminal():
        raise WorkbenchError("Nothing was started: nobody can be asked here whether to spend this. --yes starts the sweep.")
    if not typer.confirm(f"Start {counted(cost.new + cost.going_on, 'run')}?", err=True):
        raise typer.Exit(1)


def _finish(job: Job, recipe: "Recipe", wait: bool, as_json: bool) -> None:
    """Follow the sweep if asked, with one bar; print its table and its line last. Leaving does not end it."""
    from workbench.sweeps import results
    from workbench.sweeps.kept import KeptSweep

    workspace = Workspace.default()
    if wait:
        try:
            with progress_bar(recipe.title) as move:
                job = control.wait(workspace, job.id, progress=lambda now: move(now.share))
        except KeyboardInterrupt:
            print(f"\nThe sweep goes on; `workbench cancel {job.id}` ends it and its runs.", file=sys.stderr)
        rows = results.table(KeptSweep.read(workspace, job.id).results())
        print_json(rows) if as_json else print_table(rows, "Nothing has been measured yet.")
    print(dumps({"sweep": job.id}), flush=True)
    if job.state in ENDED:
        print(f"The sweep ({job.id}) {ENDED[job.state]}. {terminal(job.error or '')}".rstrip(), file=sys.stderr)
        raise typer.Exit(1)
