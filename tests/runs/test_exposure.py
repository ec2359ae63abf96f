"""Values per record of a finished run: made once, kept in its folder, refused where a method has none; by command too."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.homes import here
from support.launchers import Here
from support.odd_methods import join_registry
from support.quick import quick_dataset, quick_plan
from support.tables import toy_table

from workbench import experiment, runs, tasks
from workbench.cli import main
from workbench.datasets import DATASETS, DatasetEntry
from workbench.errors import DamagedFileError, WorkbenchError
from workbench.jobs import control
from workbench.jobs.launchers import LAUNCHERS
from workbench.methods.ddm import DDM
from workbench.runs import exposure, removal
from workbench.runs.folder import RunFolder
from workbench.runs.leakage import OVER, leakage_over
from workbench.runs.run import Run
from workbench.runs.samples import sample_set
from workbench.runs.store import RunStore
from workbench.tasks import worker
from workbench.training.state import PerformanceSettings


@pytest.fixture
def trained(workbench_home: object, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Train a method's quick plan in this process."""
    entry = DatasetEntry("A small table.", "toy-table", lambda _: toy_table().facts, lambda _: toy_table())
    monkeypatch.setitem(DATASETS, "toy-table", entry)
    monkeypatch.setitem(LAUNCHERS, "local", Here())

    def train(method: str) -> Run:
        plan = quick_plan(method)
        settings = PerformanceSettings(device="cpu", num_threads=1)
        run = runs.register(here(), plan, plan.facts.name, performance=settings, loaded=quick_dataset(method))
        RunStore(here()).change(run.id, {"queued"}, "started", state="starting", attempt=1)
        worker.main(here(), run.id)
        return RunStore(here()).get(run.id)

    return train


