"""`workbench compare` on runs of images: their measures in 80 columns, and their samples as a sheet with or without originals."""

import json
from pathlib import Path

import pytest
from PIL import Image
from support.homes import here

from workbench import runs
from workbench.cli.commands import run as execute
from workbench.datasets import load
from workbench.jobs.heartbeat import StopSignal
from workbench.planning import make_plan
from workbench.runs import finished
from workbench.runs.contact_sheet import PRIVATE
from workbench.runs.method_sheet import ORIGINALS
from workbench.runs.samples import sample_set
from workbench.runs.store import RunStore
from workbench.tasks import worker
from workbench.training.state import PerformanceSettings

Output = pytest.CaptureFixture[str]


@pytest.fixture
def pair(capsys: Output) -> list[str]:
    """Two runs of DP-MERF on digits, at epsilon 1 and 10, with 40 samples each."""
    made = []
    for epsilon in (1.0, 10.0):
        plan = make_plan("dp-merf", load("digits").facts, epsilon=epsilon, settings={"num_features": 200, "training.steps": 5})
        run = runs.register(here(), plan, "digits", performance=PerformanceSettings(device="cpu", num_threads=1))
        RunStore(here()).change(run.id, {"queued"}, "started", state="starting", attempt=1)
        worker.take_on(here(), run.id, 1, StopSignal())
        sample_set(here(), run.id).records(40)
        made.append(run.id)
    capsys.readouterr()
    return made


def test_measures_of_runs_of_images_stand_with_intervals_in_80_columns(
    pair: list[str], capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    measures = ["accuracy_logistic_regression", "frechet_distance", "nearer_to_training"]
    accuracy, *_ = [finished.evaluate_run(here(), run, 40, metrics=measures)["results"][0] for run in pair]
    assert execute(["compare", *pair, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    bounds = [RunStore(here()).get(run).bound.epsilon for run in pair]
    assert [row["line"] for row in rows[:2]] == [f"dp-merf, bound {bound:.3g} ({run})" for bound, run in zip(bounds, pair, strict=True)]
    assert rows[2]["line"] == "real records (ceiling)"
    low, high = accuracy["interval"]
    assert rows[0][measures[0]] == f"{accuracy['value']:.4g}, 95 %: {low:.4g} to {high:.4g} (private)"
    assert execute(["compare", *pair]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    words = " ".join(lines).split()
    assert all(word in words for row in rows for name, value in row.items() for word in (name, *value.split()))
    assert execute(["compare", *pair, "--metric", "frechet_distance", "--markdown"]) == 0
    assert capsys.readouterr().out.startswith("| line | bound | frechet_distance |")
    assert execute(["compare", *pair, "--releasable"]) == 2
    assert "with numbers to show" in capsys.readouterr().err, "every number of this evaluation is private"


def test_a_sheet_of_runs_has_originals_unless_they_are_left_out(pair: list[str], tmp_path: Path, capsys: Output) -> None:
    picture, page = tmp_path / "sheet.png", tmp_path / "sheet.html"
    assert execute(["compare", *pair, "--sheet", str(picture)]) == 0
    output = capsys.readouterr()
    assert f"{picture} is private. {PRIVATE}" in output.err
    assert output.out == f"Wrote 2 runs to {picture}, which is private.\n"
    assert Image.open(picture).text["mark"] == "private"  # type: ignore[attr-defined]
    assert execute(["compare", *pair, "--sheet", str(page), "--without-originals", "--json"]) == 0
    output = capsys.readouterr()
    values = json.loads(output.out)
    assert (values["mark"], output.err, values["sheet"]) == ("releasable", "", str(page))
    assert [(run["Column"], run["Run"]) for run in values["runs"]] == [("epsilon 1", pair[0]), ("epsilon 10", pair[1])]
    assert "Releasable: it shows samples alone" in page.read_text()
    assert ORIGINALS not in page.read_text()
    assert execute(["compare", *pair, "--sheet", str(page), "--releasable"]) == 0
    assert "which is releasable" in capsys.readouterr().out, "originals are left out"


def test_what_cannot_be_a_sheet_is_refused(pair: list[str], tmp_path: Path, capsys: Output) -> None:
    file = tmp_path / "sheet.png"
    RunStore(here()).change(pair[1], {"done"}, "changed", releasable=False, seed=1)
    refusals = {
        ("--without-originals",): "Expected --without-originals beside --sheet",
        ("--sheet", str(tmp_path / "sheet.jpg")): "Expected a file that ends in .png or .html",
        ("--sheet", str(file), "--releasable"): f"Expected runs that may be released beside --releasable, got {pair[1]}. The run is seeded",
    }
    for options, said in refusals.items():
        assert execute(["compare", *pair, *options]) == 2
        assert said in " ".join(capsys.readouterr().err.split())
    sample_set(here(), pair[0]).file.unlink()
    assert execute(["compare", *pair, "--sheet", str(file)]) == 2
    assert f"Expected runs that have samples, got {pair[0]} without." in capsys.readouterr().err
    results = tmp_path / "results.json"
    results.write_text("{}")
    assert execute(["compare", str(results), "--sheet", str(file)]) == 2
    assert "got a file of results, which holds no samples" in capsys.readouterr().err
    assert not file.exists()
