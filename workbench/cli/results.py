"""Commands about a set of samples: evaluate, neighbours; and reproduce, which does it all from a recipe."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.cli.measures import by_protocol, with_ways
from workbench.cli.options import (
    Ask,
    Features,
    Json,
    MeasuredOn,
    Num,
    On,
    Public,
    Releasable,
    RunId,
    Samples,
    check_target,
    parse_resources,
)
from workbench.cli.output import print_fields, print_json, print_table, progress_bar, reading_bar, warn
from workbench.cli.result_rows import baseline_rows, releasable_part, releasable_results, result_rows, ways_rows
from workbench.cli.takes import check_canaries, check_denoiser
from workbench.cli.waiting import wait_for
from workbench.errors import WorkbenchError
from workbench.escaping import terminal
from workbench.seeds import LARGEST_SEED
from workbench.serialization import jsonable
from workbench.workspace import Workspace

app = typer.Typer()


@app.command()
def evaluate(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="A run's or an import's id; beside --dataset a file of samples.")],
    dataset: Annotated[
        str | None, typer.Option("--dataset", help="What the samples in a file (.npz, .csv, .parquet) are to look like; imports them.")
    ] = None,
    samples: Samples = "default",
    num: Num = None,
    metric: Annotated[list[str] | None, typer.Option(help="Only this measure; may be repeated.")] = None,
    ways: Annotated[int | None, typer.Option(help="Of a table: how far every so many columns together are off.", min=1, max=5)] = None,
    protocol: Annotated[
        str,
        typer.Option(
            "--protocol",
            help="published: as the papers' tables, which takes hours at full size; dpimagebench: three small residual networks. "
            "Both take 60 000 samples unless --num says less.",
        ),
    ] = "workbench",
    seed: Annotated[int, typer.Option(help="Seed of the measures.", min=0)] = 0,
    attribute: Annotated[
        str | None,
        typer.Option("--attribute", help="Judge privacy score and accuracies by this attribute, as smile, in the place of the class."),
    ] = None,
    features: Features = None,
    features_public: Public = False,
    device: MeasuredOn = None,
    releasable: Releasable = False,
    as_json: Json = False,
) -> None:
    """Measure samples of a run or an import, beside real records (ceiling) and public data alone (epsilon 0); each number is marked."""
    from workbench.evaluation.device import chosen_device
    from workbench.evaluation.feature_files import feature_name
    from workbench.runs import finished
    from workbench.runs.samples import sample_set

    if dataset is not None:
        run_id = _import_id(run_id, dataset)
    if attribute is not None:
        sample_set(Workspace.default(), run_id, samples).facts.labelled_by(attribute)  # refuses an unknown one
    metric = with_ways(metric, ways)
    metric, num = by_protocol(protocol, metric, num, lambda: sample_set(Workspace.default(), run_id, samples).facts.kind.name)
    space = None if features is None else feature_name(features, public=features_public)
    request = {"samples": samples, "num_samples": num, "seed": seed, "metrics": metric, "attribute": attribute, "features": space}
    request["device"] = chosen_device(device)
    wait_for("evaluate", run_id, request)
    evaluation = finished.evaluate_run(
        Workspace.default(), run_id, num, seed, metric, samples=samples, attribute=attribute, features=space, device=request["device"]
    )
    if releasable:
        evaluation = releasable_results(evaluation)
    measured = sample_set(Workspace.default(), run_id, samples)
    warn(measured.cautions)
    if as_json:
        print_json({**evaluation, "claim_only": measured.claim_only, "cautions": measured.cautions})
    else:
        _print_results(evaluation)


def _print_results(evaluation: dict[str, Any]) -> None:
    """An evaluation for people: a row a measure, then what has to be said of some, and where public data come close."""
    from workbench.evaluation.likeness import guessing_note, likeness_note

    results = evaluation["results"]
    print_table(result_rows(evaluation), "No measure fits this run's data.")
    if rows := baseline_rows(evaluation):
        print("\nSimple rows in the place of samples (private):")
        print_table(rows, "")
    if results:
        print("\nHow each was taken; `workbench help NAME` says what it measures:")
        print_table(ways_rows(evaluation), "")
        print()
    for reason in dict.fromkeys(filter(None, (row["epsilon_zero_reason"] for row in results))):
        print(terminal(f"Epsilon 0: {reason}"))
    for row in results:
        if row.get("baselines") and row["note"]:
            print(terminal(f"{row['name']}: {row['note']}"))
    for note in filter(None, (guessing_note(results), likeness_note(results))):
        print(terminal(note))


def _import_id(file: str, dataset: str) -> str:
    """The id of the samples in a file, kept as an import for a dataset."""
    from workbench.datasets.reference import DatasetRef
    from workbench.runs.samples.imported import import_samples

    with reading_bar(f"read {Path(file).name}"):
        imported = import_samples(Workspace.default(), Path(file), DatasetRef.parse(dataset))
    print(f"Warning: {imported.release_reason} They are kept as import {imported.owner}.", file=sys.stderr)
    return imported.owner


@app.command()
def neighbours(
    run_id: RunId,
    out: Annotated[Path, typer.Option("--out", help="The file to write.")],
    samples: Samples = "default",
    num: Num = None,
    features: Features = None,
    features_public: Public = False,
    device: MeasuredOn = None,
    k: Annotated[int, typer.Option(help="Training records beside each sample.", min=1)] = 5,
    limit: Annotated[int, typer.Option(help="Samples in the file, the most suspicious first.", min=1)] = 200,
    as_json: Json = False,
) -> None:
    """Write a page that shows samples beside their nearest records. Those are private: the page is outside the guarantee."""
    from workbench import evaluation
    from workbench.evaluation.feature_files import feature_name
    from workbench.files import write_text_atomically
    from workbench.runs import finished
    from workbench.runs.samples import sample_set

    check_target(out, ".html")
    space = feature_name(features or "pixels", public=features_public)
    wait_for("neighbours", run_id, {"samples": samples, "num_samples": num, "features": space, "k": k, "device": device})
    nearest = finished.neighbours_run(Workspace.default(), run_id, space, k, num, samples=samples)
    shown_set = sample_set(Workspace.default(), run_id, samples)
    records, title = shown_set.records(len(nearest)), shown_set.title
    said = {"title": title, "limit": limit, "cautions": shown_set.cautions}
    write_text_atomically(out, evaluation.neighbours_html(records, shown_set.dataset(), nearest, **said))
    warn(shown_set.cautions)
    print(f"Warning: {evaluation.OUTSIDE_GUARANTEE}", file=sys.stderr)
    values = {
        "run": run_id,
        "samples": samples,
        "file": str(out),
        "num_samples": len(nearest),
        "features": nearest.features,
        "releasable": False,
    }
    shown = f"Wrote the {min(limit, len(nearest))} most suspicious of {len(nearest)} samples to {terminal(out)}."
    print_json(values) if as_json else print(shown)


@app.command()
def audit(run_id: RunId, as_json: Json = False) -> None:
    """Measure a lower bound on epsilon from a run that was trained with --audit-canaries; ends with 1 where it is above the bound."""
    from workbench.marks import mark
    from workbench.runs.audits import audit_run

    check_canaries(run_id)
    wait_for("audit", run_id, {})
    measured = audit_run(Workspace.default(), run_id)
    if as_json:
        print_json({**jsonable(measured), "alarm": measured.is_alarm, "releasable": measured.may_leave})
    else:
        fields = {"lower bound": measured.epsilon, "ceiling": measured.ceiling, "upper bound": measured.bound, "how": measured.words}
        print_fields({**fields, "mark": mark(measured.may_leave)})
    if measured.is_alarm:
        print(measured.alarm, file=sys.stderr)
        raise typer.Exit(1)


@app.command()
def game(
    run_id: RunId,
    score: Annotated[str, typer.Option(help="loss, secmi or pia.")] = "loss",
    games: Annotated[int, typer.Option(help="How often a coin is flipped and a record shown.", min=1, max=1_000_000)] = 200,
    seed: Annotated[int, typer.Option(help="Of coins, records and noise.", min=0, max=LARGEST_SEED)] = 0,
    as_json: Json = False,
) -> None:
    """Play the white-box membership game of dp-promise's Definition 4 on a run's model: the adversary's advantage, private."""
    from workbench.runs.games import GameRequest, game_run

    check_denoiser(run_id)
    request = GameRequest(score=score, games=games, seed=seed)
    wait_for("game", run_id, request.model_dump())
    played = game_run(Workspace.default(), run_id, request)
    if as_json:
        print_json(played)
        return
    low, high = played.interval
    most = "" if played.most is None else f" The bound leaves {played.most:.3f} at most."
    print(f"Right in {played.right} of {played.games} games.{most} Private.")
    print(f"Advantage {played.advantage:.3f} ({low:.3f} to {high:.3f}; 0 is guessing).")


