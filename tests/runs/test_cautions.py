"""No sample that shows something public in the place of the records is shown without a word: command, contact sheet, export."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from support.homes import here
from support.launchers import Here
from support.notes import read_notes
from support.shapes import coloured_shapes, folder_of_arrays
from support.shapes import shapes as shapes_of_any_colour
from support.tables import toy_people, uneven_table

from workbench.cli import main
from workbench.datasets import load
from workbench.datasets.base import Dataset
from workbench.experiment import fit, new_state
from workbench.jobs.launchers import LAUNCHERS
from workbench.plan import Plan
from workbench.planning import make_plan
from workbench.records import Records
from workbench.runs.run import Run
from workbench.runs.samples import sample_set
from workbench.runs.samples.cautions import (
    EQUAL_SHARES,
    FILE,
    RELEASED_SHARES,
    Measures,
    kept_noise,
    measures_in,
    of_missing,
    of_noise,
    of_preview,
)
from workbench.runs.samples.drawn import request_samples
from workbench.runs.samples.request import SamplesRequest
from workbench.runs.store import RunStore

FEW = ("--set", "records=1000")
PRIOR_WORDS = "look like the public prior"
NOISE_WORDS = "These samples are mostly noise"
Command = Callable[..., tuple[str, str]]


@pytest.fixture
def workbench(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """`workbench(*arguments)`: standard output and errors of a command, whose jobs are done in this process."""
    monkeypatch.setitem(LAUNCHERS, "local", Here())

    def call(*arguments: str) -> tuple[str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        printed = capsys.readouterr()
        assert ended.value.code == 0, printed.err
        return printed.out, printed.err

    return call


@pytest.fixture
def shapes(tmp_path: Path) -> Path:
    path = tmp_path / "shapes.npz"
    np.savez(path, **folder_of_arrays(coloured_shapes()))  # type: ignore[arg-type]
    return path


def test_shapes_that_come_out_as_coloured_digits_are_said_to_be_the_prior(workbench: Command, shapes: Path, tmp_path: Path) -> None:
    out, _ = workbench("train", "prior-moments", "--dataset", str(shapes), "--epsilon", "3", *FEW, "--wait")
    run = json.loads(out.splitlines()[-1])["run"]
    sheet, release = tmp_path / "sheet.png", tmp_path / "run.zip"
    shown, said = workbench("sample", run, "--num", "150", "--sheet", str(sheet), "--out", str(tmp_path / "s.npz"), "--json")
    cautions = json.loads(shown)["cautions"]
    assert [PRIOR_WORDS in sentence for sentence in cautions] == [False, True]
    assert cautions[0] == EQUAL_SHARES
    assert all(sentence in said for sentence in cautions)
    picture = Image.open(sheet)
    assert picture.text["cautions"] == " ".join(cautions)  # type: ignore[attr-defined]
    assert picture.text["about"].startswith(f"Run {run}: prior-moments on shapes, proved epsilon ")  # type: ignore[attr-defined]
    assert not any(str(tmp_path) in text for text in picture.text.values()), "where the records lie stays in the room"  # type: ignore[attr-defined]
    assert read_notes(tmp_path / "s.npz")["cautions"] == cautions
    _, said = workbench("evaluate", run, "--num", "150", "--metric", "inception_score")
    assert PRIOR_WORDS in said
    workbench("export", run, str(release))
    with zipfile.ZipFile(release) as archive:
        (tmp_path / "left.npz").write_bytes(archive.read("samples/default.npz"))
    assert read_notes(tmp_path / "left.npz")["cautions"] == cautions
    workbench("verify", str(release))


@pytest.mark.parametrize(("method", "epsilon"), [("class-moments", "5"), ("cluster-moments", "5"), ("dp-merf", "2")])
def test_samples_that_are_mostly_noise_are_said_to_be(workbench: Command, tmp_path: Path, method: str, epsilon: str) -> None:
    """300 colour pictures at these bounds: too few for so many numbers as are asked for here."""
    np.savez(tmp_path / "shapes.npz", **folder_of_arrays(coloured_shapes(360)))  # type: ignore[arg-type]
    own = {"cluster-moments": ("--set", "frequencies=14"), "class-moments": FEW, "dp-merf": ("--set", "training.steps=2")}[method]
    out, _ = workbench("train", method, "--dataset", str(tmp_path / "shapes.npz"), "--epsilon", epsilon, *own, "--wait")
    run = json.loads(out.splitlines()[-1])["run"]
    sheet, release = tmp_path / "sheet.png", tmp_path / "run.zip"
    shown, said = workbench("sample", run, "--num", "20", "--sheet", str(sheet), "--json")
    assert NOISE_WORDS in json.loads(shown)["cautions"][-1]
    assert NOISE_WORDS in said
    assert NOISE_WORDS in Image.open(sheet).text["cautions"]  # type: ignore[attr-defined]
    workbench("export", run, str(release))
    with zipfile.ZipFile(release) as archive:
        (tmp_path / "left.npz").write_bytes(archive.read("samples/default.npz"))
    notes = read_notes(tmp_path / "left.npz")
    assert notes["noise_share"] >= 0.5
    assert method != "dp-merf" or notes["noise_share"] < 1.0, "1 is what an embedding of zeros would give"
    assert NOISE_WORDS in notes["cautions"][-1]
    workbench("verify", str(release))


def test_by_default_cluster_moments_release_no_more_numbers_than_noise_leaves(workbench: Command, tmp_path: Path) -> None:
    """300 colour pictures at bound 5, as before: three frequencies of each side in the place of fourteen, about half noise."""
    np.savez(tmp_path / "shapes.npz", **folder_of_arrays(coloured_shapes(360)))  # type: ignore[arg-type]
    out, said = workbench("train", "cluster-moments", "--dataset", str(tmp_path / "shapes.npz"), "--epsilon", "5", "--wait")
    assert "frequencies 3 in place of 14" in said
    samples = sample_set(here(), json.loads(out.splitlines()[-1])["run"])
    samples.records(20)
    samples.note_cautions()
    share, _, _ = kept_noise(samples.folder)
    assert share is not None
    assert share < 0.75
    (shapeless,) = (sentence for sentence in samples.cautions if "show no shapes" in sentence)
    assert "the 3 coarsest frequencies of each side alone, so that nothing in them is smaller than about 33% of a side" in shapeless


def test_images_of_few_frequencies_are_said_to_show_no_shapes_unless_they_have_no_more() -> None:
    facts = coloured_shapes(2_000).facts

    def said(frequencies: int, side: int = 16) -> bool:
        seen = facts.model_copy(update={"kind": facts.kind.model_copy(update={"size": (3, side, side)})})
        plan = make_plan("cluster-moments", seen, epsilon=10.0, settings={"frequencies": frequencies})
        return "show no shapes" in " ".join(of_preview(plan))

    assert [said(frequencies) for frequencies in (1, 5, 6, 14)] == [True, True, False, False]
    assert [said(frequencies, side=4) for frequencies in (3, 4)] == [True, False]


def test_of_drawings_and_mixtures_each_is_said_of_its_part() -> None:
    facts = coloured_shapes(2_000).facts
    settings = {"clusters.frequencies": 3, "share_of_drawings": 0.25}
    said = " ".join(of_preview(make_plan("votes-and-clusters", facts, epsilon=10.0, settings=settings)))
    assert "About 25% of these samples are public images of glyphs that the records only chose" in said
    assert "Those of these samples that are no public images can show no shapes" in said
    assert "The records only chose among" not in said
    finer = make_plan("votes-and-clusters", facts, epsilon=10.0, settings={"clusters.frequencies": 14})
    assert "show no shapes" not in " ".join(of_preview(finer))


@pytest.mark.parametrize("method", ["class-means", "class-moments", "cluster-moments", "dp-merf"])
def test_a_small_class_that_noise_drowns_is_named(method: str) -> None:
    """Of 300 and 12 pictures the few are noise, and the many are not."""
    labels = np.repeat([0, 1], [300, 12])
    both = coloured_shapes(2_000)
    rows = np.concatenate([np.flatnonzero(np.asarray(both.train.labels) == label)[: (labels == label).sum()] for label in (0, 1)])
    facts = both.facts.model_copy(update={"num_records": len(labels), "classes": ("circle", "square")})
    few = Dataset(facts, both.train.take(rows), both.held_out)
    few_public = {"records": 1000}  # as typical as many
    quick: dict[str, Any] = {"dp-merf": {"training.steps": 2}, "class-means": few_public, "class-moments": few_public}
    plan = make_plan(method, few.facts, epsilon=20, settings=quick.get(method, {}))
    state = new_state(plan, seed=1)
    for _ in fit(plan, few, state):
        pass
    many, drowned = plan.build().noise_by_class(state) or (1.0, 0.0)
    assert many < 0.2
    assert drowned > 3 * many


def test_of_digits_at_a_bound_of_2_no_class_is_noise_and_at_a_fifth_most_are() -> None:
    for epsilon, least, most in ((2.0, 0, 0), (0.2, 6, 10)):
        digits = load("digits")
        plan = make_plan("cluster-moments", digits.facts, epsilon=epsilon)
        state = new_state(plan, seed=2)
        for _ in fit(plan, digits, state):
            pass
        shares = plan.build().noise_by_class(state) or ()
        assert len(shares) == 10
        assert least <= sum(share >= 0.5 for share in shares) <= most


def test_noise_is_told_from_where_it_shows_and_then_from_where_it_outweighs_the_rest() -> None:
    assert [of_noise(Measures(noise=share)) for share in (None, 0.0, 0.29)] == ["", "", ""]
    assert [NOISE_WORDS in of_noise(Measures(noise=share)) for share in (0.3, 0.49, 0.5)] == [False, False, True]
    assert "partly noise: about 36% of what they were made from is noise" in of_noise(Measures(noise=0.36))


def test_samples_whose_classes_are_noise_are_said_to_show_none() -> None:
    assert [of_noise(Measures(noise=0.2, class_noise=share)) for share in (None, 0.0, 0.89)] == ["", "", ""]
    words = "hardly show what tells their classes apart: about 97% of the differences between classes in what was released is noise"
    assert [words in of_noise(Measures(noise=share, class_noise=0.97)) for share in (0.2, 0.4, 0.6)] == [True, True, False]
    assert NOISE_WORDS in of_noise(Measures(noise=0.6, class_noise=0.97))


def test_classes_that_are_noise_are_named() -> None:
    words = of_noise(Measures(noise=0.2, class_noise=0.6, by_class=(0.1, 0.49, 0.7, 1.0)), ("cat", "dog", "owl", "fox"))
    assert words.startswith("Samples of 'owl', 'fox' are mostly noise: about 70% or more of what each of these classes is made from")
    assert "'5', 2 more are mostly noise" in of_noise(Measures(noise=0.1, by_class=(1.0,) * 7), tuple("1234567")).replace(
        "'1', '2', '3', '4', ", ""
    )
    assert "partly noise" in of_noise(Measures(noise=0.4, by_class=(0.1, 0.6)), ("cat", "dog"))
    assert of_noise(Measures(noise=0.2, class_noise=0.6, by_class=(0.1, 0.49)), ("cat", "dog")) == ""
    for shares, named in (((0.1, 0.7), True), ((0.1, 0.2), False), ((0.6, 0.7), False)):
        words = of_noise(Measures(noise=0.2, class_noise=1.0, by_class=shares), ("cat", "dog"))
        assert ("Samples of 'dog' are mostly noise" in words, "hardly show what tells" in words) == (named, not named)


def test_notes_tell_numbers_or_nothing_and_no_other_value_is_taken_for_a_number() -> None:
    notes = {"prior_likeness": 0.5, "noise_share": None, "class_noise_share": 0.97}
    assert measures_in(notes) == Measures(0.5, None, 0.97)
    assert measures_in(notes | {"noise_by_class": [0.1, 1.0]}) == Measures(0.5, None, 0.97, (0.1, 1.0))
    assert [measures_in(notes | {"noise_by_class": value}) for value in (0.5, ["0.5"], [True], {})] == [None] * 4
    assert measures_in({}) == Measures()
    for name in notes:
        assert [measures_in(notes | {name: value}) for value in ("0.5", True, [0.5], {})] == [None] * 4


def test_dp_mepf_s_samples_of_400_pictures_of_any_colour_are_said_to_show_no_classes(workbench: Command, tmp_path: Path) -> None:
    """At bound 2, where about a third of the whole embedding is noise, and next to all that differs between classes."""
    np.savez(tmp_path / "shapes.npz", **folder_of_arrays(shapes_of_any_colour(held_out=100)))  # type: ignore[arg-type]
    few = [f"--set={name}" for name in ("features.steps=50", "features.records=1000", "training.steps=5")]
    out, _ = workbench("train", "dp-mepf", "--dataset", str(tmp_path / "shapes.npz"), "--epsilon", "2", *few, "--wait")
    run = json.loads(out.splitlines()[-1])["run"]
    shown, said = workbench("sample", run, "--num", "20", "--json")
    assert "hardly show what tells their classes apart" in json.loads(shown)["cautions"][-1]
    assert "hardly show what tells their classes apart" in said
    release = tmp_path / "run.zip"
    workbench("export", run, str(release))
    workbench("verify", str(release))


def test_a_plan_for_few_images_of_ones_own_tells_of_the_method_that_suits_them_better(workbench: Command, tmp_path: Path) -> None:
    np.savez(tmp_path / "shapes.npz", **folder_of_arrays(coloured_shapes(360)))  # type: ignore[arg-type]
    options = ("--dataset", str(tmp_path / "shapes.npz"), "--epsilon", "1")
    first, proposed = (workbench("plan", method, *options)[0] for method in ("cluster-moments", "private-classifier"))
    assert ["Proposed for these images" in shown for shown in (first, proposed)] == [True, False]
    assert "Proposed for these images: private-classifier. 300 records of 3 x 16 x 16" in " ".join(first.split())


def test_few_samples_are_said_to_be_few_and_more_are_compared_once(shapes: Path, train_shapes: Callable[..., Run]) -> None:
    run = train_shapes(shapes)
    samples = sample_set(here(), run.id)
    samples.records(20)
    assert "Too few samples to tell whether they only look like public images of glyphs" in samples.cautions[-1]
    samples.records(120)
    kept = json.loads((samples.folder / FILE).read_text())
    assert (kept["compared"], kept["cosine"] > 0.9) == (120, True)
    (samples.folder / FILE).unlink()
    assert "Not compared yet with public images of glyphs" in samples.cautions[-1]
    samples.note_cautions()
    assert json.loads((samples.folder / FILE).read_text()) == pytest.approx(kept, abs=0.1)


def test_shapes_of_any_colour_that_look_like_the_prior_are_said_to(tmp_path: Path, train_shapes: Callable[..., Run]) -> None:
    drawn = shapes_of_any_colour()
    assert [np.bincount(np.asarray(part.labels)).tolist() for part in (drawn.train, drawn.held_out)] == [[130, 140, 130], [670, 660, 670]]
    colours = drawn.train.records.max(axis=(2, 3))
    assert all(np.ptp(colours[np.asarray(drawn.train.labels) == label], axis=0).min() > 200 for label in range(3)), "no class has its own"
    np.savez(tmp_path / "shapes.npz", **folder_of_arrays(drawn))  # type: ignore[arg-type]
    run = train_shapes(tmp_path / "shapes.npz")
    assert (run.plan.num_records, run.plan.facts.shape) == (400, (3, 16, 16))
    samples = sample_set(here(), run.id)
    samples.records(120)
    assert PRIOR_WORDS in samples.cautions[-1]


def test_one_class_alone_has_no_shares_and_a_prior_that_was_left_is_not_named(shapes: Path, train_shapes: Callable[..., Run]) -> None:
    run = train_shapes(shapes)
    single = request_samples(here(), run.id, labels=["circle"])
    assert EQUAL_SHARES not in single.cautions
    single.records(100)
    (single.folder / FILE).write_text(json.dumps({"cosine": 0.5, "compared": 100}))
    assert single.cautions == ()


def test_rows_of_an_uneven_table_come_as_released_or_in_equal_shares_and_that_is_said(workbench: Command, tmp_path: Path) -> None:
    """24 % of the rows are of one class, and as many of the samples; 50 % where that is asked for."""
    path = uneven_table(tmp_path)
    out, _ = workbench("train", "independent-marginals", "--dataset", str(path), "--epsilon", "5", "--wait")
    run = json.loads(out.splitlines()[-1])["run"]
    shown, said = workbench("sample", run, "--out", str(tmp_path / "rows.csv"), "--json")
    labels = sample_set(here(), run).records().labels
    assert labels is not None
    assert abs(labels.mean() - 0.24) < 0.05
    assert json.loads(shown)["cautions"] == []
    assert EQUAL_SHARES not in said
    shown, said = workbench("sample", run, "--balanced", "--json")
    evenly = sample_set(here(), run, json.loads(shown)["samples"]).records().labels
    assert evenly is not None
    assert evenly.mean() == 0.5
    assert json.loads(shown)["cautions"] == [EQUAL_SHARES]
    assert EQUAL_SHARES in said


def test_categories_that_no_row_has_are_named_where_there_are_rows_enough_to_miss_them() -> None:
    people = toy_people()

    def said(*, cities: int = 6, jobs: int = 5, classes: int = 2, rows: int = 480, asked: tuple[int, ...] = ()) -> str:
        """Of rows that have so many of six cities, five jobs and two classes, and ages and hours in the lower half of the ranges."""
        number = np.arange(rows)
        table = np.stack([np.where(number % 9, number % 8, 16), number % cities, number % 4, number % jobs], axis=1)
        return of_missing(people.facts, SamplesRequest(labels=asked), Records(table, number % classes))

    assert said() == ""
    assert said(cities=5).startswith("None of these 480 rows has city 'f', which the declaration names: ")
    assert "has city 'e', city 'f', job 'k', class 'yes', which" in said(cities=4, jobs=4, classes=1)
    assert "city 'f', job 'i', job 'j', 2 more, which" in said(cities=3, jobs=2, classes=1)
    assert said(classes=1, asked=(0,)) == ""
    assert [bool(said(cities=5, rows=rows)) for rows in (119, 120)] == [False, True]
    digits = load("digits")
    assert of_missing(digits.facts, SamplesRequest(), digits.train) == ""


def test_a_category_that_noise_takes_is_missed_with_a_word_also_where_samples_leave(workbench: Command, tmp_path: Path) -> None:
    """Twenty degrees are declared that no row has: about half of their noisy counts are below 0."""
    path = uneven_table(tmp_path)
    declaration = path.with_suffix(".declared.json")
    rare = ", ".join(f'"rare {number}"' for number in range(20))
    declaration.write_text(declaration.read_text().replace('"3"]', f'"3", {rare}]'))
    out, _ = workbench("train", "independent-marginals", "--dataset", str(path), "--epsilon", "5", "--wait")
    run, release = json.loads(out.splitlines()[-1])["run"], tmp_path / "run.zip"
    shown, said = workbench("sample", run, "--num", "600", "--json")
    (caution,) = json.loads(shown)["cautions"]
    assert caution.startswith("None of these 600 rows has degree 'rare ")
    assert caution in said
    workbench("export", run, str(release))
    with zipfile.ZipFile(release) as archive:
        (tmp_path / "left.npz").write_bytes(archive.read("samples/default.npz"))
    assert read_notes(tmp_path / "left.npz")["cautions"] == [caution]
    workbench("verify", str(release))


@pytest.mark.parametrize(("method", "said"), [("private-evolution", "only chose among public images of glyphs"), ("dp-merf", "")])
def test_what_the_records_only_chose_is_said_before_anything_is_drawn(method: str, said: str, quick_plan: Callable[..., Plan]) -> None:
    cautions = " ".join(of_preview(quick_plan(method)))
    assert said in cautions
    assert ("Not compared yet" in cautions) == bool(said)


def test_a_method_that_draws_its_own_labels_says_nothing_of_shares() -> None:
    from support.tables import toy_table

    assert of_preview(make_plan("ddm", toy_table().facts, epsilon=10.0)) == ()
    assert of_preview(make_plan("mst", toy_table().facts, epsilon=10.0)) == ()
    released = make_plan("class-moments", load("digits").facts, epsilon=10.0, settings={"labels.shares": "released"})
    assert of_preview(released) == (RELEASED_SHARES,)


@pytest.fixture
def train_shapes(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Run]:
    """`train_shapes(path)`: a finished run of prior-moments at bound 3, in this process."""
    from workbench import runs
    from workbench.datasets.reference import DatasetRef
    from workbench.request import Request

    monkeypatch.setitem(LAUNCHERS, "local", Here())

    def train(path: Path) -> Run:
        place = DatasetRef.parse(str(path))
        loaded = place.load()
        from workbench import experiment

        plan = experiment.make_plan(Request.of("prior-moments", place, epsilon=3.0, settings={"records": 1000}), loaded.facts)
        run = runs.launch(here(), plan, loaded=loaded)
        trained = RunStore(here()).get(run.id)
        assert trained.state == "done", trained.error
        return trained

    return train
