"""Commands that ask what a run gives away of its records: near-duplicates, membership, copies. All that they tell is private."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.cli.options import Features, Json, MeasuredOn, Num, Public, RunId, Samples, check_target
from workbench.cli.output import print_fields, print_json, print_table
from workbench.cli.takes import check_denoiser
from workbench.cli.waiting import wait_for
from workbench.escaping import terminal
from workbench.workspace import Workspace

app = typer.Typer()


@app.command()
def duplicates(
    dataset: Annotated[str, typer.Option("--dataset", help="A name, a folder of class subfolders (as ./NAME), or an .npz.")],
    as_json: Json = False,
) -> None:
    """Tell near-duplicates among the training records before anything is trained: a bound speaks of one record. Private."""
    from workbench.datasets.reference import DatasetRef
    from workbench.evaluation.copying import duplicates_among

    twins = duplicates_among(DatasetRef.parse(dataset).load())
    if as_json:
        print_json({**twins, "releasable": False})
        return
    print_fields(twins)
    print(f"{twins['records']:g} training records have another within {twins['distance']:.3g}. These numbers are private.")


@app.command()
def membership(
    run_id: RunId,
    score: Annotated[
        str, typer.Option(help="loss, secmi or pia; quantile or lira, which hold the loss against each record's own.")
    ] = "loss",
    shadows: Annotated[
        int | None,
        typer.Option(help="Shadow models of lira, even, 16 by default: each takes as long as the run."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of records, noise and thresholds.", min=0)] = 0,
    figure: Annotated[Path | None, typer.Option("--figure", help="Also write the ROC curve on logarithmic axes to this .html.")] = None,
    as_json: Json = False,
) -> None:
    """Tell a run's training records from held-out ones by its model: AUC and true-positive rates, all of it private."""
    from workbench.evaluation.attacks import ONE_TRAINING, roc_figure
    from workbench.files import write_text_atomically
    from workbench.runs.memberships import SHADOWS, membership_run
    from workbench.ui.part_files import NO_UPLOAD

    check_target(figure, ".html")
    check_denoiser(run_id)
    if shadows is None and score == "lira":
        shadows = SHADOWS
    wait_for("membership", run_id, {"score": score, "seed": seed, **({} if shadows is None else {"shadows": shadows})})
    result = membership_run(Workspace.default(), run_id, score, seed, shadows=shadows or SHADOWS)
    if figure is not None:
        write_text_atomically(figure, roc_figure([result]).to_html(include_plotlyjs=True, config=dict(NO_UPLOAD)))
    if as_json:
        print_json(result)
        return
    low, high = result.interval
    print(
        f"AUC {result.auc:.3f} ({low:.3f} to {high:.3f}; chance .5), {result.num_members} members and {result.num_nonmembers} others. "
        "Private."
    )
    print(ONE_TRAINING)
    named = ("aim", "threshold", "tpr", "fpr")
    print_table([{name: getattr(point, name) for name in named} for point in result.points], "No operating point.")
    if figure is not None:
        print(f"Wrote the curve to {terminal(figure)}. It is private.")


@app.command()
def copies(
    run_id: RunId,
    samples: Samples = "default",
    num: Num = None,
    features: Features = None,
    features_public: Public = False,
    device: MeasuredOn = None,
    attribute: Annotated[str | None, typer.Option("--attribute", help="Judge the privacy score by this attribute, not the class.")] = None,
    as_json: Json = False,
) -> None:
    """Tell what samples repeat of the training records: extraction, nearness, near-duplicates, privacy score. All of it is private."""
    from workbench.evaluation import OUTSIDE_GUARANTEE
    from workbench.evaluation.feature_files import feature_name
    from workbench.runs.copies import copies_run
    from workbench.runs.samples import sample_set

    if attribute is not None:
        sample_set(Workspace.default(), run_id, samples).facts.labelled_by(attribute)  # refuses an unknown one
    space = feature_name(features or "pixels", public=features_public)
    request = {"samples": samples, "num_samples": num, "features": space, "attribute": attribute, "device": device}
    wait_for("copies", run_id, request)
    copying = copies_run(Workspace.default(), run_id, space, num, samples=samples, attribute=attribute)
    print(f"Warning: {OUTSIDE_GUARANTEE}", file=sys.stderr)
    print_json(copying) if as_json else print_copies(copying)


def print_copies(copying: Mapping[str, Any]) -> None:
    """What was found of copying, for people."""
    near, ratios, duplicates = copying["near"], copying["ratios"], copying["duplicates"]
    among, space = duplicates["among_samples"], near["features"]
    print_fields(
        {
            "samples": f"{copying['num_samples']} of run {copying['run']}, in the features {terminal(copying['features'])}",
            "near is": f"within {copying['distance']:.4g}, where a hundredth of held-out records have a training record",
            "near a record": f"{near['training']} samples a training one, {near['held_out']} one of as many held out; p {near['p']:.3g}"
            + (f", in {terminal(space)}, as training records may have made the features" if space != copying["features"] else ""),
            "smallest ratios": f"{ratios['training']:.3f} to training, {ratios['held_out']:.3f} to held-out records (0 is a copy)",
            "near-duplicates": f"{among['samples']} samples in {among['groups']} groups; "
            f"{duplicates['among_training_records']['records']:g} training records",
        }
    )
    print_table(copying["extracted"], "No training record is repeated by a group of samples.")
    if copying["privacy_score"]:
        print_table(copying["privacy_score"], "")
        print(copying["caveat"])
