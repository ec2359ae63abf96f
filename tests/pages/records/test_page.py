"""The Records page: private values of every record where a method tells them, beside the measured gap; one record looked for in any run."""

from collections.abc import Callable
from io import BytesIO

import numpy as np
import pytest
from pages.conftest import app_at, train_in_process
from pages.reading import elements, text_of
from PIL import Image
from streamlit.dataframe_util import convert_arrow_bytes_to_pandas_df
from streamlit.testing.v1 import AppTest
from support.homes import here
from support.quick import QUICK
from support.tables import toy_table

from workbench.datasets import DATASETS, DatasetEntry, load
from workbench.evaluation.lookup import like_row
from workbench.jobs.lifecycle import Jobs
from workbench.pages.records.search import NOT_ATTACKED
from workbench.runs.exposure import expose_run, kept_exposure
from workbench.runs.memberships import SCORES_SUFFIX, kept_file
from workbench.runs.nearest_samples import kept_nearest_samples
from workbench.runs.run import Run
from workbench.runs.store import RunStore
from workbench.ui.bound_words import NO_LIMIT, sentences
from workbench.ui.formats import number

OpenPage = Callable[..., AppTest]


@pytest.fixture
def run(workbench_home: object, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A finished run of seconds on the small table."""
    entry = DatasetEntry("A small table.", "toy-table", lambda _: toy_table().facts, lambda _: toy_table())
    monkeypatch.setitem(DATASETS, "toy-table", entry)
    return train_in_process("ddm", toy_table(), 10.0, **QUICK["ddm"])


@pytest.mark.usefixtures("workbench_home")
def test_without_a_run_the_page_says_what_to_train() -> None:
    assert "ddm on a table tells of every record" in text_of(app_at("records").run())


def test_values_are_asked_for_shown_and_said_to_be_what_they_are(run: Run) -> None:
    app = app_at("records").run()
    assert kept_exposure(here(), run.id) is None, "dear work waits for a person"
    app.button(key="records_begin").click().run()
    assert not app.exception
    app.run()
    exposure = kept_exposure(here(), run.id)
    assert exposure is not None
    said = text_of(app)
    for words in ("Do not share them", "of the trained one they are an estimate", "gamma up to", "outside any bound"):
        assert words in said
    exposed = next(table.value for table in app.dataframe if "J (private)" in table.value.columns and "column 1" in table.value.columns)
    (values,) = [
        table.proto.arrow_data.styler
        for table in app.dataframe
        if "J (private)" in table.value.columns and "column 1" in table.value.columns
    ]
    shown = convert_arrow_bytes_to_pandas_df(values.display_values)
    assert shown["J (private)"].tolist() == [number(value) for value in exposed["J (private)"]], "a number as elsewhere, not 0.00e+0"
    assert exposed["record"].tolist() == exposure.ranking()[:50].tolist()
    assert exposed["J (private)"].tolist() == pytest.approx(exposure.leakage.total[exposure.ranking()[:50]])
    before, after = (exposed[f"delta {when} (private)"] for when in ("before", "after"))
    assert (before < after).all()
    assert "Before: what a release would show as generation leaves pure noise" in said
    assert "nothing is estimated" in said, "the table is small"
    assert app.selectbox(key="records_record").value == int(exposure.ranking()[0])
    beside = next(table.value for table in app.dataframe if "its neighbours" in table.value.columns)
    assert beside["column"].tolist() == ["column 1", "column 2", "column 3", "class"]
    charts = [element for element in elements(app.main) if element.type == "plotly_chart"]
    assert len(charts) == 3
    assert all(chart.proto.alt for chart in charts)


def test_the_address_carries_record_epsilon_samples_and_share(run: Run) -> None:
    expose_run(here(), run.id)
    app = app_at("records")
    for name, value in {"record": "3", "epsilon": "2.5", "samples": "7", "share": "0.2"}.items():
        app.query_params[f"records_{name}"] = value
    app.run()
    assert not app.exception
    assert app.selectbox(key="records_record").value == 3
    assert [app.number_input(key=f"records_{name}").value for name in ("epsilon", "samples", "share")] == [2.5, 7, 0.2]


def test_a_run_that_tells_of_every_record_can_be_searched_for_one_too(run: Run) -> None:
    app = app_at("records")
    app.query_params["records_view"] = "Am I in there?"
    app.run()
    app.button(key="records_search_begin").click().run()
    app.run()
    assert not app.exception
    assert "**nearer than that of" in text_of(app)
    assert kept_exposure(here(), run.id) is None


def newest() -> str:
    return RunStore(here()).list()[0].id


def test_a_record_of_an_image_run_is_searched_when_asked_and_ranked_among_held_out_ones(open_page: OpenPage) -> None:
    app = open_page("records", records_number="17")
    assert app.number_input(key="records_number").value == 17
    assert "Training record 17" in text_of(app)
    assert not [job for job in Jobs(here()).all() if job.task != "train"], "dear work waits for a person"
    app.button(key="records_search_begin").click().run()
    app.run()
    assert not app.exception
    nearest = kept_nearest_samples(here(), newest(), "pixels", 40)
    assert nearest is not None
    beside = next(table.value for table in app.dataframe if "sample" in table.value.columns)
    assert beside["sample"].tolist() == nearest.indices[17].tolist()
    assert beside[f"distance, {nearest.features} (private)"].tolist() == nearest.distances[17].tolist()
    others = len(load("digits").held_out)
    share = number(100 * nearest.nearer_than("training", 17))
    assert f"**nearer than that of {share} %** of {others} held-out records" in text_of(app)
    app.get("button_group")[0].set_value("held-out").run()
    assert not app.exception
    assert "Held-out record" in text_of(app)
    assert f"of {others - 1} held-out records" in text_of(app)


def test_a_picture_of_a_record_leads_to_it(open_page: OpenPage) -> None:
    record = load("digits").held_out.records[12, 0]
    app = open_page("records", records_run=RunStore(here()).list()[0].id)
    file = BytesIO()
    Image.fromarray(record).save(file, "PNG")
    app.file_uploader(key="records_picture").upload("me.png", file.getvalue(), "image/png").run()
    assert not app.exception
    assert "**1** records are equal to it" in text_of(app)
    app.button(key="records_to_held-out_12").click().run()
    assert not app.exception
    assert (app.segmented_control(key="records_side").value, app.number_input(key="records_number").value) == ("held-out", 12)
    assert "**Held-out record 12**" in text_of(app)


def test_what_is_known_of_a_row_leads_to_it_and_stays_out_of_the_address(run: Run) -> None:
    app = app_at("records")
    app.query_params["records_view"] = "Am I in there?"
    app.run()
    app.multiselect(key="records_known").set_value(["column 1", "class"]).run()
    known = {name: app.selectbox(key=f"records_known_{name}").value for name in ("column 1", "class")}
    matches = like_row(toy_table(), {name: str(value) for name, value in known.items()})
    assert f"**{matches.equal:,}** records are equal to it" in text_of(app)
    assert not [name for name in app.query_params if "known" in name]
    first = matches.nearest[0]
    app.button(key=f"records_to_{first.side}_{first.record}").click().run()
    assert not app.exception
    assert f"**{first.side.capitalize()} record {first.record}**" in text_of(app)


def test_a_number_beyond_the_records_is_not_taken(open_page: OpenPage) -> None:
    assert open_page("records", records_number="1000000").number_input(key="records_number").value == 0


def test_what_the_bound_allows_stands_below_each_record(open_page: OpenPage) -> None:
    said, bound = text_of(open_page("records")), RunStore(here()).get(newest()).bound
    assert all(sentence in said for sentence in sentences(bound.epsilon, bound.delta))
    assert "It does not cover this page" in said
    assert NOT_ATTACKED in said


def test_without_a_bound_nothing_is_said_to_be_limited(open_page: OpenPage) -> None:
    train_in_process("nonprivate", load("digits"), None, **QUICK["nonprivate"])
    said = text_of(open_page("records"))
    assert NO_LIMIT in said
    assert "It does not cover this page" not in said


def test_scores_that_an_attack_kept_are_shown_of_judged_records_alone(open_page: OpenPage) -> None:
    path = kept_file(here(), newest(), "loss", 0).with_suffix(SCORES_SUFFIX)
    np.savez(path, score="loss", training=[4, 2], held_out=[0, 1, 2], training_scores=[0.5, 3.0], held_out_scores=[1.0, 2.0, 0.25])

    def row(**address: str) -> list[str]:
        table = next(table.value for table in open_page("records", **address).dataframe if "attack" in table.value.columns)
        return [str(value) for value in table.iloc[0]]

    assert row(records_number="4") == ["loss", "0.5", "66.7 %", "5"]
    assert row(records_number="3") == ["loss", "not judged", "–", "5"]
    assert row(records_number="2", records_side="held-out") == ["loss", "0.25", "100 %", "5"], "held against the other two"
