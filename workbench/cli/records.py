"""Commands about a run's training records: what its samples show of each, what leaving some out does, and what their teachers vote."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.options import Features, Json, MeasuredOn, Num, Public, RunId, Samples, check_target, text_pairs
from workbench.cli.output import describe_value, print_fields, print_json, print_table, short
from workbench.cli.waiting import wait_for
from workbench.errors import WorkbenchError
from workbench.escaping import terminal
from workbench.seeds import LARGEST_SEED
from workbench.workspace import Workspace

if TYPE_CHECKING:
    from workbench.runs.exposure import Exposure

app = typer.Typer()
MOST_DRAWS, MOST_EPSILON = 100_000, 1e6


@app.command()
def records(
    run_id: RunId,
    draws: Annotated[int, typer.Option(help="Chains of the ideal denoiser; 2 000 or more for a ranking.", min=2)] = 400,
    seed: Annotated[int, typer.Option(help="Seed of the draws.", min=0)] = 0,
    epsilon: Annotated[float, typer.Option(help="The epsilon whose delta is told of each record.", min=1e-6, max=MOST_EPSILON)] = 1.0,
    num_samples: Annotated[int, typer.Option("--num-samples", help="m, the samples that are released.", min=1)] = 1,
    top: Annotated[int, typer.Option(help="How many records are listed, the most exposed first.", min=1)] = 20,
    out: Annotated[Path | None, typer.Option("--out", help="Also write all records to this .csv. It is private.")] = None,
    as_json: Json = False,
) -> None:
    """Tell of each training record how much samples show of it: no differential privacy, and private itself."""
    import pandas as pd

    from workbench.files import write_text_atomically
    from workbench.runs.exposure import IDEAL, PRIVATE, expose_run

    if out is not None:
        check_target(out, ".csv")
    wait_for("records", run_id, {"num_draws": draws, "seed": seed})
    exposure = expose_run(Workspace.default(), run_id, draws, seed)
    rows = record_rows(exposure, epsilon, num_samples)
    if out is not None:
        write_text_atomically(out, pd.DataFrame(rows).assign(mark="private").to_csv(index=False))
    print(f"Warning: {PRIVATE}", file=sys.stderr)
    fields = {"run": run_id, "what": exposure.leakage.label, **error_told(exposure)}
    if as_json:
        print_json({**fields, "epsilon": epsilon, "num_samples": num_samples, "releasable": False, "records": rows[:top]})
        return
    print_fields({**fields, "they are": IDEAL})
    print_table([{name: short(value) for name, value in row.items()} for row in rows[:top]], "The table has no records.")
    if out is not None:
        print(f"Wrote {len(rows)} records to {terminal(out)}.")


@app.command()
def find(
    run_id: RunId,
    picture: Annotated[Path | None, typer.Option("--picture", help="A picture file, grey or in colour, of any size.")] = None,
    known: Annotated[
        list[str] | None, typer.Option("--known", metavar="COLUMN=VALUE", help="What is known of a row of a table; may be repeated.")
    ] = None,
    top: Annotated[int, typer.Option(help="How many records are listed, the nearest first.", min=1)] = 5,
    as_json: Json = False,
) -> None:
    """Find which of a run's records a picture or a row is, for `workbench record`: training records and held-out ones; private."""
    from workbench.evaluation.lookup import PRIVATE, like_picture, like_row
    from workbench.runs.samples import sample_set

    if (picture is None) == (known is None):
        raise WorkbenchError("Expected either --picture or --known, got " + ("neither." if picture is None else "both."))
    if picture is not None and not picture.is_file():
        raise WorkbenchError(f"Expected a picture file, got {terminal(picture)}.")
    dataset = sample_set(Workspace.default(), run_id).dataset()
    matches = like_row(dataset, text_pairs(known), top) if picture is None else like_picture(dataset, picture.read_bytes(), top)
    print(f"Warning: {PRIVATE}", file=sys.stderr)
    nearest: list[dict[str, Any]] = [match._asdict() for match in matches.nearest]
    if as_json:
        print_json({"run": run_id, "equal": matches.equal, "releasable": False, "nearest": nearest})
        return
    print_fields({"run": run_id, "equal records": matches.equal})
    print_table([{name: short(value) for name, value in match.items()} for match in nearest], "There are no records.")


@app.command()
def record(
    run_id: RunId,
    number: Annotated[int, typer.Argument(metavar="NUMBER", help="A record by its place among the training records, from 0 on.", min=0)],
    held_out: Annotated[bool, typer.Option("--held-out", help="Among the held-out records, which the run never saw.")] = False,
    samples: Samples = "default",
    num: Num = None,
    features: Features = None,
    features_public: Public = False,
    device: MeasuredOn = None,
    as_json: Json = False,
) -> None:
    """Tell how near a run's samples come to one record, beside records that the run never saw: "am I in there?"; private."""
    from workbench.evaluation.feature_files import feature_name
    from workbench.runs.nearest_samples import PRIVATE, nearest_samples_run

    space = feature_name(features or "pixels", public=features_public)
    wait_for("nearest-samples", run_id, {"samples": samples, "num_samples": num, "features": space, "device": device})
    nearest = nearest_samples_run(Workspace.default(), run_id, space, num, samples=samples)
    side, count = ("held-out", len(nearest.held_out_distances)) if held_out else ("training", len(nearest.distances))
    if number >= count:
        raise WorkbenchError(f"Expected a {side} record from 0 to {count - 1}, got {number}.")
    indices, distances = nearest.of(side, number)
    print(f"Warning: {PRIVATE}", file=sys.stderr)
    fields = {"run": run_id, "samples": samples, f"{side}_record": number, "features": nearest.features}
    nearer = {"nearer_than_share_of_held_out": nearest.nearer_than(side, number), "releasable": False}
    rows = [{"sample": int(index), "distance": float(distance)} for index, distance in zip(indices, distances, strict=True)]
    if as_json:
        print_json({**fields, **nearer, "nearest": rows})
        return
    print_fields({**fields, **nearer})
    print_table([{name: short(value) for name, value in row.items()} for row in rows], "There are no samples.")


