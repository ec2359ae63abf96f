"""The Gallery: samples beside their nearest records, sorted, filtered, judged."""

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing

from pages.reading import groups, pictures, text_of
from streamlit.testing.v1 import AppTest
from support.homes import here

from workbench import datasets, runs
from workbench.evaluation import OUTSIDE_GUARANTEE
from workbench.records.images import png_data_uri
from workbench.runs.finished import kept_neighbours
from workbench.runs.samples import sample_set
from workbench.runs.store import RunStore
from workbench.runs.verdicts import Verdicts
from workbench.ui.formats import number

OpenPage = Callable[..., AppTest]


def test_the_gallery_refuses_records_that_are_not_the_run_s(open_page: OpenPage, home_with_runs: object) -> None:
    newest = RunStore(here()).list()[0]
    with closing(sqlite3.connect(RunStore(here()).path)) as connection, connection:
        connection.execute("UPDATE runs SET fingerprint = 'another' WHERE id = ?", (newest.id,))
    app = open_page("gallery", gallery_run=newest.id)
    assert any("no longer those that run" in error.value for error in app.error)
    assert not pictures(app)


def test_a_card_shows_the_sample_beside_its_nearest_records(open_page: OpenPage) -> None:
    app, newest = open_page("gallery"), RunStore(here()).list()[0]
    generated, *training, held_out = pictures(app)[:7]
    index = int(re.findall(r"sample (\d+)", generated[1])[0])
    dataset, samples = datasets.load(newest.dataset), sample_set(here(), newest.id).kept_records()
    assert samples is not None
    neighbours = kept_neighbours(here(), newest.id, app.selectbox(key="gallery_features").value, len(samples))
    assert neighbours is not None
    assert generated[0] == png_data_uri(samples.records[index])
    assert [address for address, _ in training] == [png_data_uri(dataset.train.records[position]) for position in neighbours.indices[index]]
    assert held_out[0] == png_data_uri(dataset.held_out.records[neighbours.held_out_indices[index]])
    assert f"at distance {number(float(neighbours.distances[index, 0]))}" in training[0][1]


def test_the_gallery_says_that_it_is_outside_the_guarantee(open_page: OpenPage) -> None:
    app = open_page("gallery")
    assert OUTSIDE_GUARANTEE in text_of(app)
    values = {metric.label: metric.value for metric in app.metric}
    assert 0.0 <= float(values["Nearer to training than to held-out"]) <= 1.0
    assert 0.0 <= float(values["Privacy score"]) <= 1.0


def test_a_verdict_is_kept_with_its_note_and_can_be_undone(open_page: OpenPage) -> None:
    app = open_page("gallery")
    run = RunStore(here()).list()[0].id
    key = next(group.key for group in groups(app) if group.key.endswith("_verdict"))
    sample = int(key.split("_")[2])
    next(group for group in groups(app) if group.key == key).set_value("copied").run()
    app.text_input(key=f"gallery_{run}_{sample}_note").set_value("same stroke").run()
    assert not app.exception
    kept = Verdicts(here().verdicts).of(run)[sample]
    assert (kept.verdict, kept.note) == ("copied", "same stroke")
    assert "1 of 40 samples looked at: 1 copied" in app.get("progress")[-1].proto.text
    app.button(key="gallery_undo").click().run()
    app.button(key="gallery_undo").click().run()
    assert Verdicts(here().verdicts).of(run) == {}
    assert next(group for group in groups(app) if group.key == key).value is None


def test_a_verdict_on_a_run_that_was_deleted_meanwhile_is_refused_in_a_sentence(open_page: OpenPage) -> None:
    app = open_page("gallery")
    run = RunStore(here()).list()[0].id
    runs.delete(here(), run)
    next(group for group in groups(app) if group.key.endswith("_verdict")).set_value("copied").run()
    assert not app.exception
    assert f"Unknown run {run!r}" in text_of(app).replace("\\", "")
    assert Verdicts(here().verdicts).of(run) == {}


def test_the_gallery_is_filtered_by_class_and_paged(open_page: OpenPage) -> None:
    app = open_page("gallery", gallery_class="3")
    headings = [element.value for element in app.markdown if element.value.startswith("**Sample")]
    assert headings
    assert all("class 3" in heading for heading in headings)
    whole = [element.value for element in open_page("gallery", gallery_page="2").markdown if element.value.startswith("**Sample")]
    assert len(whole) == 12
    assert all(suspicion(heading) <= 1 for heading in whole)


def suspicion(heading: str) -> float:
    """The suspicion a card's heading gives."""
    return float(heading.strip("*").rsplit(" ", 1)[1])


def test_samples_are_sorted_by_suspicion(open_page: OpenPage) -> None:
    headings = [element.value for element in open_page("gallery").markdown if element.value.startswith("**Sample")]
    values = [suspicion(heading) for heading in headings]
    assert values == sorted(values, reverse=True)
