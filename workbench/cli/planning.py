"""Commands that touch no record: methods, datasets, plan, epsilon; and train, which starts a run."""

import math
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from workbench.cli.launched import finish_launch, measure, watch
from workbench.cli.options import (
    Ask,
    AuditCanaries,
    AuditKind,
    AuditSeed,
    Json,
    Now,
    On,
    Performance,
    Priority,
    Seed,
    Wait,
    Yes,
    facts_by_hand,
    parse_performance,
    parse_resources,
)
from workbench.cli.output import (
    describe_value,
    line_width,
    print_fields,
    print_json,
    print_table,
    readable,
    reading_bar,
    strict_fields,
    warn,
)
from workbench.cli.plan_output import print_plan
from workbench.cli.request_options import RequestOptions, with_options
from workbench.cli.starting import ask_again, seed_warning, spends, with_epsilon
from workbench.escaping import terminal
from workbench.jobs.launchers import chosen_launcher, has_machines
from workbench.serialization import jsonable
from workbench.workspace import Workspace

if TYPE_CHECKING:
    from workbench.datasets import Dataset, DatasetFacts
    from workbench.plan import Plan
    from workbench.request import Request

app = typer.Typer()


@app.command()
def methods(as_json: Json = False) -> None:
    """List the methods that can be trained."""
    from workbench.methods import METHODS

    rows = [
        {
            "name": name,
            "title": method_class.title,
            "source": method_class.source,
            "kinds": sorted(method_class.kinds),
            "presets": list(method_class.presets),
        }
        for name, method_class in METHODS.items()
    ]
    print_json(rows) if as_json else print_table(rows, "No methods.")


@app.command("datasets")
def list_datasets(as_json: Json = False) -> None:
    """List the datasets that have a name; a folder of class subfolders, an .npz or a .csv will do as well."""
    from workbench.datasets import DATASETS

    rows, workspace = [], Workspace.located()
    for name, entry in DATASETS.items():
        facts = entry.known_facts(workspace)
        rows.append(
            {
                "name": name,
                "num_records": facts and facts.num_records,
                "shape": facts and list(facts.shape),
                "num_classes": facts and facts.num_classes,
                "records_of": entry.records_of,
                "is_public": bool(facts and facts.is_public),
                "is_local": entry.is_local(workspace),
                "summary": entry.summary,
            }
        )
    print_json(rows) if as_json else print_table(rows, "No datasets.")


@app.command()
def declare(
    file: Annotated[Path, typer.Argument(metavar="FILE.csv", help="Your own table, with a line of headings.")],
    target: Annotated[str, typer.Option("--target", help="The column that is the class; the last by default.")] = "",
    leave_out: Annotated[list[str] | None, typer.Option("--leave-out", metavar="COLUMN", help="A column that is not read.")] = None,
    person: Annotated[str, typer.Option("--person", metavar="COLUMN", help="Who has a row, where somebody may have several.")] = "",
    rows_per_person: Annotated[int, typer.Option(help="Beside --person: how many rows of each take part at most.", min=0)] = 0,
    check: Annotated[
        str | None,
        typer.Option("--check", metavar="DECLARATION", help="Tell what it leaves of each column, and count the rows that break its rules."),
    ] = None,
    epsilon: Annotated[float, typer.Option(help="Beside --check: at which the noise on each column is told.", min=1e-3, max=1e3)] = 1.0,
) -> None:
    """Propose what to declare public of a table's columns: JSON, made from private rows, to be changed and given as --declared FILE."""
    from workbench.datasets.proposal import WARNING, proposal

    if check is not None:
        _print_check(file, check, epsilon)
        return
    with reading_bar(f"read {file.name}"):
        proposed = proposal(file, target, leave_out or (), person, rows_per_person)
    print(f"Warning: {WARNING}", file=sys.stderr)
    for name, reason in proposed.left_out.items():
        print(terminal(f"Left out: {name}. {reason}"), file=sys.stderr)
    print(readable(proposed.declaration.model_dump(exclude_defaults=True), indent=1))


def _print_check(file: Path, declared: str, epsilon: float) -> None:
    """What a declaration leaves of each column and how many rows break each of its rules: for those who have the rows."""
    from workbench.datasets.csv_table import broken_rules
    from workbench.datasets.declaration import TableDeclaration
    from workbench.evaluation.declared_columns import NOISE, PRIVATE, report

    known = TableDeclaration.parse(declared)
    with reading_bar(f"read {file.name}"):
        counts, columns = broken_rules(file, known), report(file, known, epsilon)
    print(f"Warning: {PRIVATE}", file=sys.stderr)
    named = {"noise": f"noise at epsilon {epsilon:g}"}
    print_table([{named.get(name, name): value for name, value in row.items()} for row in columns], "")
    print(textwrap.fill(NOISE, line_width()))
    rows = [{"rule": readable(rule), "rows that break it": count} for rule, count in zip(known.never, counts, strict=True)]
    print_table(rows, "The declaration has no rules.")