@app.command()
def leakage(
    run_id: RunId,
    over: Annotated[str, typer.Option(help="What varies: decay (of noise), samples, release (its step) or records (how many there are).")],
    draws: Annotated[int, typer.Option(help="Chains of the ideal denoiser.", min=2, max=MOST_DRAWS)] = 400,
    seed: Annotated[int, typer.Option(help="Seed of the draws.", min=0, max=LARGEST_SEED)] = 0,
    epsilon: Annotated[float, typer.Option(help="The epsilon whose delta is told.", min=1e-6, max=MOST_EPSILON)] = 1.0,
    num_samples: Annotated[int, typer.Option("--num-samples", help="m, the samples that are released.", min=1)] = 1,
    as_json: Json = False,
) -> None:
    """Tell how what samples show of the training records varies with the decay, the samples, the release step or the records; private."""
    from workbench.errors import choose
    from workbench.runs.exposure import PRIVATE
    from workbench.runs.leakage import OVER, leakage_run

    way = choose(over, OVER, "way to vary")
    request = {"over": way, "epsilon": epsilon, "num_samples": num_samples, "num_draws": draws, "seed": seed}
    wait_for("leakage", run_id, request)
    rows = leakage_run(Workspace.default(), run_id, way, epsilon, num_samples, draws, seed)
    print(f"Warning: {PRIVATE}", file=sys.stderr)
    fields = {"run": run_id, "over": way, "epsilon": epsilon, "releasable": False, "rows": rows}
    print_json(fields) if as_json else print_table(rows, "There are no records.")


@app.command()
def removal(
    run_id: RunId,
    share: Annotated[float, typer.Option(help="Share of the training records that is left out.")] = 0.05,
    seeds: Annotated[int, typer.Option(help="How often each is trained.", min=1)] = 3,
    draws: Annotated[int, typer.Option(help="Chains of the ideal denoiser that rank the records.", min=2)] = 400,
    as_json: Json = False,
) -> None:
    """Train a run's plan without its most exposed records, and without as many at random; outside any bound."""
    from workbench.runs.removal import OUTSIDE, remove_run

    wait_for("removal", run_id, {"share": share, "seeds": seeds, "num_draws": draws})
    removed = remove_run(Workspace.default(), run_id, share, seeds, draws)
    print(f"Warning: {OUTSIDE}", file=sys.stderr)
    print_json({"run": run_id, **removed}) if as_json else print_table(removed["results"], "Nothing was trained.")


@app.command()
def votes(run_id: RunId, as_json: Json = False) -> None:
    """Tell PATE's epsilon by the true votes of a run's teachers, beside worst case and bound: it depends on the records, and is private."""
    from workbench.runs.store import RunStore
    from workbench.runs.vote_gaps import OF_WHAT, PRIVATE, votes_run

    wait_for("votes", run_id, {})
    value = votes_run(Workspace.default(), run_id)
    print(f"Warning: {PRIVATE}", file=sys.stderr)
    fields = {
        "run": run_id,
        "epsilon_by_true_votes": value.epsilon,
        "worst_case": value.worst_case,
        "bound": describe_value(RunStore(Workspace.default()).get(run_id).bound),
        "delta": value.delta,
        "votes": value.queries,
        "mark": value.mark,
        "releasable": False,
    }
    print_json(fields) if as_json else print_fields({**fields, "of what": OF_WHAT})


def record_rows(exposure: "Exposure", epsilon: float, num_samples: int) -> list[dict[str, Any]]:
    """A row a record, the most exposed first: J with its standard error, and delta at `epsilon`, 1 being vacuous.

    `delta_before` and `J_before` are those of a release after the first step of generation, the others of the release itself.
    """
    leakage = exposure.leakage
    columns = {
        "record": exposure.ranking(),
        "J_before": leakage.first,
        "standard_error_before": leakage.first_error,
        "J": leakage.total,
        "standard_error": leakage.standard_error,
        "delta_before": leakage.delta(epsilon, num_samples, before=True),
        "delta": leakage.delta(epsilon, num_samples),
        "delta_paper_style": leakage.paper_style(epsilon, num_samples),
    }
    return [
        {name: int(record) if name == "record" else float(values[record]) for name, values in columns.items()}
        for record in columns["record"]
    ]


def error_told(exposure: "Exposure") -> dict[str, Any]:
    """The largest gamma and gamma~ of the trained denoiser; nothing where they were not measured."""
    error = exposure.error
    if error is None:
        return {}
    return {
        "gamma": float(error.gamma.max()),
        "gamma_tilde": float(error.gamma_tilde.max()),
        "gamma_tilde_of_equals": float(error.floor.max()),
    }