def test_values_are_made_once_kept_and_read_back(trained: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run = trained("ddm")
    assert exposure.kept_exposure(here(), run.id, 20) is None
    shares: list[float] = []
    exposed = exposure.expose_run(here(), run.id, 20, progress=shares.append)
    assert shares == sorted(shares)
    assert 0.85 < shares[-1] <= 0.9 + 1e-9
    assert exposed.leakage.total.shape == (240,)
    assert (np.diff(exposed.leakage.total[exposed.ranking()]) <= 0).all()
    assert exposed.error is not None
    assert exposed.error.timesteps[[0, -1]].tolist() == [1, 50]
    assert (exposed.error.gamma >= 0).all()
    assert (exposed.error.floor < 0.1).all()
    (path,) = RunFolder(here(), run.id).path.glob("leakage-*")
    assert path.stat().st_mode & 0o077 == 0 or path.parent.stat().st_mode & 0o077 == 0, "nobody else may read it"
    monkeypatch.setattr(DDM, "per_instance", lambda *_: pytest.fail("made twice"))
    for again in (exposure.expose_run(here(), run.id, 20), exposure.kept_exposure(here(), run.id, 20)):
        assert again is not None
        assert again.leakage.label == exposed.leakage.label
        assert np.array_equal(again.leakage.per_step, exposed.leakage.per_step)
        assert again.error is not None
        assert np.array_equal(again.error.gamma, exposed.error.gamma)
    assert exposure.kept_exposure(here(), run.id, 21) is None


def test_a_method_without_values_and_senseless_requests_are_refused(trained: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    join_registry(monkeypatch)
    other, run = trained("odd-marginals"), trained("ddm")
    for request, complaint in (
        ({"num_draws": 1}, "draws"),
        ({"draws": 20}, "draws"),
        ({"seed": 2**32}, "Expected at most 4294967295"),
    ):
        with pytest.raises(WorkbenchError, match=rf"view of the records cannot be carried out\. .*{complaint}"):
            tasks.begin(here(), "records", run.id, request)
    with pytest.raises(WorkbenchError, match="share of one record"):
        tasks.begin(here(), "removal", run.id, {"share": 0.001})
    assert not control.Jobs(here()).of(run.id)[1:], "nothing but its training was registered"
    with pytest.raises(WorkbenchError, match="such as ddm"):
        tasks.begin(here(), "records", other.id, {})


def test_damaged_results_are_one_sentence_and_made_anew_once_moved_away(trained: Any) -> None:
    run = trained("ddm")
    exposure.expose_run(here(), run.id, 20)
    (path,) = RunFolder(here(), run.id).path.glob("leakage-*")
    content = path.read_bytes()
    with np.load(path) as file:
        fewer = {name: file[name] for name in file.files if name != "per_step"}
    with path.open("wb") as file:
        np.savez(file, **fewer)
    for damage in (path.read_bytes(), content[:200], b""):
        path.write_bytes(damage)
        with pytest.raises(DamagedFileError, match="Move it away: it is made anew"):
            exposure.kept_exposure(here(), run.id, 20)
    path.unlink()
    exposure.expose_run(here(), run.id, 20)
    assert path.exists()
    kept = RunFolder(here(), run.id).path / "removal-0.05-3-400.json"
    for damaged in ('{"share": 0.05', '{"share": 0.05}', "[]"):
        kept.write_text(damaged)
        with pytest.raises(DamagedFileError, match=r"Expected a removal experiment in .*Move it away"):
            removal.kept_removal(here(), run.id, 0.05, 3, 400)
    assert removal.kept_removal(here(), run.id, 0.0500001, 3, 400) is None, "another share is another experiment"


def test_the_command_lists_the_most_exposed_and_writes_all(trained: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = trained("ddm")
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(["records", run.id, "--draws", "20", "--top", "5", "--epsilon", "2", "--json", "--out", str(tmp_path / "all.csv")])
    assert not ended.value.code
    out, err = capsys.readouterr()
    printed = json.loads(out)
    assert "Do not share them" in err
    assert printed["releasable"] is False
    assert {"gamma", "gamma_tilde", "gamma_tilde_of_equals"} <= printed.keys()
    exposed = exposure.kept_exposure(here(), run.id, 20)
    assert exposed is not None
    assert [row["record"] for row in printed["records"]] == exposed.ranking()[:5].tolist()
    assert all(row["delta_before"] < row["delta"] for row in printed["records"])
    assert [row["delta"] for row in printed["records"]] == pytest.approx(exposed.leakage.delta(2.0)[exposed.ranking()[:5]])
    with (tmp_path / "all.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 240
    assert {row["mark"] for row in rows} == {"private"}


def test_leaving_the_most_exposed_out_trains_anew_beside_random_ones(trained: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removal, "NUM_SAMPLES", 60)
    monkeypatch.setattr(removal, "CLASSIFIERS", removal.CLASSIFIERS[:1])
    run = trained("ddm")
    seen: list[Any] = []
    fit = experiment.fit
    monkeypatch.setattr(experiment, "fit", lambda plan, data, *rest: (seen.append((plan, data)), fit(plan, data, *rest))[1])
    with pytest.raises(WorkbenchError, match="share of one record"):
        removal.remove_run(here(), run.id, 0.001, 1, 20)
    job = tasks.begin(here(), "removal", run.id, {"share": 0.1, "seeds": 1, "num_draws": 20})
    assert job.state == "done", job.error
    outcome = removal.kept_removal(here(), run.id, 0.1, 1, 20)
    assert outcome is not None
    assert (outcome["removed"], outcome["releasable"]) == (24, False)
    assert [row["kept"] for row in outcome["results"]] == list(removal.KEPT)
    assert all(0 <= row[name] <= 1 for row in outcome["results"] for name in removal.CLASSIFIERS)
    assert [len(data.train) for _, data in seen] == [240, 216, 216]
    assert len({plan.config["training"]["noise_multiplier"] for plan, _ in seen}) == 1, "the noise stays what it was"
    exposed = exposure.kept_exposure(here(), run.id, 20)
    assert exposed is not None
    places = np.sort(exposed.ranking()[24:])
    assert np.array_equal(seen[1][1].train.records, toy_table().train.records[places])
    assert not np.array_equal(seen[1][1].train.records, seen[2][1].train.records)


def test_a_removal_experiment_that_died_is_gone_on_with(trained: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removal, "NUM_SAMPLES", 60)
    monkeypatch.setattr(removal, "CLASSIFIERS", removal.CLASSIFIERS[:1])
    run, accuracies = trained("ddm"), removal.accuracies
    measured: list[int] = []

    def dying(workspace: Any, plan: Any, part: Any, seed: int) -> dict[str, float]:
        if len(measured) == 1:
            measured.append(0)
            raise OSError("gone")
        measured.append(len(part.train))
        return accuracies(workspace, plan, part, seed)

    monkeypatch.setattr(removal, "accuracies", dying)
    job = tasks.begin(here(), "removal", run.id, {"share": 0.1, "seeds": 1, "num_draws": 20})
    assert (job.state, removal.kept_removal(here(), run.id, 0.1, 1, 20)) == ("failed", None)
    runs.resume(here(), job.id)
    assert measured == [240, 0, 216, 216]
    outcome = removal.kept_removal(here(), run.id, 0.1, 1, 20)
    assert outcome is not None
    assert [row["kept"] for row in outcome["results"]] == list(removal.KEPT)


def test_leakage_falls_with_the_decay_and_a_late_release_and_grows_with_samples(trained: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run = trained("ddm")
    shares: list[float] = []
    rows = {over: leakage_over(here(), run.id, over, num_draws=400, progress=shares.append) for over in OVER.values()}
    assert max(shares) == pytest.approx(1.0)
    decay = {row["schedule"]: row["largest delta"] for row in rows["decay"]}
    assert decay["cubic"] < decay["linear"] < decay["cosine"]
    samples = [row["median delta"] for row in rows["samples"]]
    assert samples == sorted(samples)
    sizes, first, last = (
        np.array([row[name] for row in rows["records"]]) for name in ("records", "median J of the first step", "median J")
    )
    assert sizes.tolist() == sorted(sizes, reverse=True)
    assert (np.diff(first) > 0).all(), "fewer records show more of the same ones"
    slope = -np.polyfit(np.log(sizes), np.log(first), 1)[0]
    assert slope == pytest.approx(2, abs=0.2), "1/s^2 as generation begins"
    assert (first < last).all()
    release = [row["largest delta"] for row in rows["release"]]
    assert rows["release"][0]["release step"] == 0
    assert release == sorted(release, reverse=True)
    whole = exposure.kept_exposure(here(), run.id, 400)
    assert whole is not None
    assert release[0] == pytest.approx(float(whole.leakage.delta(1.0).max()))
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(["leakage", run.id, "--over", "samples", "--draws", "400", "--json"])
    assert not ended.value.code
    assert json.loads(capsys.readouterr().out)["rows"] == rows["samples"]


def test_what_such_records_cannot_be_is_refused_before_any_is_drawn(
    trained: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, pictures = trained("ddm").id, trained("dp-merf").id
    for id_, option, file, words in (
        (rows, "--sheet", "sheet.png", "Expected images, got rows of a table."),
        (pictures, "--out", "samples.csv", "Expected rows of a table, got images."),
    ):
        with pytest.raises(SystemExit):
            main(["sample", id_, option, str(tmp_path / file)])
        assert words in capsys.readouterr().err
        assert sample_set(here(), id_).kept_records() is None
    for task in ("evaluate", "neighbours", "copies"):
        with pytest.raises(WorkbenchError, match="features classifier take image data, got table"):
            tasks.begin(here(), task, rows, {"features": "classifier"})
    with pytest.raises(WorkbenchError, match="Expected 1 to 1000000 samples, got 1000001"):
        sample_set(here(), pictures).records(1_000_001)