@app.command()
def pac(
    run_id: RunId,
    draws: Annotated[int, typer.Option(help="Trainings, each on a random half of the records.", min=2, max=10_000)] = 16,
    images: Annotated[int, typer.Option(help="Images of each training.", min=2, max=10_000)] = 64,
    seed: Annotated[int, typer.Option(help="Of halves, trainings and samples.", min=0, max=LARGEST_SEED)] = 0,
    as_json: Json = False,
) -> None:
    """Train a run's plan on random halves of its records: the noise its samples would need for PAC privacy, beside the papers' variant."""
    from workbench.runs.pac_audits import pac_run
    from workbench.runs.pac_request import PacRequest

    request = PacRequest(draws=draws, images=images, seed=seed)
    wait_for("pac", run_id, request.model_dump())
    measured = pac_run(Workspace.default(), run_id, request)
    if as_json:
        print_json(measured)
        return
    columns = ("name", "mean_norm", "low", "high", "holds")
    print_table([{name: getattr(row, name) for name in columns} for row in measured.rows], "No noise.")
    for row in measured.rows:
        print(f"{row.name}: {' '.join(row.labels) or 'no condition.'}")
    best = ", ".join(f"{chance:.3g} (before: {prior})" for prior, chance in measured.guesses.items())
    print(f"Mean norm of an image: {measured.signal:.3g}. Best chance to guess at 1 nat: {best}. {measured.covers}")