@app.command()
@with_options
def plan(
    asked_for: RequestOptions,
    num_records: Annotated[int | None, typer.Option(help="In the place of --dataset: the number of training records.")] = None,
    shape: Annotated[str | None, typer.Option(help="In the place of --dataset: C,H,W.")] = None,
    num_classes: Annotated[int, typer.Option(help="In the place of --dataset: the number of classes.")] = 10,
    group_size: Annotated[int, typer.Option(help="Records that one person may have: also show the bound for such a group.")] = 1,
    everything: Annotated[bool, typer.Option("--all", help="Show every field of the configuration.")] = False,
    form: Annotated[
        Literal["command", "script", "notebook"] | None,
        typer.Option("--as", help="Print the same configuration as a command line, a Python script or a notebook instead."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what a method would release and at what epsilon, before any record is touched."""
    from workbench import experiment
    from workbench.methods.protocols import offered_features
    from workbench.privacy import group_bound

    request = asked_for.of(facts_by_hand(num_records, shape, num_classes))
    made = experiment.make_plan(request, checked_facts(request))
    if form is not None:
        from workbench.runs.scripts import FORMS

        print(FORMS[form](request), end="")
        return
    group = group_bound(made.stages, made.delta, group_size) if group_size != 1 else None
    if as_json:
        beside = {"group_size": group_size, "group_bound": group} if group else {}
        print_json(jsonable(made) | {"not_dp": offered_features(made.build()), **strict_fields(made), **beside})
        return
    print_plan(made, everything)
    if is_own(request) and (words := _proposed_instead(made)):
        print(textwrap.fill(words, line_width()))
    if group:
        print_fields({f"bound for groups of {group_size}": describe_value(group)})


@app.command()
def epsilon(
    noise_multiplier: Annotated[float, typer.Option(help="Standard deviation of the noise over the clipping norm.")],
    sample_rate: Annotated[float, typer.Option(help="Probability that a record is in a batch.")],
    steps: Annotated[int, typer.Option(help="Number of steps.")],
    delta: Annotated[float, typer.Option(help="Delta, in (0, 1).")],
    as_json: Json = False,
) -> None:
    """Epsilon of the Poisson-sampled Gaussian mechanism by every accountant, and the proved bound."""
    from workbench.privacy.accounting.accountants import ACCOUNTANTS
    from workbench.privacy.accounting.bounds import epsilon_poisson_gaussian

    meaning = {
        "delta": delta,
        "neighboring_relation": "ADD_OR_REMOVE_ONE",
        "sampling": "Poisson batches, divided by the expected batch size",
        "status": {name: accountant.status for name, accountant in ACCOUNTANTS.items()} | {"bound": "proved"},
    }
    values = epsilon_poisson_gaussian(noise_multiplier, sample_rate, steps, delta) | meaning
    print_json(values) if as_json else print_fields(jsonable(values))


@app.command()
@with_options
def train(
    asked_for: RequestOptions,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N.")] = "auto",
    performance: Performance = None,
    seed: Seed = None,
    audit_canaries: AuditCanaries = None,
    audit_kind: AuditKind = "patterns",
    audit_seed: AuditSeed = None,
    wait: Wait = False,
    yes: Yes = False,
    now: Now = False,
    priority: Priority = 0,
    on: On = None,
    ask: Ask = None,
    as_json: Json = False,
) -> None:
    """Have a run trained in the background, in its turn; the last line is {"run": ID}. With --wait an audited one is measured too."""
    from workbench import experiment, runs, training_data
    from workbench.plan import check_trainable
    from workbench.privacy.attacks.canaries import AuditDesign

    speed = parse_performance(device, performance)
    launcher, resources = chosen_launcher(on), parse_resources(ask)
    if not has_machines(launcher):
        speed.torch_device()
    request = asked_for.of()
    loaded = read_whole(request) if request.place.path else None
    named, request = request.epsilon is not None, with_epsilon(request, loaded.facts if loaded else request.facts())
    made = experiment.make_plan(request, loaded.facts if loaded else None)
    check_trainable(made)
    training_data.check_public(made, Workspace.default())
    loaded = loaded or request.place.load()
    warn([*made.warnings, seed_warning(seed), None if named else spends(made)])
    if not as_json:
        print_plan(made)
    seeded = {} if audit_seed is None else {"seed": audit_seed}
    audit = AuditDesign(num_canaries=audit_canaries, kind=audit_kind, **seeded) if audit_canaries else None
    ask_again(made, loaded, yes)
    turn: dict[str, Any] = {"priority": priority, "at_once": now, "on": launcher, "resources": resources}
    run = runs.launch(Workspace.default(), made, performance=speed, seed=seed, loaded=loaded, audit=audit, **turn)
    if wait and audit is not None:
        measure(watch(run))
    finish_launch(run, wait)


def checked_facts(request: "Request") -> "DatasetFacts":
    """The facts of a request's dataset; one's own files are read whole, so that all of them are checked."""
    return read_whole(request).facts if is_own(request) else request.facts()


def is_own(request: "Request") -> bool:
    """Whether a request is for one's own files."""
    from workbench.datasets.reference import DatasetRef

    return isinstance(request.dataset, DatasetRef) and bool(request.dataset.path)


def read_whole(request: "Request") -> "Dataset":
    """The records of a request's files, with a bar on stderr where that takes long."""
    with reading_bar(f"read {request.place.account}"):
        return request.place.load()


def _proposed_instead(made: "Plan") -> str:
    """What the pages propose for images of one's own of such facts, where that is another method; nothing of tables or without a bound."""
    from workbench.methods.proposed import proposed_for_images

    if made.facts.kind.name != "image" or not math.isfinite(made.bound.epsilon):
        return ""
    proposed = proposed_for_images(made.facts, made.bound.epsilon, made.delta)
    return "" if proposed.method == made.method else f"Proposed for these images: {proposed.method}. {proposed.reason}"
