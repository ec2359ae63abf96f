"""The command that tries a plan on drawn records, before any budget is spent."""

import textwrap
from typing import Annotated, Any

import typer

from workbench.cli.options import Json, Performance, parse_performance
from workbench.cli.output import describe_value, line_width, print_fields, print_json, print_table
from workbench.cli.request_options import RequestOptions, with_options
from workbench.workspace import Workspace

app = typer.Typer()


@app.command("dry-run")
@with_options
def dry_run(
    asked_for: RequestOptions,
    seed: Annotated[int, typer.Option(help="Of the drawn records and of the training; other seeds show the spread.", min=0)] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N.")] = "auto",
    performance: Performance = None,
    as_json: Json = False,
) -> None:
    """Carry a plan out on drawn records of the same number, shape and classes: no record of the dataset is touched, nothing is spent."""
    from workbench import experiment
    from workbench.cli.planning import checked_facts
    from workbench.cli.waiting import wait_for
    from workbench.jobs.job import WORKSPACE
    from workbench.runs import dry_run

    workspace, speed = Workspace.default(), parse_performance(device, performance)
    speed.torch_device()
    request = asked_for.of()
    plan = experiment.make_plan(request, checked_facts(request))
    wait_for("dry-run", WORKSPACE, {"dry_run": dry_run.ask(workspace, plan, speed, seed)})
    outcome = dry_run.kept_dry_run(workspace, plan, seed)
    assert outcome is not None
    if as_json:
        print_json(outcome)
        return
    fields = {"method": plan.method, "facts of": plan.facts.name, "bound": describe_value(plan.bound), "seconds": round(outcome.seconds, 1)}
    print_fields(fields)
    print_table([row_of(result) for result in outcome.results], "No measure fits such records.")
    print(textwrap.fill(outcome.caution, line_width()))


def row_of(result: Any) -> dict[str, Any]:
    """A measure of a dry run beside what it may be compared with; nothing of it is private."""
    return {
        "measure": result.name,
        "value": result.value,
        "interval": result.interval,
        "chance": result.chance,
        "epsilon 0": result.epsilon_zero,
        "real drawn records": result.ceiling,
    }