@app.command()
def reproduce(
    recipe: Annotated[str, typer.Argument(metavar="RECIPE", help="A file, or the name of one that the workbench brings along, as digits.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Write the results as JSON to this file, and their table (.md) and picture (.png) beside it."),
    ] = None,
    reuse: Annotated[
        bool,
        typer.Option(
            "--reuse",
            help="Take runs of the same plan, finished or to go on with, for new ones, and results that --out's file has.",
        ),
    ] = False,
    on: On = None,
    ask: Ask = None,
    releasable: Releasable = False,
    as_json: Json = False,
) -> None:
    """Plan, train, sample and evaluate everything that a recipe names; each number is marked."""
    from workbench.recipes import documents, pieces
    from workbench.recipes import report as recipe_report
    from workbench.recipes.lines import load_recipe
    from workbench.recipes.reproducing import reproduce as made

    loaded = load_recipe(recipe)
    if out is not None:
        check_target(out, ".json")
    rows = pieces.results_of(loaded, out) if reuse and out is not None else []
    known = {(row["name"], row["seed"]) for row in rows}
    with progress_bar(loaded.title) as progress:
        for result in made(loaded, Workspace.default(), reuse=reuse, progress=progress, known=known, on=on, resources=parse_resources(ask)):
            rows = pieces.merged_results(loaded, rows, [releasable_part(result) if releasable else result])
            if out is not None:
                pieces.write(loaded, rows, out)
    if out is not None and rows:
        pieces.write(loaded, rows, out)  # under the recipe as it is now, though nothing was new
    if out is not None and loaded.comparison is None:
        documents.write(rows, loaded, out)
    if as_json:
        print_json({"recipe": loaded.title, "results": rows})
    else:
        print_table(recipe_report.summary_rows(rows), "The recipe names no run.")


@app.command()
def report(
    file: Annotated[Path, typer.Argument(metavar="RESULTS", help="A JSON file that `workbench reproduce --out` wrote.")],
    rows: Annotated[
        Path | None,
        typer.Option(
            "--rows", help="Also write every value with its provenance to this .csv, a row a run and measure; rows of other lines stay."
        ),
    ] = None,
    releasable: Releasable = False,
) -> None:
    """Write the table (.md) and the picture (.png) of a recipe's results beside them; each number is marked."""
    from workbench.recipes import documents
    from workbench.recipes import report as recipe_report
    from workbench.recipes.rows import write_rows

    if rows is not None:
        check_target(rows, ".csv")
    recipe, results = recipe_report.recipe_with_results(file)
    if releasable:
        results = [releasable_part(result) for result in results]
    for path in documents.write(results, recipe, file):
        print(terminal(path))
    if rows is not None:
        print(terminal(write_rows(recipe, results, rows)))


@app.command()
def comparisons(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the results of comparisons are kept, a JSON file each.")],
    take: Annotated[
        list[Path] | None,
        typer.Option("--take", help="First add this file of `workbench reproduce --out` from elsewhere to FOLDER; may be repeated."),
    ] = None,
) -> None:
    """Print what every comparison found, as Markdown: its lines, what was expected, and what the runs say; pictures go into FOLDER."""
    from workbench.recipes import comparison_page

    if not folder.is_dir():
        raise WorkbenchError(f"Expected a folder of results, got {folder}.")
    for piece in take or ():
        print(f"Added to {terminal(comparison_page.take(folder, piece))}.", file=sys.stderr)
    for picture in comparison_page.draw(folder):
        print(terminal(picture), file=sys.stderr)
    print(comparison_page.page(folder), end="")
